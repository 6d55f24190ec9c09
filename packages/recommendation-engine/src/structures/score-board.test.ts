import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ScoreBoard } from './score-board.ts';

const ITEMS = 8;
const additions = fc.array(fc.tuple(fc.nat(ITEMS - 1), fc.constantFrom(0, 1e-60, 0.5, 3)), { maxLength: 60 });

test('a board lists each item that has a score once, whatever nothings were added, and is empty when cleared', () => {
  fc.assert(
    fc.property(additions, (drawn) => {
      const board = new ScoreBoard(ITEMS);
      for (const [item, amount] of drawn) board.add(item, amount);
      const scored = new Set(drawn.filter(([, amount]) => amount >= 0.5).map(([item]) => item));
      assert.deepEqual([...board.touched.subarray(0, board.count)].sort(), [...scored].sort());
      board.clear();
      assert.deepEqual([...board.values], new Array(ITEMS).fill(0));
    }),
  );
});
