import assert from 'node:assert/strict';
import { test } from 'node:test';
import { interactionsOf, logOf } from '../log/interaction-log.fixture.ts';
import { sessionise } from '../log/sessions.ts';
import { idAt, indexOfId } from '../structures/vocabulary.ts';
import { affinity, buildBaskets } from './baskets.ts';

function basketsOf(text: string, shrink = 0) {
  const log = logOf(interactionsOf(text));
  const rows = buildBaskets({
    sessions: sessionise(log),
    itemCount: log.items.count,
    knobs: { shrink, keep: 10 },
  });
  const row = (id: string) => {
    const item = indexOfId(log.items, id);
    return Array.from(rows.items.subarray(rows.offsets[item], rows.offsets[item + 1]), (partner, i) => [
      idAt(log.items, partner),
      Number(rows.weights[rows.offsets[item]! + i]!.toFixed(4)),
    ]);
  };
  return { rows, row };
}

test('items of one basket are partners by cosine, what was only looked at is not', () => {
  const { row, rows } = basketsOf(`
    a:purchase b:purchase x
    a:purchase b:purchase
    a:purchase c:purchase
    a:purchase`);
  assert.equal(rows.ofSessions, false);
  // a in 4 baskets, b in 2 (both with a), c in 1
  assert.deepEqual(row('a'), [
    ['b', Number((2 / Math.sqrt(8)).toFixed(4))],
    ['c', 0.5],
  ]);
  assert.deepEqual(row('x'), []);
});

test('shrinkage takes more from a pair that was seen once', () => {
  assert.equal(affinity({ together: 1, one: 1, other: 1, shrink: 2 }), 1 / 3);
  assert.equal(affinity({ together: 8, one: 8, other: 8, shrink: 2 }), 0.8);
});

test('in a log without purchases a session is the basket', () => {
  const { row, rows } = basketsOf('a b\na b c');
  assert.equal(rows.ofSessions, true);
  assert.deepEqual(row('a'), [
    ['b', 1],
    ['c', Number((1 / Math.sqrt(2)).toFixed(4))],
  ]);
});

test('buying an item twice in a basket counts once', () => {
  assert.deepEqual(basketsOf('a:purchase a:purchase b:purchase').row('a'), [['b', 1]]);
});
