/** `new` and `recently-viewed`: no statistics, only time. */
import type { SessionLog } from '../log/sessions.ts';
import { sharedInt32 } from '../structures/shared-array.ts';
import type { Model } from './model.ts';
import { walkRanked } from './ranked-walk.ts';

/** Items, the newest first: by the catalog's date, otherwise by their first interaction. */
export function buildNewest(input: { sessions: SessionLog; addedAt: Float64Array }): Int32Array {
  const { sessions, addedAt } = input;
  const since = Float64Array.from(addedAt);
  const first = new Float64Array(addedAt.length).fill(Number.POSITIVE_INFINITY);
  for (let e = 0; e < sessions.item.length; e++) {
    const item = sessions.item[e]!;
    first[item] = Math.min(first[item]!, sessions.time[e]!);
  }
  for (let item = 0; item < since.length; item++) {
    if (Number.isNaN(since[item])) since[item] = Number.isFinite(first[item]) ? first[item]! : 0;
  }
  const order = sharedInt32(addedAt.length);
  order.set(Int32Array.from(addedAt, (_, item) => item).sort((a, b) => since[b]! - since[a]! || a - b));
  return order;
}

/**
 * `live` items came after the list was made, the newest first; the same list until another comes. They take their places by their
 * dates: what was made before and is back in stock is not new.
 */
export function openNewest(input: {
  order: Int32Array;
  /** Epoch milliseconds. */
  dateOf: (item: number) => number;
  inCategory: (item: number, category: number) => boolean;
  live?: () => readonly number[];
}): Model {
  const { order, dateOf, inCategory, live } = input;
  let placed: readonly number[] = [];
  let list = order;
  return {
    algorithm: 'new',
    score(context, board) {
      const { category } = context;
      const accepts = (item: number): boolean =>
        (category < 0 || inCategory(item, category)) && context.accepts(item);
      const came = live?.() ?? placed;
      if (came !== placed) list = merged(came, order, dateOf);
      placed = came;
      const take = (item: number, at: number): void => board.add(item, 1 / (1 + at));
      walkRanked({ context, list, from: 0, to: list.length, accepts, take });
    },
  };
}

/** Of the same date the live one comes first, and one that has just come before all. Those without a date keep their places. */
function merged(
  live: readonly number[],
  order: Int32Array,
  dateOf: (item: number) => number,
): Int32Array<ArrayBuffer> {
  const list = new Int32Array(live.length + order.length);
  const came = new Set(live.filter((item) => item < order.length));
  let next = 0;
  let at = 0;
  const precedes = (item: number, other: number): boolean =>
    dateOf(item) === Number.POSITIVE_INFINITY || dateOf(item) >= dateOf(other);
  for (const item of order) {
    // The base knows it by what visitors did alone.
    if (came.size > 0 && came.has(item)) continue;
    for (; next < live.length && precedes(live[next]!, item); next++) list[at++] = live[next]!;
    list[at++] = item;
  }
  list.set(live.slice(next), at);
  return list.subarray(0, at + live.length - next);
}

/** What the visitor looked at, newest first. */
export function openRecentlyViewed(): Model {
  return {
    algorithm: 'recently-viewed',
    score(context, board) {
      for (let i = 0; i < context.historyCount; i++) board.add(context.history[i]!, 1 / (1 + i));
    },
  };
}
