/**
 * `popular` and `trending`: decayed counters per item, per country, and ranked within each category. Live interactions
 * join the same counters (see decay.ts).
 */
import { KIND_WEIGHTS, type KindWeights, weightsByCode } from '../log/interactions.ts';
import { lastTime, type SessionLog } from '../log/sessions.ts';
import { decayed, type HalfLife } from '../structures/decay.ts';
import type { ScoreBoard } from '../structures/score-board.ts';
import { groupBy, type Rows, sharedFloat32, sharedInt32, sharedUint32 } from '../structures/shared-array.ts';
import type { Context } from './context.ts';
import type { Model } from './model.ts';
import { walkRanked } from './ranked-walk.ts';

const DAY = 86_400_000;

export interface PopularityKnobs {
  halfLife: HalfLife;
  /** Trending: how much the last `short` exceeds what `long` lets expect. */
  short: HalfLife;
  long: HalfLife;
}

export const DEFAULT_POPULARITY_KNOBS: PopularityKnobs = { halfLife: 7 * DAY, short: DAY, long: 14 * DAY };

export interface PopularityIndex {
  itemCount: number;
  /** The time at which a counter's unit is one. */
  origin: number;
  popular: Float32Array;
  short: Float32Array;
  long: Float32Array;
  /** Items, the most popular first; all of them. */
  order: Int32Array;
  /** Items that trend, steepest first. */
  rising: Int32Array;
  /** Country (number + 1) -> items, most popular there first. */
  countryOffsets: Uint32Array;
  countryItems: Int32Array;
  countryScores: Float32Array;
  /** Category -> items, most popular first. */
  byCategory: Rows;
  /** Brand -> items, most popular first. */
  byBrand: Rows;
}

/** What an interaction of a given weight adds to a counter. Base and live additions both use this. */
export const popularityOf = (weight: number, time: number, origin: number, halfLife: HalfLife): number =>
  weight * decayed(time, origin, halfLife);

/**
 * How far the recent rate lies above the usual one, in standard deviations of a count; at most 0 = not trending.
 *
 * @example steepness({ short: 8, long: 14, knobs }) // expected 1 a day, 8 came
 */
export function steepness(input: { short: number; long: number; knobs: PopularityKnobs }): number {
  const expected = (input.long * input.knobs.short) / input.knobs.long;
  return (input.short - expected) / Math.sqrt(expected + 1);
}

export function buildPopularity(input: {
  sessions: SessionLog;
  itemCount: number;
  countryCount: number;
  categories: Rows;
  categoryCount: number;
  brand: Int32Array;
  brandCount: number;
  knobs: PopularityKnobs;
  kinds?: KindWeights;
}): PopularityIndex {
  const { sessions, itemCount, knobs, kinds = KIND_WEIGHTS } = input;
  const worth = weightsByCode(kinds);
  const origin = lastTime(sessions);
  const popular = sharedFloat32(itemCount);
  const short = sharedFloat32(itemCount);
  const long = sharedFloat32(itemCount);
  for (let e = 0; e < sessions.item.length; e++) {
    const item = sessions.item[e]!;
    const weight = worth[sessions.kind[e]!]!;
    const time = sessions.time[e]!;
    popular[item]! += popularityOf(weight, time, origin, knobs.halfLife);
    short[item]! += popularityOf(weight, time, origin, knobs.short);
    long[item]! += popularityOf(weight, time, origin, knobs.long);
  }
  const order = rank(
    Int32Array.from({ length: itemCount }, (_, item) => item),
    popular,
  );
  const steep = Float32Array.from(short, (value, item) =>
    steepness({ short: value, long: long[item]!, knobs }),
  );
  const rising = rank(Int32Array.from(order.filter((item) => steep[item]! > 0)), steep);
  return {
    itemCount,
    origin,
    popular,
    short,
    long,
    order,
    rising,
    ...byCountry({ ...input, worth }, origin),
    byCategory: rankedRows(order, input.categories, input.categoryCount),
    byBrand: rankedBrands(order, input.brand, input.brandCount),
  };
}

function rank(items: Int32Array, score: Float32Array): Int32Array {
  const ranked = sharedInt32(items.length);
  ranked.set(items.sort((a, b) => score[b]! - score[a]! || a - b));
  return ranked;
}

function byCountry(
  input: {
    sessions: SessionLog;
    itemCount: number;
    countryCount: number;
    knobs: PopularityKnobs;
    worth: Float32Array;
  },
  origin: number,
) {
  const { sessions, itemCount, countryCount, knobs, worth } = input;
  const events = groupBy(Int32Array.from(sessions.country), countryCount + 1);
  const score = new Float32Array(itemCount);
  const countryOffsets = sharedUint32(countryCount + 2);
  const lists: Int32Array[] = [];
  const scores: Float32Array[] = [];
  for (let country = 0; country <= countryCount; country++) {
    const touched: number[] = [];
    // country 0 is "unknown": the worldwide counters speak for it
    const from = country === 0 ? events.offsets[1]! : events.offsets[country]!;
    for (let i = from; i < events.offsets[country + 1]!; i++) {
      const e = events.values[i]!;
      const item = sessions.item[e]!;
      const weight = worth[sessions.kind[e]!]!;
      // What counts nothing makes nothing popular here, above all that is popular elsewhere.
      if (weight === 0) continue;
      if (score[item] === 0) touched.push(item);
      score[item]! += popularityOf(weight, sessions.time[e]!, origin, knobs.halfLife);
    }
    const ranked = rank(Int32Array.from(touched), score);
    lists.push(ranked);
    scores.push(Float32Array.from(ranked, (item) => score[item]!));
    for (const item of touched) score[item] = 0;
    countryOffsets[country + 1] = countryOffsets[country]! + ranked.length;
  }
  const countryItems = sharedInt32(countryOffsets[countryCount + 1]!);
  const countryScores = sharedFloat32(countryItems.length);
  for (let country = 0; country <= countryCount; country++) {
    countryItems.set(lists[country]!, countryOffsets[country]!);
    countryScores.set(scores[country]!, countryOffsets[country]!);
  }
  return { countryOffsets, countryItems, countryScores };
}

/** Category -> items in the order of `order`. */
function rankedRows(order: Int32Array, categories: Rows, categoryCount: number): Rows {
  const keys: number[] = [];
  const items: number[] = [];
  for (const item of order) {
    for (let i = categories.offsets[item]!; i < categories.offsets[item + 1]!; i++) {
      keys.push(categories.values[i]!);
      items.push(item);
    }
  }
  const rows = groupBy(Int32Array.from(keys), categoryCount);
  for (let i = 0; i < rows.values.length; i++) rows.values[i] = items[rows.values[i]!]!;
  return rows;
}

function rankedBrands(order: Int32Array, brand: Int32Array, brandCount: number): Rows {
  const branded = order.filter((item) => brand[item]! >= 0);
  const rows = groupBy(
    Int32Array.from(branded, (item) => brand[item]!),
    brandCount,
  );
  for (let i = 0; i < rows.values.length; i++) rows.values[i] = branded[rows.values[i]!]!;
  return rows;
}

/** Counters that came after the index was built. */
export interface LivePopularity {
  /** Items with live interactions. */
  touched(): Iterable<number>;
  /** The most that any of them ever had, with what the base has of it. */
  greatest(): number;
  popular(item: number): number;
  short(item: number): number;
  long(item: number): number;
  inCountry(country: number): ReadonlyMap<number, number> | undefined;
}

export interface Popularity {
  popular: Model;
  trending: Model;
}

export function openPopularity(input: {
  index: PopularityIndex;
  knobs: PopularityKnobs;
  inCategory: (item: number, category: number) => boolean;
  live?: LivePopularity;
}): Popularity {
  const { index, knobs, inCategory, live } = input;
  const base = (values: Float32Array, item: number): number => (item < index.itemCount ? values[item]! : 0);
  const counterOf = (item: number): number => base(index.popular, item) + (live?.popular(item) ?? 0);
  const steepnessOf = (item: number): number =>
    steepness({
      short: base(index.short, item) + (live?.short(item) ?? 0),
      long: base(index.long, item) + (live?.long(item) ?? 0),
      knobs,
    });
  const fits = (context: Context, item: number): boolean =>
    context.accepts(item) && (context.category < 0 || inCategory(item, context.category));

  /** Puts the front of a ranked list on the board. */
  const walk = (input: {
    context: Context;
    board: ScoreBoard;
    list: Int32Array;
    from: number;
    to: number;
    score: (item: number, at: number) => number;
  }): void => {
    const { context, board, list, from, to, score } = input;
    walkRanked({
      context,
      list,
      from,
      to,
      accepts: (item) => board.values[item] === 0 && fits(context, item),
      take: (item, at) => board.add(item, score(item, at)),
    });
  };

  /** Where a country's items stand in the index; nowhere when the base does not know it. */
  const rangeOf = (country: number): [from: number, to: number] =>
    country + 1 < index.countryOffsets.length
      ? [index.countryOffsets[country]!, index.countryOffsets[country + 1]!]
      : [0, 0];

  const byCountry = new Map<number, ReadonlyMap<number, number>>();

  /** What the base counted of an item in a country; made ready when something happens there for the first time. */
  const baseIn = (country: number, item: number): number => {
    let counters = byCountry.get(country);
    if (counters === undefined) {
      const [from, to] = rangeOf(country);
      const items = index.countryItems.subarray(from, to);
      counters = new Map(Array.from(items, (item, at) => [item, index.countryScores[from + at]!]));
      byCountry.set(country, counters);
    }
    return counters.get(item) ?? 0;
  };

  const scorePopular = (context: Context, board: ScoreBoard): void => {
    const greatest = Math.max(base(index.popular, index.order[0] ?? 0), live?.greatest() ?? 0) || 1;
    const { country, category } = context;
    // what is popular in the visitor's country stands above what is popular elsewhere
    if (country > 0) {
      const here = live?.inCountry(country);
      const [from, to] = rangeOf(country);
      let top = Math.max(from < to ? index.countryScores[from]! : 0, 1e-9);
      here?.forEach((score, item) => {
        top = Math.max(top, score + baseIn(country, item));
      });
      walk({
        context,
        board,
        list: index.countryItems,
        from,
        to,
        score: (item, at) => 2 + (index.countryScores[at]! + (here?.get(item) ?? 0)) / top,
      });
      here?.forEach((score, item) => {
        if (board.values[item] === 0 && fits(context, item))
          board.add(item, 2 + (baseIn(country, item) + score) / top);
      });
    }
    const score = (item: number): number => 1e-6 + squash(counterOf(item) / greatest);
    if (context.candidates !== null) {
      for (let i = 0; i < context.candidateCount; i++) {
        const item = context.candidates[i]!;
        if (board.values[item] === 0 && fits(context, item)) board.add(item, score(item));
      }
      return;
    }
    const ranked = category >= 0 && category + 1 < index.byCategory.offsets.length;
    const list = ranked ? index.byCategory.values : index.order;
    const from = ranked ? index.byCategory.offsets[category]! : 0;
    const to = ranked ? index.byCategory.offsets[category + 1]! : list.length;
    walk({ context, board, list, from, to, score });
    for (const item of live?.touched() ?? []) {
      if (board.values[item] === 0 && fits(context, item)) board.add(item, score(item));
    }
  };

  const scoreTrending = (context: Context, board: ScoreBoard): void => {
    const list = index.rising;
    walk({
      context,
      board,
      list,
      from: 0,
      to: list.length,
      score: (item) => Math.max(1e-6, steepnessOf(item)),
    });
    for (const item of live?.touched() ?? []) {
      const steep = steepnessOf(item);
      if (steep > 0 && board.values[item] === 0 && fits(context, item)) board.add(item, steep);
    }
  };

  return {
    popular: { algorithm: 'popular', score: scorePopular },
    trending: { algorithm: 'trending', score: scoreTrending },
  };
}

/** Keeps order and stays below 2, which is where what is popular in the country begins. */
const squash = (ratio: number): number => (2 * ratio) / (1 + ratio);
