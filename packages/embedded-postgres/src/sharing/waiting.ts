import { setTimeout as delay } from 'node:timers/promises';

/**
 * Asks again and again until `check` gives something other than `undefined`, at most `withinMs` long.
 *
 * The states of a foreign process (a postmaster that an earlier server started) send no events, so asking is the only way.
 */
export async function until<T>({
  check,
  withinMs,
  everyMs = 20,
}: {
  check: () => Promise<T | undefined> | T | undefined;
  withinMs: number;
  everyMs?: number;
}): Promise<T | undefined> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const found = await check();
    if (found !== undefined) return found;
    if (performance.now() >= deadline) return undefined;
    await delay(everyMs);
  }
}
