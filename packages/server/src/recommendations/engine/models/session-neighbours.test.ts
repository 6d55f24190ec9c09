import assert from 'node:assert/strict';
import { test } from 'node:test';
import { interactionsOf, logOf } from '../log/interaction-log.fixture.ts';
import { sessionise } from '../log/sessions.ts';
import { ScoreBoard } from '../structures/score-board.ts';
import { idAt, indexOfId } from '../structures/vocabulary.ts';
import { createContext, loadContext } from './context.ts';
import { buildSessionIndex } from './session-index.ts';
import { openSessionNeighbours, type SessionKnobs } from './session-neighbours.ts';

/** Everything that would need a calculator switched off. */
const PLAIN: SessionKnobs = {
  length: 10,
  sample: 100,
  neighbours: 100,
  itemDecay: 1 / Math.LN2,
  rareMatch: 0,
  lengthPower: 0,
  recency: 0,
  matchDecay: 0,
  backward: 1,
  rareItem: 0,
};

function score(text: string, query: string, knobs: Partial<SessionKnobs> = {}): Record<string, number> {
  const log = logOf(interactionsOf(text));
  const index = buildSessionIndex(sessionise(log), log.items.count);
  const board = new ScoreBoard(log.items.count);
  const context = createContext();
  const session = query.split(' ').map((id) => indexOfId(log.items, id));
  loadContext({ context, session, history: [] });
  openSessionNeighbours({ index, knobs: { ...PLAIN, ...knobs } }).score(context, board);
  return Object.fromEntries(
    Array.from(board.touched.subarray(0, board.count), (item) => [
      idAt(log.items, item),
      Number(board.values[item]!.toFixed(4)),
    ]).sort(),
  );
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
