import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFifo } from './fifo.ts';

test('everyone gets a turn, in the order in which they came, however many came and went before', () => {
  const round = createFifo<number>();
  let next = 0;
  let came = 0;
  for (const [coming, going] of [
    [1, 2],
    [3000, 1023],
    [1, 1],
    [0, 1],
    [5, 1983],
    [1, 1],
  ] as const) {
    for (let count = 0; count < coming; count++) round.push(came++);
    for (let count = 0; count < going; count++) assert.equal(round.shift(), next < came ? next++ : undefined);
  }
  assert.equal(next, came);
});
