/**
 * `auto`: one ranking out of all signals. Candidates come from the models; each is described by a few numbers between 0 and
 * 1, and a weighted sum ranks them. The weights are fitted per tenant (blend-fit.ts) so that the item that came next in
 * held-out sessions gets the greatest share of a softmax.
 */

import type { ItemFacts } from '../catalog/item-facts.ts';
import { addRow, type PartnerRows } from '../structures/rows.ts';
import { ScoreBoard } from '../structures/score-board.ts';
import { selectGreatest } from '../structures/top-k.ts';
import type { Context } from './context.ts';
import type { LiveRows } from './covisitation.ts';
import { scoreTaste, type TasteModel } from './latent.ts';
import type { Model } from './model.ts';
import { priceCloseness } from './similarity.ts';

/** Signals that come as a board; each gives two features, its share of the greatest and the fourth root of it. */
const BOARD_SIGNALS = ['session', 'next', 'earlier', 'basket', 'factors', 'weights'] as const;
type BoardSignal = (typeof BOARD_SIGNALS)[number];

/** Signals that are read per candidate. */
const ITEM_SIGNALS = [
  'popular',
  'rising',
  'seen',
  'seenLately',
  'seenLast',
  'seenOften',
  'category',
  'price',
] as const;

/** The features in the order of the weights. */
export const FEATURES: readonly string[] = [
  ...BOARD_SIGNALS.flatMap((signal) => [signal, `${signal}Root`]),
  ...ITEM_SIGNALS,
];
export const FEATURE_COUNT = FEATURES.length;

export type BlendWeights = Readonly<Record<string, number>>;

/** What served well on shop logs before anything is known of this one. */
export const DEFAULT_BLEND_WEIGHTS: BlendWeights = {
  sessionRoot: 4,
  next: 0.6,
  nextRoot: 1,
  basket: 0.5,
  rising: 0.3,
  seen: 0.3,
  seenLast: -4,
  category: 0.3,
};

/** Candidates that get the full description: so many times the answer's length, and no fewer than that. */
const SHORTLIST = 4;
const LEAST_SHORTLIST = 64;
const SPARE = 16;
/** Items of the session whose rows are merged, and how their say fades. */
const EARLIER = 6;
const EARLIER_FADE = 2;
/** Partners that an item before the last brings along. */
const PARTNERS = 40;
/** On a crowded board, what is below this share of the greatest is no candidate by its own strength. */
const CROWD = 256;
const FAINT = 0.005;

/** A thousand interactions make one. */
export const popularityScale = (counter: number): number => Math.log1p(counter) / Math.log(1000);

export interface BlendInput {
  session: Model;
  covisits: PartnerRows;
  liveCovisits?: LiveRows | undefined;
  basketPartners(source: number, scale: number, board: ScoreBoard, most?: number): void;
  factors: TasteModel | null;
  weights: TasteModel | null;
  facts: ItemFacts;
  /** Decayed worldwide counters on a logarithmic scale ({@link popularityScale}). */
  popularity(item: number): number;
  recentPopularity(item: number): number;
  /** Capacity of the boards. */
  itemCount: number;
}

export interface Blend {
  model: Model;
  /** The same candidates and features as the model sees them, for fitting: returns how many rows were written. */
  describe(context: Context, items: Int32Array, features: Float32Array): number;
  /** What each feature adds to an item's score, the weightiest first; those that add nothing are left out. */
  explain(context: Context, item: number): { signal: string; share: number }[];
  grow(items: number): void;
}

export const SHORTLIST_CAPACITY = 1024;

export function openBlend(input: BlendInput, weights: BlendWeights | 'all'): Blend {
  const { facts } = input;
  const vector = Float64Array.from(FEATURES, (name) => (weights === 'all' ? 0 : (weights[name] ?? 0)));
  const inUse = BOARD_SIGNALS.map(
    (_, s) => weights === 'all' || vector[2 * s] !== 0 || vector[2 * s + 1] !== 0,
  );
  if (input.factors === null) inUse[BOARD_SIGNALS.indexOf('factors')] = false;
  if (input.weights === null) inUse[BOARD_SIGNALS.indexOf('weights')] = false;
  const boards = BOARD_SIGNALS.map(() => new ScoreBoard(input.itemCount));
  const union = new ScoreBoard(input.itemCount);
  const scale = new Float64Array(BOARD_SIGNALS.length);
  const listed = new Int32Array(SHORTLIST_CAPACITY);
  const sums = new Float64Array(SHORTLIST_CAPACITY);
  const row = new Float32Array(FEATURE_COUNT);

  const mergeCovisits = (item: number, weight: number, board: ScoreBoard, most?: number): void => {
    addRow(input.covisits, item, weight, board, most);
    input.liveCovisits?.rowOf(item)?.forEach((value, partner) => {
      board.add(partner, value * weight);
    });
  };

  const earlierItems = (context: Context): number => Math.min(context.recentCount, EARLIER);

  const nearby = (_: Context, board: ScoreBoard): void => {
    for (const other of boards) for (let i = 0; i < other.count; i++) board.raise(other.touched[i]!, 1);
  };

  const fill: Record<BoardSignal, (context: Context, board: ScoreBoard) => void> = {
    session: (context, board) => input.session.score(context, board),
    next(context, board) {
      if (context.recentCount > 0) mergeCovisits(context.recent[0]!, 1, board);
    },
    earlier(context, board) {
      for (let d = 1; d < earlierItems(context); d++) {
        mergeCovisits(context.recent[d]!, Math.exp(-d / EARLIER_FADE), board, PARTNERS);
      }
    },
    basket(context, board) {
      for (let d = 0; d < earlierItems(context); d++) {
        input.basketPartners(
          context.recent[d]!,
          Math.exp(-d / EARLIER_FADE),
          board,
          d === 0 ? undefined : PARTNERS,
        );
      }
    },
    factors: (context, board) => scoreTaste({ taste: input.factors!, context, board, nearby }),
    weights: (context, board) => scoreTaste({ taste: input.weights!, context, board, nearby }),
  };

  const fills = BOARD_SIGNALS.map((signal) => fill[signal]);

  /** Runs the models and lists candidates; returns how many. */
  const gather = (context: Context): number => {
    for (let s = 0; s < boards.length; s++) {
      if (!inUse[s]) continue;
      fills[s]!(context, boards[s]!);
      scale[s] = 1 / (boards[s]!.greatest() || 1);
    }
    if (context.candidates !== null) {
      // Weights of popularity are fitted beside those of the boards, and are often none or negative: alone they rank nothing.
      if (context.recentCount === 0 && boards.every((board) => board.count === 0)) return 0;
      const count = Math.min(context.candidateCount, SHORTLIST_CAPACITY);
      listed.set(context.candidates.subarray(0, count));
      return count;
    }
    for (let s = 0; s < boards.length; s++) {
      const board = boards[s]!;
      const least = board.count > CROWD && !context.selective ? FAINT : 0;
      for (let i = 0; i < board.count; i++) {
        const item = board.touched[i]!;
        const share = board.values[item]! * scale[s]!;
        if (share > least) union.add(item, share * (context.factors?.[item] ?? 1));
      }
    }
    // As strong as the best of a board, and in places of their own. Fainter, they fall off the shortlist where everything is near
    // everything, and neither the fit nor the answer learns that visitors come back to them (listening to music, groceries).
    for (let d = 0; d < context.recentCount; d++) union.add(context.recent[d]!, 1);
    const count = shortlist(context);
    union.clear();
    return count;
  };

  /** The strongest of the union that may be answered. */
  const shortlist = (context: Context): number => {
    const { touched, values } = union;
    const room = Math.min(
      SHORTLIST_CAPACITY,
      Math.max(LEAST_SHORTLIST, SHORTLIST * context.wanted) + context.recentCount,
    );
    let found = union.count;
    if (context.selective) {
      // the others move to the end: the board still has to be cleared of them
      found = 0;
      for (let i = 0; i < union.count; i++) {
        const item = touched[i]!;
        if (!context.accepts(item)) continue;
        touched[i] = touched[found]!;
        touched[found++] = item;
      }
    }
    // a few more, in place of those that the visitor must not see again
    const strongest = Math.min(found, room + SPARE);
    if (strongest < found) selectGreatest(touched, found, strongest, values);
    let count = 0;
    for (let i = 0; i < strongest && count < room; i++) {
      if (context.selective || context.accepts(touched[i]!)) listed[count++] = touched[i]!;
    }
    return count;
  };

  const clear = (): void => {
    for (const board of boards) board.clear();
  };

  /** Place in the session, newest = 0, or -1. */
  const placeOf = (context: Context, item: number): number => {
    for (let rank = 0; rank < context.recentCount; rank++) if (context.recent[rank] === item) return rank;
    return -1;
  };

  const describeItem = (context: Context, item: number, out: Float32Array, at: number): void => {
    let o = at;
    for (let s = 0; s < boards.length; s++) {
      const share = inUse[s] ? boards[s]!.values[item]! * scale[s]! : 0;
      out[o++] = share;
      out[o++] = Math.sqrt(Math.sqrt(share));
    }
    out[o++] = input.popularity(item);
    out[o++] = input.recentPopularity(item);
    const place = placeOf(context, item);
    out[o++] = place >= 0 ? 1 : 0;
    out[o++] = place > 0 ? 1 / place : 0;
    out[o++] = place === 0 ? 1 : 0;
    out[o++] = place >= 0 ? Math.log(context.recentTimes[place]!) : 0;
    const last = context.recentCount > 0 ? context.recent[0]! : -1;
    out[o++] = last >= 0 ? facts.categoryOverlap(last, item) : 0;
    out[o++] = last >= 0 ? priceCloseness(facts.priceOf(last), facts.priceOf(item)) : 0;
  };

  const [popular, rising, seen, seenLately, seenLast, seenOften, category, price] = ITEM_SIGNALS.map(
    (name) => vector[FEATURES.indexOf(name)]!,
  ) as [number, number, number, number, number, number, number, number];

  /** The weighted sum of {@link describeItem}, without computing what has no weight. */
  const scoreItem = (context: Context, item: number): number => {
    let sum = 0;
    for (let s = 0; s < boards.length; s++) {
      if (!inUse[s]) continue;
      const value = boards[s]!.values[item]!;
      if (value === 0) continue;
      const share = value * scale[s]!;
      sum += vector[2 * s]! * share + vector[2 * s + 1]! * Math.sqrt(Math.sqrt(share));
    }
    if (popular !== 0) sum += popular * input.popularity(item);
    if (rising !== 0) sum += rising * input.recentPopularity(item);
    const place = placeOf(context, item);
    if (place >= 0) {
      sum += seen + seenOften * Math.log(context.recentTimes[place]!);
      sum += place === 0 ? seenLast : seenLately / place;
    }
    if (context.recentCount > 0) {
      const last = context.recent[0]!;
      if (category !== 0) sum += category * facts.categoryOverlap(last, item);
      if (price !== 0) sum += price * priceCloseness(facts.priceOf(last), facts.priceOf(item));
    }
    return sum;
  };

  return {
    model: {
      algorithm: 'auto',
      score(context, board) {
        const count = gather(context);
        let greatest = Number.NEGATIVE_INFINITY;
        for (let i = 0; i < count; i++) {
          const sum = scoreItem(context, listed[i]!);
          sums[i] = sum;
          if (sum > greatest) greatest = sum;
        }
        for (let i = 0; i < count; i++) {
          const odds = Math.exp(sums[i]! - greatest);
          board.add(listed[i]!, Math.max(odds, 1e-30));
        }
        clear();
      },
    },
    describe(context, items, features) {
      const count = gather(context);
      for (let i = 0; i < count; i++) {
        items[i] = listed[i]!;
        describeItem(context, listed[i]!, features, i * FEATURE_COUNT);
      }
      clear();
      return count;
    },
    explain(context, item) {
      gather(context);
      describeItem(context, item, row, 0);
      clear();
      return FEATURES.map((signal, f) => ({ signal, share: vector[f]! * row[f]! }))
        .filter((part) => part.share !== 0)
        .sort((a, b) => Math.abs(b.share) - Math.abs(a.share));
    },
    grow(items) {
      for (const board of boards) board.grow(items);
      union.grow(items);
    },
  };
}
