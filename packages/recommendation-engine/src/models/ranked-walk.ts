/** The front of a ranked list, as much of it as can come to the front of an answer. */
import type { Context } from './context.ts';

/** Factors -> list -> where a walk begins -> the places of each factor but 1, and 0: what is buried has its own turn. */
const known = new WeakMap<object, WeakMap<Int32Array, Map<number, Int32Array[]>>>();

/**
 * Takes the first `wanted` items that are accepted. Where scores get factors afterwards it takes so many of each factor: what
 * stands far down may be raised to the top, and of those with the same factor the first ones stay the best. Factors that have
 * changed are another array, and so is a list.
 *
 * @example walkRanked({ context, list: order, from: 0, to: order.length, accepts, take })
 */
export function walkRanked(input: {
  context: Pick<Context, 'wanted' | 'factors'>;
  list: Int32Array;
  from: number;
  to: number;
  accepts: (item: number) => boolean;
  take: (item: number, at: number) => void;
}): void {
  const { list, from, to, accepts, take } = input;
  const { wanted, factors } = input.context;
  let room = wanted;
  for (let at = from; at < to && room > 0; at++) {
    const item = list[at]!;
    if ((factors !== null && (factors[item] ?? 1) !== 1) || !accepts(item)) continue;
    take(item, at);
    room--;
  }
  // A part without items begins where the next one does, and must not be taken for it.
  if (factors === null || from === to) return;
  for (const places of placesByFactor(factors, input)) {
    room = wanted;
    for (let i = 0; i < places.length && room > 0; i++) {
      const item = list[places[i]!]!;
      if (!accepts(item)) continue;
      take(item, places[i]!);
      room--;
    }
  }
}

/** Found once: the whole list is walked for it, 0.7 ms for a hundred thousand items. */
function placesByFactor(
  factors: ArrayLike<number>,
  { list, from, to }: { list: Int32Array; from: number; to: number },
): Int32Array[] {
  const lists = known.get(factors) ?? new WeakMap<Int32Array, Map<number, Int32Array[]>>();
  known.set(factors, lists);
  const parts = lists.get(list) ?? new Map<number, Int32Array[]>();
  lists.set(list, parts);
  const found = parts.get(from);
  if (found !== undefined) return found;
  const places = new Map<number, number[]>();
  for (let at = from; at < to; at++) {
    const factor = factors[list[at]!] ?? 1;
    if (factor === 1 || factor === 0) continue;
    const own = places.get(factor);
    if (own === undefined) places.set(factor, [at]);
    else own.push(at);
  }
  const rows = [...places.values()].map((own) => Int32Array.from(own));
  parts.set(from, rows);
  return rows;
}
