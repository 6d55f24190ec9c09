/**
 * The automatic tuner: holds out the newest part of a tenant's own log, turns every knob on it and fits the weights of
 * `auto`. Nothing about a data set is written in code; everything here is measured on it.
 */
import type { Knobs } from '../base.ts';
import {
  buildBase,
  buildPopularityOf,
  DEFAULT_KNOBS,
  historiesOf,
  type Prepared,
  type Progress,
} from '../build.ts';
import { createDelta } from '../delta/delta.ts';
import type { Histories } from '../log/histories.ts';
import { type BlendInput, FEATURE_COUNT, openBlend, SHORTLIST_CAPACITY } from '../models/blend.ts';
import { buildCovisitation, type CovisitationKnobs, openCovisitation } from '../models/covisitation.ts';
import { type FactorKnobs, trainFactors } from '../models/latent/implicit-factors.ts';
import { type ItemWeightKnobs, MAX_ITEMS, trainItemWeights } from '../models/latent/item-weights.ts';
import { openFactors, openItemWeights, openLatent, type TasteModel } from '../models/latent/latent.ts';
import { openPopularity, type PopularityKnobs } from '../models/popularity.ts';
import { buildSessionIndex, type SessionIndex } from '../models/sessions/session-index.ts';
import { openSessionNeighbours } from '../models/sessions/session-neighbours.ts';
import type { SessionKnobs } from '../models/sessions/session-weights.ts';
import { openParts, type Parts } from '../prediction/parts.ts';
import { type DescribedCase, fitBlend } from './blend-fit.ts';
import { type Case, type HoldOut, holdOutLast, holdOutNewest } from './hold-out.ts';
import { searchKnobs } from './knob-search.ts';
import { openReplay, type Quality, type Replay } from './replay.ts';

export interface TuneOptions {
  /** `newest`: the newest sessions are held out; `last`: one item of each visitor. */
  holdOut?: 'newest' | 'last';
  /** Rank the held-out item among so many strangers; 0 = among everything. */
  negatives?: number;
  /** Length of the list that counts. */
  at?: number;
  /**
   * Limit of processor time for turning knobs; what has been found by then is used, and `auto` fitted to it on top. A busy machine takes
   * longer, it does not tune worse.
   */
  budgetMs?: number;
  onProgress?: (progress: Progress) => void;
  signal?: AbortSignal;
}

export interface Tuning {
  knobs: Knobs;
  /** Quality on held-out cases per model, as the tuner saw it. */
  found: Record<string, Quality>;
  cases: number;
}

/** Cases for turning knobs, and for fitting the blend. */
const SEARCH_CASES = 1500;
const FIT_CASES = 5000;
const DEFAULT_BUDGET_MS = 90_000;

/** Milliseconds that this thread has computed. */
const processorTime = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

/** What a list is worth: half for having it, half for having it high up. */
const objective = ({ hitRate, reciprocalRank }: Quality): number => hitRate + reciprocalRank;
const objectiveAmongNegatives = ({ hitRate, gain }: Quality): number => hitRate + gain;

interface Trial {
  hold: HoldOut;
  search: Case[];
  replay: Replay;
  at: number;
  worth: (quality: Quality) => number;
  goOn: (share: number) => () => boolean;
  signal: AbortSignal | undefined;
}

/**
 * @example
 * const { knobs } = tuneEngine(prepare({ log }), { budgetMs: 30_000 });
 * const base = buildEngine({ log, knobs });
 */
export function tuneEngine(prepared: Prepared, options: TuneOptions = {}): Tuning {
  const { negatives = 0, at = 20, budgetMs = DEFAULT_BUDGET_MS, signal } = options;
  const started = processorTime();
  const report = (step: string, done: number): void => {
    signal?.throwIfAborted();
    options.onProgress?.({ step, done });
  };
  report('hold-out', 0);
  const hold =
    options.holdOut === 'last'
      ? holdOutLast({ prepared, mostCases: FIT_CASES, negatives })
      : holdOutNewest(prepared, FIT_CASES);
  if (hold.cases.length === 0) return { knobs: DEFAULT_KNOBS, found: {}, cases: 0 };
  const trial: Trial = {
    hold,
    search: hold.cases.slice(0, SEARCH_CASES),
    replay: openReplay(prepared.itemCount),
    at,
    worth: negatives > 0 ? objectiveAmongNegatives : objective,
    goOn: (share) => () => {
      signal?.throwIfAborted();
      return processorTime() - started < budgetMs * share;
    },
    signal,
  };

  report('session neighbours', 0.05);
  const session = tuneSession(trial, buildSessionIndex(hold.train.sessions, prepared.itemCount));
  report('co-visitation', 0.3);
  const covisitation = tuneCovisitation(trial);
  const popularity = tunePopularity(trial);
  report('latent', 0.4);
  const taste = tuneTaste(trial, historiesOf(hold.train), options.holdOut === 'last');
  report('blend', 0.75);
  const knobs: Knobs = { ...DEFAULT_KNOBS, session, covisitation, popularity, ...taste };
  const base = buildBase({ ...hold.train, keepVisitors: false }, knobs, { signal });
  const parts = openParts(base, createDelta(base));
  const votes = chooseVotes(trial, parts);
  const signals: BlendInput =
    votes === 'ahead' ? parts.blendInput : { ...parts.blendInput, session: parts.models.session };
  const described = describeCases(trial, openBlend(signals, 'all'));
  report('blend', 0.9);
  const blend = fitBlend({
    cases: described,
    objective: trial.worth,
    at,
    histories: options.holdOut === 'last',
    signal,
  });
  const found: Record<string, Quality> = {};
  const tuned = openBlend(signals, blend);
  for (const model of [tuned.model, parts.models.session, parts.models.related, parts.models.latent]) {
    found[model.algorithm] = trial.replay.measure(model, trial.search, at);
  }
  report('tuned', 1);
  return { knobs: { ...knobs, votes, blend }, found, cases: hold.cases.length };
}

function tuneSession(trial: Trial, index: SessionIndex): SessionKnobs {
  const span = Math.max(1, index.ages[0] ?? 1);
  return searchKnobs<SessionKnobs>({
    start: DEFAULT_KNOBS.session,
    grid: {
      itemDecay: [1, 1.5, 3, 5, 8],
      matchDecay: [0, 1, 2, 8],
      backward: [0.25, 0.75, 1],
      lengthPower: [0, 0.25, 0.75],
      recency: [span / 16, span / 4, span],
      rareMatch: [0],
      rareItem: [0, 1, 5],
      neighbours: [100, 1500],
      sample: [1000, 2500],
      length: [4, 20],
    },
    goOn: trial.goOn(0.3),
    value: (knobs) =>
      trial.worth(trial.replay.measure(openSessionNeighbours({ index, knobs }), trial.search, trial.at)),
  }).knobs;
}

/** Asking neighbours takes some ten times as long as looking their votes up: it must find so much more. */
const WORTH_ASKING = 0.02;

function chooseVotes({ replay, search, at, worth }: Trial, { blendInput, models }: Parts): Knobs['votes'] {
  const [ahead, asked] = [blendInput.session, models.session].map((model) =>
    worth(replay.measure(model, search, at)),
  ) as [number, number];
  return asked * (1 - WORTH_ASKING) > ahead ? 'asked' : 'ahead';
}

function tuneCovisitation(trial: Trial): CovisitationKnobs {
  const { sessions, itemCount, preferences } = trial.hold.train;
  const { kinds, halfLives } = preferences;
  const span = spanOf(trial.hold.train);
  return searchKnobs<CovisitationKnobs>({
    start: {
      ...DEFAULT_KNOBS.covisitation,
      halfLife: halfLives.related ?? DEFAULT_KNOBS.covisitation.halfLife,
    },
    grid: {
      stepPower: [0.5, 2],
      halfLife: halfLives.related === null ? [span / 2, span / 8, span / 32] : [],
    },
    rounds: 1,
    goOn: trial.goOn(0.4),
    value: (knobs) => {
      const rows = buildCovisitation({ sessions, itemCount, knobs, kinds });
      return trial.worth(trial.replay.measure(openCovisitation({ rows }), trial.search, trial.at));
    },
  }).knobs;
}

/** About how many milliseconds the log spans: from the beginning of the session that ended first to the last interaction. */
const spanOf = ({ sessions }: Prepared): number =>
  Math.max(1, (sessions.time.at(-1) ?? 1) - (sessions.time[0] ?? 0));

function tunePopularity(trial: Trial): PopularityKnobs {
  const { train } = trial.hold;
  const { halfLives } = train.preferences;
  const span = spanOf(train);
  return searchKnobs<PopularityKnobs>({
    start: {
      halfLife: halfLives.popular ?? DEFAULT_KNOBS.popularity.halfLife,
      short: halfLives.trending,
      long: halfLives.trendingBaseline,
    },
    grid: { halfLife: halfLives.popular === null ? [0, span, span / 4, span / 16, span / 64] : [] },
    rounds: 1,
    goOn: trial.goOn(0.4),
    value: (knobs) => {
      const index = buildPopularityOf(train, knobs);
      const { popular } = openPopularity({ index, knobs, inCategory: () => true });
      return trial.worth(trial.replay.measure(popular, trial.search, trial.at));
    },
  }).knobs;
}

/** Histories of people hold a taste that many dimensions and a dense inverse pay for; single sessions hardly do. */
const LONG_HISTORY = 15;
const SMALL_CATALOG = 1500;

function tuneTaste(
  trial: Trial,
  histories: Histories,
  people: boolean,
): Pick<Knobs, 'factors' | 'weights' | 'latent'> {
  if (histories.count === 0) return { factors: null, weights: null, latent: 'factors' };
  const long = people && histories.items.length / histories.count >= LONG_HISTORY;
  const measure = (taste: TasteModel): number => {
    const model = openLatent({ taste, nearby: () => {} });
    return trial.worth(trial.replay.measure(model, trial.search, trial.at));
  };
  const factors = searchKnobs<FactorKnobs>({
    start: { dimensions: long ? 64 : 32, epochs: long ? 8 : 5, unobserved: 0.1, regularisation: 0.01 },
    climb: { unobserved: 3, regularisation: 3 },
    rounds: long ? 2 : 1,
    goOn: trial.goOn(long ? 0.7 : 0.5),
    value: (knobs) =>
      measure(scanning(openFactors(trainFactors({ histories, knobs, signal: trial.signal })))),
  });
  const chosen: FactorKnobs = { ...factors.knobs, dimensions: long ? 192 : 64, epochs: long ? 12 : 8 };
  if (histories.itemCount > (people ? MAX_ITEMS : SMALL_CATALOG)) {
    return { factors: chosen, weights: null, latent: 'factors' };
  }
  const weights = searchKnobs<ItemWeightKnobs>({
    start: DEFAULT_WEIGHTS,
    grid: { ridge: [1000, 150] },
    rounds: 1,
    goOn: trial.goOn(0.8),
    value: (knobs) => measure(openItemWeights(trainItemWeights({ histories, knobs, signal: trial.signal }))),
  });
  return {
    factors: chosen,
    weights: weights.knobs,
    latent: weights.value > factors.value * 1.01 ? 'weights' : 'factors',
  };
}

const DEFAULT_WEIGHTS: ItemWeightKnobs = { ridge: 400 };

/** While tuning, a taste model may take its time over the whole catalog. */
const scanning = (taste: TasteModel): TasteModel => ({ ...taste, scansAll: true });

function describeCases(
  trial: Trial,
  blend: { describe: ReturnType<typeof openBlend>['describe'] },
): DescribedCase[] {
  const items = new Int32Array(SHORTLIST_CAPACITY);
  const features = new Float32Array(SHORTLIST_CAPACITY * FEATURE_COUNT);
  return trial.hold.cases.map((held) => {
    trial.signal?.throwIfAborted();
    const count = blend.describe(trial.replay.load(held), items, features);
    return {
      features: features.slice(0, count * FEATURE_COUNT),
      count,
      target: items.subarray(0, count).indexOf(held.next),
    };
  });
}
