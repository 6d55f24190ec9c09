/**
 * For calls before the script is there: `<script src="…/stub.js"></script>` in front of the deferred one. Keeps every call with its
 * time, and answers within the time of any other call even if the script comes late, or never (D33).
 */

/** Replaced by the build with the names of all methods that have variants, and of those that have none. */
declare const $SIGNALS: string;
declare const $OTHERS: string;

/** A call that waits for the script. */
export type EarlyCall = [name: string, argument: unknown, resolve: (result: unknown) => void, time: number];

const SETTLE_MS = 9_900;

type Methods = Record<string, (argument: unknown) => unknown>;

const page = window as { Tracker?: unknown };
if (!page.Tracker) {
  const q: EarlyCall[] = [];
  const stub: Record<string, unknown> = { q };
  const later = (name: string) => (argument: unknown) =>
    new Promise((resolve) => {
      // Some hold on to a method of the stub when the script is there.
      if (page.Tracker !== stub) return resolve((page.Tracker as Methods)[name]!(argument));
      // As it is now: pages use their objects again. Without structuredClone (before 2022), or for what it cannot copy, as it will be.
      try {
        argument = structuredClone(argument);
      } catch {}
      // Waits for the script's promise outside of this one, which could not be settled by the time-out any more if it followed it.
      q.push([name, argument, async (result) => resolve(await result), Date.now()]);
      setTimeout(() => {
        resolve({
          success: false,
          error: { code: 'network', message: 'no script or no answer in time', details: [] },
        });
      }, SETTLE_MS);
    });
  for (const name of $OTHERS.split(' ')) stub[name] = later(name);
  for (const name of $SIGNALS.split(' ')) {
    const call = later(name);
    stub[name] = call;
    stub[`${name}TagMgr`] = (payload: unknown) =>
      later(`${name}TagMgr`)(payload).then(() => ({ success: true }));
    // Nothing can be sent yet, so nothing can block: it is kept, as a beacon would keep it.
    stub[`${name}Sync`] = (payload: unknown) => {
      call(payload);
      return { success: true };
    };
  }
  page.Tracker = stub;
}
