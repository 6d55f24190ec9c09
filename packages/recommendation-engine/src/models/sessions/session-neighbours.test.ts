import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openSessionNeighbours } from './session-neighbours.ts';
import { PLAIN, sessionsOf } from './session-scores.fixture.ts';
import type { SessionKnobs } from './session-weights.ts';

function score(text: string, query: string, knobs: Partial<SessionKnobs> = {}): Record<string, number> {
  const { index, scoresOf } = sessionsOf(text);
  return scoresOf(openSessionNeighbours({ index, knobs: { ...PLAIN, ...knobs } }), query);
}

// with itemDecay 1/ln 2 the newest query item weighs 1, the one before it 1/2; a vote is also halved when the newest
// shared item is not the last one
const LOG = 'a b x\nb y\na z';

test('sessions that share the newest item vote with full weight, others with half of their half', () => {
  assert.deepEqual(score(LOG, 'a b'), { a: 1.75, b: 2.5, x: 1.5, y: 1, z: 0.25 });
});

test('only as many neighbours vote as are asked for', () => {
  assert.deepEqual(score(LOG, 'a b', { neighbours: 1 }), { a: 1.5, b: 1.5, x: 1.5 });
});

test('only the newest sessions of an item are looked at', () => {
  assert.deepEqual(score('a x\na y', 'a', { sample: 1 }), { a: 1, y: 1 });
});

test('a vote fades with the distance from the shared item, and backwards by a factor', () => {
  const faded = score('p a q r', 'a', { matchDecay: 1 / Math.LN2, backward: 0.1 });
  assert.deepEqual(faded, { a: 0.1, p: 0.05, q: 0.5, r: 0.25 });
});

test('long sessions and old sessions say less', () => {
  assert.deepEqual(score('a x\na b c d', 'a', { lengthPower: 0.5 }).b, 0.5);
  assert.equal(score('a x\na y', 'a', { recency: 1 / Math.LN2 }).x, 0.5);
});

test('rare items are lifted', () => {
  const lifted = score('a x\na y\nb', 'a', { rareItem: 1 });
  assert.equal(lifted.x, Number((1 + Math.log(3)).toFixed(4)));
  assert.equal(lifted.a, Number((2 * (1 + Math.log(1.5))).toFixed(4)));
});

test('an unknown session has no neighbours', () => {
  assert.deepEqual(score(LOG, 'nobody'), {});
});
