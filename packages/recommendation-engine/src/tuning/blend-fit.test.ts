import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_BLEND_WEIGHTS, FEATURE_COUNT, FEATURES } from '../models/blend.ts';
import { createRandom } from '../structures/random.ts';
import { type DescribedCase, fitBlend, fitWeights, measureWeights } from './blend-fit.ts';
import { searchKnobs } from './knob-search.ts';

const SESSION = FEATURES.indexOf('session');
const NEXT = FEATURES.indexOf('next');
const POPULAR = FEATURES.indexOf('popular');

/** Ten candidates a case; what comes next is drawn with odds e^(4 session - 2 popular). */
function drawn(count: number): DescribedCase[] {
  const random = createRandom(5);
  return Array.from({ length: count }, () => {
    const features = new Float32Array(10 * FEATURE_COUNT);
    const odds: number[] = [];
    for (let i = 0; i < 10; i++) {
      for (const f of [SESSION, NEXT, POPULAR]) features[i * FEATURE_COUNT + f] = random.next();
      odds.push(
        Math.exp(4 * features[i * FEATURE_COUNT + SESSION]! - 2 * features[i * FEATURE_COUNT + POPULAR]!),
      );
    }
    let left = random.next() * odds.reduce((sum, value) => sum + value);
    const target = odds.findIndex((value) => {
      left -= value;
      return left <= 0;
    });
    return { features, count: 10, target };
  });
}

const cases = drawn(4000);
const objective = (quality: { hitRate: number; reciprocalRank: number }): number => quality.reciprocalRank;

test('the weights that made the choices are found again', () => {
  const weights = fitWeights({ cases, active: FEATURES.map((_, f) => [SESSION, NEXT, POPULAR].includes(f)) });
  assert.ok(Math.abs(weights[SESSION]! - 4) < 0.4, String(weights[SESSION]));
  assert.ok(Math.abs(weights[POPULAR]! + 2) < 0.4, String(weights[POPULAR]));
  assert.ok(Math.abs(weights[NEXT]!) < 0.4, String(weights[NEXT]));
});

test('a signal that says nothing is left out', () => {
  const blend = fitBlend({ cases, objective, at: 5 });
  assert.ok('session' in blend && 'popular' in blend);
  assert.ok(!('next' in blend));
  assert.ok(!('category' in blend), 'a feature that never varies has no weight');
});

test('few cases leave the weights close to the usual ones, and leave no signal out', () => {
  const [session, sessionRoot] = [drawn(9), FEATURES.indexOf('sessionRoot')];
  for (const { features } of session)
    for (let i = 0; i < 10; i++)
      features[i * FEATURE_COUNT + sessionRoot] = features[i * FEATURE_COUNT + SESSION]!;
  const blend = fitBlend({ cases: session, objective, at: 5 });
  assert.ok(
    Math.abs(blend.sessionRoot! - DEFAULT_BLEND_WEIGHTS.sessionRoot!) < 0.5,
    String(blend.sessionRoot),
  );
  assert.ok('next' in blend && 'popular' in blend);
});

test('a case whose next item is not among the candidates is a miss', () => {
  const missing: DescribedCase = { ...cases[0]!, target: -1 };
  const weights = new Float64Array(FEATURE_COUNT);
  assert.deepEqual(measureWeights([missing], weights, 10), { hitRate: 0, reciprocalRank: 0, gain: 0 });
});

test('knobs are turned one by one until nothing helps or the time is up', () => {
  const start = { x: 0, y: 0 };
  const grid = { x: [1, 2, 3], y: [-1, 1] };
  const value = ({ x, y }: typeof start): number => -((x - 2) ** 2) - (y + 1) ** 2;
  assert.deepEqual(searchKnobs({ start, grid, value, goOn: () => true }), {
    knobs: { x: 2, y: -1 },
    value: -0,
  });
  assert.deepEqual(searchKnobs({ start, grid, value, goOn: () => false }).knobs, start);
});

test('a knob on a logarithmic scale is climbed in steps that get finer', () => {
  const tried: number[] = [];
  const { knobs } = searchKnobs({
    start: { x: 1 },
    climb: { x: 4 },
    rounds: 2,
    goOn: () => true,
    value: ({ x }) => {
      tried.push(x);
      return -Math.abs(Math.log(x / 32));
    },
  });
  assert.deepEqual(tried, [1, 4, 16, 64, 32, 64]);
  assert.equal(knobs.x, 32);
});
