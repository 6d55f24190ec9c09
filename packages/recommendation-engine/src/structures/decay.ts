/**
 * Forward decay: an interaction at time t adds 2^((t - origin) / halfLife). Every counter shares the factor that "now"
 * would bring, so nothing is ever rescaled and live additions join counters that were built before them.
 */

/** Half-life in milliseconds; 0 = nothing fades. */
export type HalfLife = number;

/** Old interactions keep a crumb, so that a counter that was ever raised is never zero. */
const CRUMB = 1e-9;
/** 2^100 still leaves room in a float32; a base that old has been rebuilt long since. */
const MAX_DOUBLINGS = 100;

/**
 * @example decayed(origin - halfLife, origin, halfLife) // 0.5
 */
export const decayed = (time: number, origin: number, halfLife: HalfLife): number =>
  halfLife > 0 ? Math.max(CRUMB, 2 ** Math.min(MAX_DOUBLINGS, (time - origin) / halfLife)) : 1;
