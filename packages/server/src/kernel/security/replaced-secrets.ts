/** Secrets that were replaced and stay good for a while, each for its own time, however many follow it meanwhile. Pure. */

export interface Replaced {
  /** Good before this, in milliseconds since the epoch. */
  until: number;
}

/** More at a time are not kept: each makes whatever is signed or compared with all of them longer. */
export const MAX_REPLACED_SECRETS = 10;

/** Those that are good at a time. */
export function goodAt<T extends Replaced>(replaced: readonly T[], now: number): T[] {
  return replaced.filter(({ until }) => until > now);
}

/**
 * The list after one more was replaced, newest first. None ends before its time: with too many at work there is no
 * rotation, but the time from which on there can be one.
 *
 * @example withReplaced([], { hash, until: now + DAY }, now) // { replaced: [{ hash, until }] }
 */
export function withReplaced<T extends Replaced>(
  replaced: readonly T[],
  justReplaced: T,
  now: number,
): { replaced: T[] } | { possibleFrom: number } {
  const good = goodAt(replaced, now);
  if (good.length >= MAX_REPLACED_SECRETS)
    return { possibleFrom: Math.min(...good.map(({ until }) => until)) };
  return { replaced: [justReplaced, ...good] };
}
