/**
 * When chores are done: soon after the start, because a process may not live for an hour, and from then on every hour by the
 * clock. A timer of an hour would stand still while the machine is asleep, and go on as if nothing had been.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Clock, HOUR, MINUTE } from './clock.ts';

/** About a minute, of each process its own: those that start together do not all begin at once. */
const lookEveryMs = () => MINUTE * (0.75 + Math.random() / 2);

/** Whether it is time again. A clock that was set back by years must not put chores off for as long. */
const isDue = (last: number | undefined, now: number) => last === undefined || Math.abs(now - last) >= HOUR;

/**
 * `run` answers whether that was enough for an hour; if not, it is called again in a minute. What it has not begun when its
 * signal is given, it leaves.
 *
 * @example const stop = startChores({ clock, run: async (stopping) => true }); ... await stop(5000);
 */
export function startChores({
  clock,
  run,
}: {
  clock: Clock;
  run: (stopping: AbortSignal) => Promise<boolean>;
}): (deadlineMs: number) => Promise<void> {
  const stopping = new AbortController();
  let last: number | undefined;
  let running: Promise<void> | undefined;

  async function runAt(now: number): Promise<void> {
    last = (await run(stopping.signal)) ? now : undefined;
    running = undefined;
  }

  const timer = setInterval(() => {
    const now = clock.now();
    if (running === undefined && isDue(last, now)) running = runAt(now);
  }, lookEveryMs());

  return async (deadlineMs) => {
    clearInterval(timer);
    stopping.abort();
    await Promise.race([running, delay(deadlineMs, undefined, { ref: false })]);
  };
}
