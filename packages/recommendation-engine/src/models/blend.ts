/**
 * `auto`: one ranking out of all signals. Candidates come from the models; each is described by a few numbers between 0 and
 * 1 (but for `again`), and a weighted sum ranks them. The weights are fitted per tenant (blend-fit.ts) so that the item that came next in
 * held-out sessions gets the greatest share of a softmax.
 */
import type { ItemFacts } from '../catalog/item-facts.ts';
import { addRow, type PartnerRows } from '../structures/rows.ts';
import { ScoreBoard } from '../structures/score-board.ts';
import { selectGreatest } from '../structures/top-k.ts';
import type { Context } from './context.ts';
import type { LiveRows } from './covisitation.ts';
import { scoreTaste, type TasteModel } from './latent/latent.ts';
import type { Model } from './model.ts';
import { priceCloseness } from './similarity.ts';

/** Signals that come as a board; each gives two features, its share of the greatest and the fourth root of it. */
const BOARD_SIGNALS = ['session', 'next', 'earlier', 'basket', 'company', 'factors', 'weights'] as const;
type BoardSignal = (typeof BOARD_SIGNALS)[number];

/** Signals that are read per candidate. */
const ITEM_SIGNALS = [
  'popular',
  'rising',
  'seen',
  'seenLately',
  'seenLast',
  'again',
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
/** Items of the session whose rows are merged, the newest first: what each counts, and how many of its partners it brings along. */
const EARLIER = 6;
const EARLIER_WEIGHTS = Array.from({ length: EARLIER }, (_, d) => Math.exp(-d / 2));
const PARTNERS = EARLIER_WEIGHTS.map((weight, d) => (d === 0 ? undefined : Math.ceil(40 * weight)));
/** Items of the whole history whose baskets count alike, and how many partners each brings along. */
const COMPANY = 64;
const COMPANY_PARTNERS = 100;
/** On a crowded board, what is below this share of the greatest is no candidate by its own strength. */
const CROWD = 256;
const FAINT = 0.005;
/** A board takes positive numbers only. */
const FAINTEST = 1e-9;

/** A thousand interactions make one. */
export const popularityScale = (counter: number): number => Math.log1p(counter) / Math.log(1000);

export interface BlendInput {
  session: Model;
  covisits: PartnerRows;
  liveCovisits?: LiveRows | undefined;
  basketPartners(source: number, scale: number, board: ScoreBoard, most?: number): void;
  /** How far an item's odds to be gone on with lie above the usual ones, as a logarithm (repeats.ts). */
  again(item: number): number;
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
  /** Weights of the boards' features. While they are fitted, all boards have the same say in what is a candidate. */
  const linear = BOARD_SIGNALS.map((_, s) => (weights === 'all' ? 1 : vector[2 * s]!));
  const root = BOARD_SIGNALS.map((_, s) => (weights === 'all' ? 1 : vector[2 * s + 1]!));
  const greatestStrength = Math.max(1, ...linear.map((weight, s) => weight + root[s]!));
  if (input.factors === null) inUse[BOARD_SIGNALS.indexOf('factors')] = false;
  if (input.weights === null) inUse[BOARD_SIGNALS.indexOf('weights')] = false;
  const boards = BOARD_SIGNALS.map(() => new ScoreBoard(input.itemCount));
  const union = new ScoreBoard(input.itemCount);
  const scale = new Float64Array(BOARD_SIGNALS.length);
  const listed = new Int32Array(SHORTLIST_CAPACITY);
  const sums = new Float64Array(SHORTLIST_CAPACITY);
  const row = new Float32Array(FEATURE_COUNT);
  /** By item, in a request: its place in the running session, counted from 1. */
  let places = new Uint8Array(input.itemCount);

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
      for (let d = 1; d < earlierItems(context); d++)
        mergeCovisits(context.recent[d]!, EARLIER_WEIGHTS[d]!, board, PARTNERS[d]);
    },
    basket(context, board) {
      for (let d = 0; d < earlierItems(context); d++)
        input.basketPartners(context.recent[d]!, EARLIER_WEIGHTS[d]!, board, PARTNERS[d]);
    },
    company(context, board) {
      for (let h = 0; h < Math.min(context.historyCount, COMPANY); h++)
        input.basketPartners(context.history[h]!, 1, board, COMPANY_PARTNERS);
    },
    factors: (context, board) => scoreTaste({ taste: input.factors!, context, board, nearby }),
    weights: (context, board) => scoreTaste({ taste: input.weights!, context, board, nearby }),
  };

  const fills = BOARD_SIGNALS.map((signal) => fill[signal]);

  /**
   * Runs the models and lists candidates, by what the boards add to the weighted sum; returns how many. By their shares alone taste, which
   * knows something of every item, would fill the list with what the sum ranks low, in place of what another board knows well.
   */
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
    const { factors } = context;
    for (let s = 0; s < boards.length; s++) {
      const board = boards[s]!;
      const [ofShare, ofRoot] = [linear[s]!, root[s]!];
      const least = board.count > CROWD && !context.selective ? FAINT : 0;
      const unit = scale[s]!;
      for (let i = 0; i < board.count; i++) {
        const item = board.touched[i]!;
        const share = board.values[item]! * unit;
        if (!(share > least)) continue;
        const strength = Math.max(FAINTEST, ofShare * share + ofRoot * Math.sqrt(Math.sqrt(share)));
        union.add(item, factors === null ? strength : strength * (factors[item] ?? 1));
      }
    }
    // As strong as the best of a board, and in places of their own. Fainter, they fall off the shortlist where everything is near
    // everything, and neither the fit nor the answer learns that visitors come back to them (listening to music, groceries).
    for (let d = 0; d < context.recentCount; d++) union.add(context.recent[d]!, greatestStrength);
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
    out[o++] = place === 0 ? input.again(item) : 0;
    out[o++] = place >= 0 ? Math.log(context.recentTimes[place]!) : 0;
    const last = context.recentCount > 0 ? context.recent[0]! : -1;
    out[o++] = last >= 0 ? facts.categoryOverlap(last, item) : 0;
    out[o++] = last >= 0 ? priceCloseness(facts.priceOf(last), facts.priceOf(item)) : 0;
  };

  const [popular, rising, seen, seenLately, seenLast, again, seenOften, category, price] = ITEM_SIGNALS.map(
    (name) => vector[FEATURES.indexOf(name)]!,
  ) as [number, number, number, number, number, number, number, number, number];

  /**
   * The weighted sums of {@link describeItem} for what is listed, signal by signal, without computing what has no weight; returns the
   * greatest.
   */
  const sumUp = (context: Context, count: number): number => {
    sums.fill(0, 0, count);
    for (let s = 0; s < boards.length; s++) {
      if (!inUse[s]) continue;
      const { values } = boards[s]!;
      const unit = scale[s]!;
      const [ofShare, ofRoot] = [linear[s]!, root[s]!];
      for (let i = 0; i < count; i++) {
        const share = values[listed[i]!]! * unit;
        if (ofShare !== 0) sums[i]! += ofShare * share;
        if (ofRoot !== 0 && share > 0) sums[i]! += ofRoot * Math.sqrt(Math.sqrt(share));
      }
    }
    if (popular !== 0) for (let i = 0; i < count; i++) sums[i]! += popular * input.popularity(listed[i]!);
    if (rising !== 0) for (let i = 0; i < count; i++) sums[i]! += rising * input.recentPopularity(listed[i]!);
    if (context.recentCount > 0) sumUpRecent(context, count);
    let greatest = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < count; i++) if (sums[i]! > greatest) greatest = sums[i]!;
    return greatest;
  };

  /** What the running session itself says. */
  const sumUpRecent = (context: Context, count: number): void => {
    const { recent, recentCount, recentTimes } = context;
    const last = recent[0]!;
    const lastPrice = facts.priceOf(last);
    for (let d = 0; d < recentCount; d++) places[recent[d]!] = d + 1;
    for (let i = 0; i < count; i++) {
      const item = listed[i]!;
      const place = places[item]! - 1;
      if (place >= 0) {
        sums[i]! += seen + seenOften * Math.log(recentTimes[place]!);
        sums[i]! += place === 0 ? seenLast + again * input.again(item) : seenLately / place;
      }
      if (category !== 0) sums[i]! += category * facts.categoryOverlap(last, item);
      if (price !== 0) sums[i]! += price * priceCloseness(lastPrice, facts.priceOf(item));
    }
    for (let d = 0; d < recentCount; d++) places[recent[d]!] = 0;
  };

  return {
    model: {
      algorithm: 'auto',
      score(context, board) {
        const count = gather(context);
        const greatest = sumUp(context, count);
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
      if (items > places.length) places = new Uint8Array(Math.ceil(items * 1.25));
    },
  };
}
