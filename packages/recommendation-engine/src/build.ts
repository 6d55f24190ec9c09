/**
 * Builds an engine's base from a catalog and a log: pure computation, no I/O, runs in a worker thread or in place.
 * Limits: about 60 bytes per interaction and 1 kB per item while building.
 */
import type { EngineBase, Knobs } from './base.ts';
import { buildCatalog, type CatalogIndex, type CatalogItem } from './catalog/catalog.ts';
import { buildHistories, type Histories } from './log/histories.ts';
import { type InteractionLog, KIND_WEIGHTS } from './log/interactions.ts';
import { lastTime, SESSION_GAP_MS, type SessionLog, sessionise } from './log/sessions.ts';
import { buildVisitors } from './log/visitors.ts';
import { buildBaskets, DEFAULT_BASKET_KNOBS } from './models/baskets.ts';
import { DEFAULT_BLEND_WEIGHTS } from './models/blend.ts';
import { buildCovisitation, DEFAULT_COVISITATION_KNOBS } from './models/covisitation.ts';
import { DEFAULT_FACTOR_KNOBS, trainFactors } from './models/latent/implicit-factors.ts';
import { MAX_ITEMS, trainItemWeights } from './models/latent/item-weights.ts';
import { buildNewest } from './models/newest.ts';
import {
  buildPopularity,
  DEFAULT_POPULARITY_KNOBS,
  type PopularityIndex,
  type PopularityKnobs,
} from './models/popularity.ts';
import { buildRepeats } from './models/repeats.ts';
import { buildSessionIndex } from './models/sessions/session-index.ts';
import { buildSessionVotes } from './models/sessions/session-votes.ts';
import { DEFAULT_SESSION_KNOBS } from './models/sessions/session-weights.ts';
import { DEFAULT_PREFERENCES, type Preferences, withPreferences } from './preferences.ts';
import { createVocabulary, idAt, type Vocabulary } from './structures/vocabulary.ts';

export const DEFAULT_KNOBS: Knobs = {
  kinds: KIND_WEIGHTS,
  session: DEFAULT_SESSION_KNOBS,
  votes: 'ahead',
  covisitation: DEFAULT_COVISITATION_KNOBS,
  baskets: DEFAULT_BASKET_KNOBS,
  popularity: DEFAULT_POPULARITY_KNOBS,
  factors: DEFAULT_FACTOR_KNOBS,
  weights: null,
  latent: 'factors',
  blend: DEFAULT_BLEND_WEIGHTS,
};

export interface EngineInput {
  /** Left out: every item of the log may be recommended. */
  catalog?: readonly CatalogItem[];
  log: InteractionLog;
  /** Milliseconds of silence that end a session; 0 = a visitor is one session. */
  sessionGap?: number;
  /** From the tuner; default {@link DEFAULT_KNOBS}. */
  knobs?: Knobs;
  /** What the tenant has decided itself; default: the usual weights, and what the tuner finds. */
  preferences?: Preferences;
  /** Whether live interactions should continue sessions of the base; default true. */
  keepVisitors?: boolean;
}

export interface Progress {
  step: string;
  /** 0..1 over the whole work. */
  done: number;
}

export interface BuildOptions {
  onProgress?: (progress: Progress) => void;
  signal?: AbortSignal;
}

/** The input in order, before any knob matters: numbers, catalog, sessions. */
export interface Prepared {
  items: Vocabulary;
  itemCount: number;
  visitors: Vocabulary;
  countries: Vocabulary;
  catalog: CatalogIndex;
  sessions: SessionLog;
  sessionGap: number;
  keepVisitors: boolean;
  preferences: Preferences;
}

export function prepare(input: EngineInput): Prepared {
  const { log, sessionGap = SESSION_GAP_MS } = input;
  const numbers = createVocabulary();
  for (let item = 0; item < log.items.count; item++) numbers.intern(idAt(log.items, item));
  const catalog = buildCatalog({ items: input.catalog, numbers });
  return {
    items: numbers.pack(),
    itemCount: numbers.count,
    visitors: log.visitors,
    countries: log.countries,
    catalog,
    sessions: sessionise(log, sessionGap > 0 ? sessionGap : Number.POSITIVE_INFINITY),
    sessionGap,
    keepVisitors: input.keepVisitors ?? true,
    preferences: input.preferences ?? DEFAULT_PREFERENCES,
  };
}

/**
 * @example
 * const base = buildEngine({ catalog, log }, { onProgress: ({ step, done }) => console.log(step, done) });
 * const engine = openEngine(base);
 */
export function buildEngine(input: EngineInput, options: BuildOptions = {}): EngineBase {
  options.onProgress?.({ step: 'sessions', done: 0 });
  return buildBase(prepare(input), input.knobs ?? DEFAULT_KNOBS, options);
}

/** All models with the given knobs, as far as the tenant has not decided itself. */
export function buildBase(prepared: Prepared, tuned: Knobs, options: BuildOptions = {}): EngineBase {
  const { sessions, itemCount, catalog } = prepared;
  const knobs = withPreferences(tuned, prepared.preferences);
  const report = (step: string, done: number): void => {
    options.signal?.throwIfAborted();
    options.onProgress?.({ step, done });
  };
  report('popularity', 0.1);
  const popularity = buildPopularityOf(prepared, knobs.popularity);
  report('session neighbours', 0.2);
  const index = buildSessionIndex(sessions, itemCount);
  report('session votes', 0.25);
  const votes = knobs.votes === 'ahead' ? buildSessionVotes({ index, knobs: knobs.session }) : null;
  report('co-visitation', 0.3);
  const covisits = buildCovisitation({
    sessions,
    itemCount,
    knobs: knobs.covisitation,
    kinds: knobs.kinds,
  });
  report('baskets', 0.4);
  const baskets = buildBaskets({ sessions, itemCount, knobs: knobs.baskets });
  report('latent', 0.5);
  const taste = trainTaste(prepared, knobs, { ...options, report });
  report('visitors', 0.95);
  const base: EngineBase = {
    format: 4,
    through: lastTime(sessions),
    interactions: sessions.item.length,
    sessionGap: prepared.sessionGap,
    items: prepared.items,
    countries: prepared.countries,
    catalog,
    sessions: index,
    votes,
    popularity,
    newest: buildNewest({ sessions, addedAt: catalog.addedAt }),
    covisits,
    repeats: buildRepeats(sessions, itemCount),
    baskets,
    ...taste,
    visitors: prepared.keepVisitors ? buildVisitors(sessions, prepared.visitors) : null,
    knobs,
  };
  report('done', 1);
  return base;
}

export function buildPopularityOf(prepared: Prepared, knobs: PopularityKnobs): PopularityIndex {
  const { sessions, itemCount, countries, catalog, preferences } = prepared;
  return buildPopularity({
    sessions,
    itemCount,
    countryCount: countries.count,
    categories: catalog.itemCategories,
    categoryCount: catalog.categories.count,
    brand: catalog.brand,
    brandCount: catalog.brands.count,
    knobs,
    kinds: preferences.kinds,
  });
}

function trainTaste(
  prepared: Prepared,
  knobs: Knobs,
  options: { signal?: AbortSignal; report: (step: string, done: number) => void },
): Pick<EngineBase, 'factors' | 'weights'> {
  if (knobs.factors === null && knobs.weights === null) return { factors: null, weights: null };
  const histories = historiesOf(prepared);
  if (histories.count === 0) return { factors: null, weights: null };
  const { signal, report } = options;
  return {
    factors:
      knobs.factors &&
      trainFactors({
        histories,
        knobs: knobs.factors,
        signal,
        onEpoch: (done, total) => report('latent', 0.5 + (0.3 * done) / total),
      }),
    weights:
      prepared.itemCount > MAX_ITEMS
        ? null
        : knobs.weights &&
          trainItemWeights({
            histories,
            knobs: knobs.weights,
            signal,
            onBlock: (done, total) => report('item weights', 0.8 + (0.15 * done) / total),
          }),
  };
}

export const historiesOf = ({ sessions, itemCount, visitors }: Prepared): Histories =>
  buildHistories({ sessions, itemCount, visitorCount: visitors.count });
