import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createRowIdentity } from './row-identity.ts';

const keysOf = (rows: readonly unknown[][]) => rows.map(createRowIdentity());

test('every row of a file has a key of its own, equal rows too, and the same one in a file that goes on', () => {
  const row = fc.tuple(fc.constantFrom('anna', 'ben'), fc.constantFrom('a', null), fc.integer({ max: 3 }));
  fc.assert(
    fc.property(fc.array(row), fc.array(row), (rows, more) => {
      const keys = keysOf(rows);
      assert.equal(new Set(keys).size, rows.length);
      assert.deepEqual(keysOf([...rows, ...more]).slice(0, rows.length), keys);
    }),
  );
});

test('the order of a file decides nothing: the keys of its rows are the same', () => {
  const rows = Array.from({ length: 5000 }, (_, number) => ['visitor', number % 2000]);
  const shuffled = rows.toSorted(([, a], [, b]) => Number(a) - Number(b));
  assert.deepEqual(keysOf(shuffled).toSorted(), keysOf(rows).toSorted());
  assert.equal(new Set(keysOf(rows)).size, 5000);
});
