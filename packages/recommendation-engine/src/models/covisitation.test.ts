import assert from 'node:assert/strict';
import { test } from 'node:test';
import { interactionsOf, logOf } from '../log/interaction-log.fixture.ts';
import { sessionise } from '../log/sessions.ts';
import type { PartnerRows } from '../structures/rows.ts';
import { idAt, indexOfId } from '../structures/vocabulary.ts';
import { buildCovisitation, DEFAULT_COVISITATION_KNOBS } from './covisitation.ts';

function rowsOf(text: string, knobs = {}) {
  const log = logOf(interactionsOf(text));
  const rows = buildCovisitation({
    sessions: sessionise(log),
    itemCount: log.items.count,
    knobs: { ...DEFAULT_COVISITATION_KNOBS, ...knobs },
  });
  return (id: string) => rowOf(rows, indexOfId(log.items, id), (item) => idAt(log.items, item));
}

const rowOf = (rows: PartnerRows, item: number, name: (item: number) => string) =>
  Array.from(rows.items.subarray(rows.offsets[item], rows.offsets[item + 1]), (partner, i) => [
    name(partner),
    Number(rows.weights[rows.offsets[item]! + i]!.toFixed(4)),
  ]);

test('what comes after an item counts by one over the distance, what came before does not', () => {
  const row = rowsOf('a b c\na b');
  assert.deepEqual(row('a'), [
    ['b', 2],
    ['c', 0.5],
  ]);
  assert.deepEqual(row('b'), [['c', 1]]);
  assert.deepEqual(row('c'), []);
});

test('an item is no partner of itself and a purchase weighs eight views', () => {
  const row = rowsOf('a a b:purchase');
  assert.deepEqual(row('a'), [['b', 12]]);
});

test('steps beyond the reach do not count and only the heaviest partners are kept', () => {
  assert.deepEqual(rowsOf('a b c d', { reach: 2 })('a'), [
    ['b', 1],
    ['c', 0.5],
  ]);
  assert.deepEqual(rowsOf('a b c d', { keep: 1 })('a'), [['b', 1]]);
});

test('a step that is one half-life old counts half', () => {
  // sessions start an hour apart; b is the second step of both
  const row = rowsOf('a b\na c', { halfLife: 3_600_000 });
  assert.deepEqual(row('a'), [
    ['c', 1],
    ['b', 0.5],
  ]);
});
