/** A set of items as one bit each; `count` is kept so that a selective filter is known before it is walked. */
import { sharedUint32 } from './shared-array.ts';

export interface Bitset {
  words: Uint32Array;
  count: number;
}

/**
 * @example const allowed = createBitset(100, [3, 5]); has(allowed, 3) // true
 */
export function createBitset(size: number, items: Iterable<number> = []): Bitset {
  const set: Bitset = { words: sharedUint32((size + 31) >>> 5), count: 0 };
  for (const item of items) addTo(set, item);
  return set;
}

/** Beyond the set's size nothing is in it. */
export const has = (set: Bitset, item: number): boolean =>
  ((set.words[item >>> 5] ?? 0) & (1 << (item & 31))) !== 0;

export function addTo(set: Bitset, item: number): void {
  const bit = 1 << (item & 31);
  const word = set.words[item >>> 5]!;
  if ((word & bit) !== 0) return;
  set.words[item >>> 5] = word | bit;
  set.count++;
}

export function removeFrom(set: Bitset, item: number): void {
  const bit = 1 << (item & 31);
  const word = set.words[item >>> 5]!;
  if ((word & bit) === 0) return;
  set.words[item >>> 5] = word & ~bit;
  set.count--;
}

/** Writes the members that pass, in ascending order, into `out` and tells how many there were. */
export function membersOf(
  set: Bitset,
  out: Int32Array,
  passes: (item: number) => boolean = () => true,
): number {
  let count = 0;
  for (let w = 0; w < set.words.length; w++) {
    for (let word = set.words[w]!; word !== 0; word &= word - 1) {
      const item = (w << 5) + (31 - Math.clz32(word & -word));
      if (passes(item)) out[count++] = item;
    }
  }
  return count;
}
