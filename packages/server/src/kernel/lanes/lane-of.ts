/**
 * The 64 lanes: of the queue, and of persons. A lane is stored as a chosen number, so that a database that is distributed by the hash
 * of the number (Citus) spreads the lanes evenly: the i-th number is the smallest one whose `hashint2` falls into the i-th 64th of the
 * hash range. So each of 2, 4, 8 ... 64 shards gets the same number of lanes; of the numbers 0 to 63, 25 of 64 shards would get none.
 * Ids name the index of a lane (0 to 63) instead, because it takes six bits. Fixed for the life of a database.
 */
export const LANES = 64;

/** The stored numbers of the lanes, by index. `lane-of.test.ts` computes them again on PostgreSQL. */
export const ALL_LANES: readonly number[] = [
  60, 8, 82, 1, 31, 88, 79, 24, 10, 92, 48, 109, 5, 112, 50, 166, 4, 7, 17, 172, 16, 96, 170, 85, 36, 89, 19,
  0, 37, 45, 101, 3, 113, 52, 62, 99, 136, 168, 46, 28, 6, 66, 70, 21, 83, 39, 43, 13, 2, 351, 27, 95, 58,
  149, 41, 179, 9, 80, 59, 22, 12, 11, 44, 18,
];

/** As a literal of PostgreSQL, for statements that find the lane of a number: `(${LANE_LIST}::smallint[])[(n & 63) + 1]`. */
export const LANE_LIST = `{${ALL_LANES.join(',')}}`;

const INDEXES: ReadonlyMap<number, number> = new Map(ALL_LANES.map((lane, index) => [lane, index]));

/** The index (0 to 63) of a stored lane. */
export const laneIndex = (lane: number): number => INDEXES.get(lane)!;

const AT = 64;

/**
 * The stored lane of a text: of an ordering key, an identifier, a visitor. A text that begins like `@17/` names its lane.
 *
 * @example laneOf('sub_01k7vw53ga9s79t30f3w61wytt'); laneOf(keyInLane(17, tenantId)) // 17
 */
export function laneOf(key: string): number {
  if (key.charCodeAt(0) === AT) {
    const named = Number(/^@(\d{1,3})\//.exec(key)?.[1]);
    if (INDEXES.has(named)) return named;
  }
  return ALL_LANES[hashOf(key) % LANES]!;
}

/** A key that lies in the given lane. */
export const keyInLane = (lane: number, name: string): string => `@${lane}/${name}`;

/** FNV-1a, 32 bits. Its low bits are its weakest, so the high ones are folded in. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return (hash ^ (hash >>> 15)) >>> 0;
}

/** The lane of the profile with a system id: number within the lane x 64 + index of the lane. */
export const laneOfNumber = (systemId: number): number => ALL_LANES[systemId & (LANES - 1)]!;
