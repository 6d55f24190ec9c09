import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { addTo, createBitset, has, membersOf, removeFrom } from './bitset.ts';

test('a bitset behaves as a set of numbers', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(199)), fc.array(fc.nat(199)), (added, removed) => {
      const set = createBitset(200, added);
      const model = new Set(added);
      for (const item of removed) {
        removeFrom(set, item);
        model.delete(item);
      }
      const out = new Int32Array(200);
      const count = membersOf(set, out);
      assert.deepEqual(
        [...out.subarray(0, count)],
        [...model].sort((a, b) => a - b),
      );
      assert.equal(set.count, model.size);
    }),
  );
});

test('nothing beyond its size is in a bitset', () => {
  const set = createBitset(10, [9]);
  addTo(set, 9);
  assert.equal(set.count, 1);
  assert.equal(has(set, 9), true);
  assert.equal(has(set, 4000), false);
});
