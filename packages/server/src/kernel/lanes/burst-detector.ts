/**
 * Which keys flood: get so many jobs in a short time that the others in their lane would have to be picked out from among
 * them. Such jobs are put on the siding of their key as they come, where the owner of the lane would otherwise have to move
 * them one by one: a delivery to a subscription with a backlog takes a seventh less work so. Each process judges by what it
 * adds itself. It may be wrong: either line leads to the same place.
 */

export interface BurstDetector {
  /** Counts jobs, by their keys; answers those of the keys that flood. */
  add(keys: readonly string[]): Set<string>;
}

/** More jobs than this within about a second are a flood; it ends when a whole second brought fewer. */
const MOST = 128;
const WINDOW_MS = 1000;

/** @param monotonicNow a monotonic clock */
export function createBurstDetector(monotonicNow: () => number = () => performance.now()): BurstDetector {
  let current = new Map<string, number>();
  let previous = new Map<string, number>();
  let since = monotonicNow();

  function turn(now: number): void {
    if (now - since < WINDOW_MS) return;
    previous = now - since < 2 * WINDOW_MS ? current : new Map();
    current = new Map();
    since = now;
  }

  const isFlood = (key: string) => current.get(key)! > MOST || (previous.get(key) ?? 0) > MOST;

  return {
    add(keys) {
      turn(monotonicNow());
      for (const key of keys) current.set(key, (current.get(key) ?? 0) + 1);
      return new Set(keys.filter(isFlood));
    },
  };
}
