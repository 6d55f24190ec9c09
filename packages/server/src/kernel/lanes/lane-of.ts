/** How many lanes a queue has. Fixed for the life of a database: a job's lane is computed, never looked up. */
export const LANES = 64;
export const ALL_LANES: readonly number[] = Array.from({ length: LANES }, (_, lane) => lane);

/** The lane of an ordering key: FNV-1a, spread over the lanes. */
export function laneOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index++) {
    hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  }
  // The low bits of FNV-1a are its weakest; fold the high ones in before taking the remainder.
  return ((hash ^ (hash >>> 15)) >>> 0) % LANES;
}
