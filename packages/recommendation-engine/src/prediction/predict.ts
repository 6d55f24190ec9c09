/**
 * One request, one ranked list. The asked-for algorithm answers first, then its fallbacks. Where these are, as by default,
 * what is popular and what is new, at last any item at all: the list is only as short as the number of allowed items makes it.
 */
import type { EngineBase } from '../base.ts';
import type { Delta } from '../delta/delta.ts';
import { SHORTLIST_CAPACITY } from '../models/blend.ts';
import { type Context, createContext, loadContext, MAX_RECENT } from '../models/context.ts';
import type { Algorithm } from '../models/model.ts';
import { type Bitset, has, membersOf } from '../structures/bitset.ts';
import { ScoreBoard } from '../structures/score-board.ts';
import { TopK } from '../structures/top-k.ts';
import { diversify } from './diversity.ts';
import { favour } from './liking.ts';
import type { Parts } from './parts.ts';

export interface PredictionRequest {
  algorithm: Algorithm;
  /** Tried in this order while items are missing, and nobody else; when left out, `popular` and `new`. */
  fallback?: readonly Algorithm[];
  /** The item in view. It is not answered. */
  item?: number;
  /** Items of the running session, oldest first. */
  session?: ArrayLike<number>;
  /** Items of earlier sessions, oldest first. */
  history?: ArrayLike<number>;
  /** The visitor's own session among the live ones (`delta.visitors.sessionOf`). */
  own?: number;
  /** ISO 3166-1 alpha-2. */
  country?: string;
  /** Number of a category: `popular`, `trending` and `new` stay inside it. */
  category?: number;
  /** null = all listed items. */
  allowed?: Bitset | null;
  exclude?: ReadonlySet<number>;
  /** Factor on each item's score, by item number; missing = 1, 0 = bottom. */
  boost?: ArrayLike<number>;
  size: number;
  /** 0 = by score alone, 1 = a second item of a category comes only after all other categories. */
  diversity?: number;
  explain?: boolean;
}

export interface Recommendation {
  item: number;
  /** 0..1,000,000, never increasing along the list. */
  score: number;
  /** Who put it here: an algorithm, or `any` when even the fallbacks had nothing left to say. */
  model: Algorithm | 'any';
  /** Only when asked for. */
  evidence?: Evidence;
}

export interface Evidence {
  /** Items of the visitor that speak for it, strongest first. */
  because: number[];
  /** `auto`: what each signal added. */
  signals: { signal: string; share: number }[];
}

const TOP_SCORE = 1_000_000;
/** What a float32 still holds: beyond it two scores would be alike, and their ratio no number. */
const GREATEST = 3e38;
/** A list that is put into another order afterwards is picked from this many times its size. */
const POOL = 5;
/** A diverse one from so many at least: those in front may all be of one category. */
const DIVERSE_POOL = 500;
/** Excluded items that a shortlist has spare places for. */
const FEW = 8;
/** They start from the item in view or the running session, and know nothing of what was before. */
const FROM_THE_MOMENT: readonly Algorithm[] = ['auto', 'session', 'related', 'bought-together', 'similar'];
const NOBODY: ReadonlySet<number> = new Set();
const NOTHING: readonly number[] = [];

export type Predictor = (request: PredictionRequest) => Recommendation[];

export function openPredictor(input: { base: EngineBase; delta: Delta; parts: Parts }): Predictor {
  const { delta, parts } = input;
  const context = createContext();
  const board = new ScoreBoard(input.base.items.count);
  const best = new TopK(128);
  const candidates = new Int32Array(SHORTLIST_CAPACITY);
  /** 1 for each item that the list has already. */
  let chosen = new Uint8Array(input.base.items.count);

  let request: PredictionRequest = { algorithm: 'popular', size: 0 };
  // read once a request, and not for each of a thousand items
  let { listed } = delta.catalog;
  let allowed: Bitset | null = null;
  let boost: ArrayLike<number> | null = null;
  let viewed = -1;
  let exclude = NOBODY;
  /** Whether the turn of the items with a factor of 0 has come: they follow when nobody has anything else to say. */
  let buried = false;
  // the cheapest and most selective first: a long list is often walked for a short answer
  context.accepts = (item) =>
    (allowed === null || has(allowed, item)) &&
    has(listed, item) &&
    item !== viewed &&
    chosen[item] === 0 &&
    (boost === null || (boost[item] === 0) === buried) &&
    (exclude.size === 0 || !exclude.has(item));

  const collect = (algorithm: Algorithm, room: number): void => {
    const { diversity = 0, history = NOTHING } = request;
    const hasPast = history.length > 0 && context.recentCount > 0 && FROM_THE_MOMENT.includes(algorithm);
    const taste = hasPast ? parts.latentTaste : null;
    context.wanted = diversity > 0 || boost !== null || taste !== null ? room * POOL : room;
    if (diversity > 0) context.wanted = Math.max(context.wanted, DIVERSE_POOL);
    context.factors = buried ? null : boost;
    parts.models[algorithm].score(context, board);
    best.reset(context.wanted);
    for (let i = 0; i < board.count; i++) {
      const item = board.touched[i]!;
      const score = Math.min(board.values[item]! * (context.factors?.[item] ?? 1), GREATEST);
      // Most are not good enough, and whether they may be answered takes longer to find out.
      if (best.takes(item, score) && context.accepts(item)) best.offer(item, score);
    }
    board.clear();
    best.sort();
    if (taste !== null) favour(best, taste, context);
    if (diversity > 0) {
      diversify({ ranked: best, size: room, diversity, categoryOf: parts.facts.mainCategory });
    }
  };

  const extend = (algorithm: Algorithm, size: number, results: Recommendation[]): void => {
    if (results.length >= size) return;
    const ceiling = results.at(-1)?.score ?? TOP_SCORE;
    collect(algorithm, size - results.length);
    const top = best.size === 0 ? 0 : best.scores[0]!;
    for (let i = 0; i < best.size && results.length < size; i++) {
      const item = best.items[i]!;
      const share = top > 0 && !buried ? Math.max(0, best.scores[i]! / top) : 0;
      results.push({ item, score: Math.floor(ceiling * share), model: algorithm });
      chosen[item] = 1;
    }
  };

  const select = (asked: PredictionRequest): void => {
    const room = delta.catalog.itemCount;
    context.category = asked.category ?? -1;
    context.selective =
      buried || asked.allowed != null || exclude.size > FEW || delta.catalog.listed.count < room - FEW;
    context.candidates = null;
    if (asked.allowed != null && asked.allowed.count <= SHORTLIST_CAPACITY) {
      context.candidates = candidates;
      context.candidateCount = membersOf(asked.allowed, candidates, context.accepts);
    }
  };

  const answer = (asked: PredictionRequest, results: Recommendation[]): void => {
    const { size } = asked;
    select(asked);
    const chain = chainOf(asked);
    for (const algorithm of chain) extend(algorithm, size, results);
    if (!chain.some((algorithm) => LAST_RESORTS.includes(algorithm))) return;
    if (context.category >= 0) {
      // rather something from elsewhere than a short list
      context.category = -1;
      extend('popular', size, results);
    }
    for (let item = 0; item < delta.catalog.itemCount && results.length < size; item++) {
      if (!context.accepts(item)) continue;
      results.push({ item, score: 0, model: 'any' });
      chosen[item] = 1;
    }
  };

  return (asked) => {
    request = asked;
    listed = delta.catalog.listed;
    allowed = asked.allowed ?? null;
    boost = asked.boost ?? null;
    viewed = asked.item ?? -1;
    exclude = asked.exclude ?? NOBODY;
    const room = delta.catalog.itemCount;
    if (room > chosen.length) chosen = new Uint8Array(Math.ceil(room * 1.25));
    board.grow(room);
    parts.blend.grow(room);
    loadContext({
      context,
      item: asked.item,
      session: asked.session ?? NOTHING,
      history: asked.history ?? NOTHING,
    });
    context.country = asked.country === undefined ? 0 : delta.countryOf(asked.country);
    context.ownSession = asked.own ?? -1;
    const results: Recommendation[] = [];
    try {
      answer(asked, results);
      if (asked.boost !== undefined && results.length < asked.size) {
        buried = true;
        answer(asked, results);
      }
    } finally {
      buried = false;
      for (const { item } of results) chosen[item] = 0;
    }
    if (asked.explain === true) {
      for (const result of results) result.evidence = evidenceFor(result, context, input);
    }
    return results;
  };
}

/** The algorithms to ask, each once. */
function chainOf({ algorithm, fallback = LAST_RESORTS }: PredictionRequest): Algorithm[] {
  const chain = [algorithm];
  for (const next of fallback) if (!chain.includes(next)) chain.push(next);
  return chain;
}
/** They have something to say of every item. */
const LAST_RESORTS: readonly Algorithm[] = ['popular', 'new'];

const MAX_REASONS = 3;

function evidenceFor(
  result: Recommendation,
  context: Context,
  input: { base: EngineBase; delta: Delta; parts: Parts },
): Evidence {
  const { base, delta, parts } = input;
  const because: { item: number; weight: number }[] = [];
  const { recent, recentCount, history, historyCount } = context;
  const [sources, count] =
    recentCount > 0 ? [recent, recentCount] : [history, Math.min(historyCount, MAX_RECENT)];
  for (let i = 0; i < count; i++) {
    const source = sources[i]!;
    const weight =
      weightIn(base.covisits, source, result.item) +
      (delta.counters.covisits.rowOf(source)?.get(result.item) ?? 0) +
      weightIn(delta.counters.baskets.rows, source, result.item);
    if (weight > 0) because.push({ item: source, weight });
  }
  because.sort((a, b) => b.weight - a.weight);
  return {
    because: because.slice(0, MAX_REASONS).map((reason) => reason.item),
    signals: result.model === 'auto' ? parts.auto.explain(context, result.item) : [],
  };
}

function weightIn(rows: EngineBase['covisits'], source: number, item: number): number {
  if (source >= rows.itemCount) return 0;
  for (let i = rows.offsets[source]!; i < rows.offsets[source + 1]!; i++) {
    if (rows.items[i] === item) return rows.weights[i]!;
  }
  return 0;
}
