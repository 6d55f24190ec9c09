import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { PassingMap } from './passing-map.ts';

const step = fc.record({ key: fc.nat(40), action: fc.constantFrom('set', 'delete', 'delete') });

test('whatever is set and deleted, it holds what a Map would, in the same order', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
      const passing = new PassingMap<number, number>();
      const plain = new Map<number, number>();
      steps.forEach(({ key, action }, number) => {
        if (action === 'set') {
          passing.set(key, number);
          plain.set(key, number);
        } else assert.equal(passing.delete(key), plain.delete(key));
        assert.equal(passing.get(key), plain.get(key));
      });
      assert.deepEqual([...passing.keys()], [...plain.keys()]);
    }),
  );
});
