/**
 * Fits the weights of `auto`: multinomial logistic regression over each case's candidates (the item that came next against
 * the rest), convex, so the result does not depend on luck. Signals that do not pay for their time are left out.
 */
import {
  type BlendWeights,
  DEFAULT_BLEND_WEIGHTS,
  FEATURE_COUNT,
  FEATURES,
  SHORTLIST_CAPACITY,
} from '../models/blend.ts';
import { type Quality, qualityOf } from './replay.ts';

/** One case: `count` rows of features, `target` the row of what came next (-1: not among the candidates). */
export interface DescribedCase {
  features: Float32Array;
  count: number;
  target: number;
}

/** Pull of the weights towards those that serve well as a rule; the fewer cases, the stronger. */
const ridgeFor = (cases: number): number => 1e-3 + 10 / cases;
const USUAL = Float64Array.from(FEATURES, (name) => DEFAULT_BLEND_WEIGHTS[name] ?? 0);
const TURNS = 120;

/**
 * Maximises the likelihood by Adam over all cases at once.
 *
 * @example fitWeights({ cases, active: FEATURES.map(() => true) })
 */
export function fitWeights(input: {
  cases: readonly DescribedCase[];
  active: readonly boolean[];
  start?: Float64Array;
  turns?: number;
  signal?: AbortSignal | undefined;
}): Float64Array {
  const { active, signal, turns = TURNS } = input;
  const weights = input.start?.map((w, f) => (active[f] ? w : 0)) ?? new Float64Array(FEATURE_COUNT);
  const used = Int32Array.from(FEATURES.keys()).filter((f) => active[f]);
  const cases = input.cases.filter((c) => c.target >= 0).map((described) => columnsOf(described, used));
  if (cases.length === 0) return weights;
  const ridge = ridgeFor(cases.length);
  const slope = new Float64Array(FEATURE_COUNT);
  const mean = new Float64Array(FEATURE_COUNT);
  const square = new Float64Array(FEATURE_COUNT);
  for (let turn = 1; turn <= turns; turn++) {
    signal?.throwIfAborted();
    slope.fill(0);
    for (const one of cases) addSlope({ one, weights, used, slope });
    const rate = 0.2 * (1 - turn / turns) + 0.01;
    for (const f of used) {
      const g = slope[f]! / cases.length + ridge * (weights[f]! - USUAL[f]!);
      mean[f] = 0.9 * mean[f]! + 0.1 * g;
      square[f] = 0.99 * square[f]! + 0.01 * g * g;
      weights[f]! -=
        (rate * (mean[f]! / (1 - 0.9 ** turn))) / (Math.sqrt(square[f]! / (1 - 0.99 ** turn)) + 1e-8);
    }
  }
  return weights;
}

/** What is used of a case, feature by feature: each turn walks them in a line. */
interface Columns {
  values: Float32Array;
  count: number;
  target: number;
}

function columnsOf({ features, count, target }: DescribedCase, used: Int32Array): Columns {
  const values = new Float32Array(used.length * count);
  for (let u = 0; u < used.length; u++)
    for (let i = 0; i < count; i++) values[u * count + i] = features[i * FEATURE_COUNT + used[u]!]!;
  return { values, count, target };
}

const shares = new Float64Array(SHORTLIST_CAPACITY);
const pulled = new Int32Array(SHORTLIST_CAPACITY);

/** Slope of the negative log-likelihood: expected features less those of the target. */
function addSlope(input: {
  one: Columns;
  weights: Float64Array;
  used: Int32Array;
  slope: Float64Array;
}): void {
  const { one, weights, used, slope } = input;
  const { values, count, target } = one;
  shares.fill(0, 0, count);
  for (let u = 0; u < used.length; u++) {
    const weight = weights[used[u]!]!;
    const column = u * count;
    for (let i = 0; i < count; i++) shares[i]! += weight * values[column + i]!;
  }
  let greatest = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < count; i++) if (shares[i]! > greatest) greatest = shares[i]!;
  let total = 0;
  for (let i = 0; i < count; i++) {
    shares[i] = Math.exp(shares[i]! - greatest);
    total += shares[i]!;
  }
  let pulls = 0;
  for (let i = 0; i < count; i++) {
    const pull = shares[i]! / total - (i === target ? 1 : 0);
    // far below everyone else: no visible pull
    if (pull > -1e-5 && pull < 1e-5) continue;
    shares[i] = pull;
    pulled[pulls++] = i;
  }
  for (let u = 0; u < used.length; u++) {
    const column = u * count;
    let sum = slope[used[u]!]!;
    for (let p = 0; p < pulls; p++) sum += shares[pulled[p]!]! * values[column + pulled[p]!]!;
    slope[used[u]!] = sum;
  }
}

/** Hit rate, reciprocal rank and gain of a weight vector on described cases. */
export const measureWeights = (cases: readonly DescribedCase[], weights: Float64Array, at: number): Quality =>
  qualityOf(
    cases.map((described) => rankOf(described, weights)),
    at,
  );

function rankOf({ features, count, target }: DescribedCase, weights: Float64Array): number {
  if (target < 0) return -1;
  const score = (i: number): number => {
    let sum = 0;
    for (let f = 0; f < FEATURE_COUNT; f++) sum += weights[f]! * features[i * FEATURE_COUNT + f]!;
    return sum;
  };
  const own = score(target);
  let rank = 0;
  for (let i = 0; i < count; i++) if (i !== target && score(i) >= own) rank++;
  return rank;
}

/** Features of each signal. */
const featuresOf = (signal: string): number[] =>
  FEATURES.flatMap((name, f) => (name === signal || name === `${signal}Root` ? [f] : []));

/**
 * A signal stays when leaving it out loses more than this of the objective; the dearest to compute come first. Of whole histories
 * less, where one asks for more: sessions come with every page.
 */
const WORTH_KEEPING: readonly (readonly [signal: string, loss: number, ofHistories?: number])[] = [
  ['company', 0.01, 0.002],
  ['factors', 0.01],
  ['weights', 0.005],
  ['earlier', 0.002],
  ['basket', 0.002],
  ['next', 0.002],
  ['category', 0.001],
  ['price', 0.001],
  ['rising', 0.001],
  ['popular', 0.001],
];

/** So many cases more or fewer say nothing: a signal that is kept for them fits their chance, and misses what comes. */
const CHANCE = 4;
/** By fewer cases nobody can tell what a signal is worth; where so little happens, its time is none either. */
const ENOUGH_TO_JUDGE = 50;

/**
 * Chooses signals on one part of the cases and fits the final weights on all of them.
 */
export function fitBlend(input: {
  cases: readonly DescribedCase[];
  objective: (quality: Quality) => number;
  at: number;
  /** Whether the cases are whole histories of people rather than sessions. */
  histories?: boolean;
  signal?: AbortSignal | undefined;
}): BlendWeights {
  const { cases, objective, at, histories = false, signal } = input;
  const chosen = cases.filter((_, i) => i % 3 !== 0);
  const judged = cases.filter((_, i) => i % 3 === 0);
  const varies = FEATURES.map((_, f) => cases.some((c) => variesIn(c, f)));
  let active = varies;
  let weights = fitWeights({ cases: chosen, active, signal });
  let best = objective(measureWeights(judged, weights, at));
  const droppable = judged.length < ENOUGH_TO_JUDGE ? [] : WORTH_KEEPING;
  for (const [name, ofSessions, ofHistories = ofSessions] of droppable) {
    const loss = Math.max(histories ? ofHistories : ofSessions, CHANCE / judged.length);
    const dropped = featuresOf(name);
    if (!dropped.some((f) => active[f])) continue;
    const fewer = active.map((on, f) => on && !dropped.includes(f));
    const refitted = fitWeights({ cases: chosen, active: fewer, start: weights, turns: TURNS / 3, signal });
    const value = objective(measureWeights(judged, refitted, at));
    if (value < best * (1 - loss)) continue;
    active = fewer;
    weights = refitted;
    best = Math.max(best, value);
  }
  const final = fitWeights({ cases, active, start: weights, signal });
  return Object.fromEntries(FEATURES.flatMap((name, f) => (active[f] ? [[name, final[f]!]] : [])));
}

function variesIn({ features, count }: DescribedCase, f: number): boolean {
  for (let i = 1; i < count; i++) {
    if (features[i * FEATURE_COUNT + f] !== features[f]) return true;
  }
  return false;
}
