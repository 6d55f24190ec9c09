import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { IdMap } from './id-map.ts';

/** Most of them have the same end as others, so that they share a number. */
const ids = ['a', 'bc', 'def', ''].flatMap((start) =>
  ['111111', '222222'].map((end) => `evt_${start}${end}`),
);
const step = fc.record({ id: fc.constantFrom(...ids), action: fc.constantFrom('set', 'delete', 'delete') });

test('whatever is set and deleted, it holds what a Map would, also where ids share a number', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const map = new IdMap<number>();
      const plain = new Map<string, number>();
      steps.forEach(({ id, action }, number) => {
        if (action === 'set') {
          map.set(id, number);
          plain.set(id, number);
        } else assert.equal(map.delete(id), plain.delete(id));
        for (const each of ids) assert.equal(map.get(each), plain.get(each));
      });
    }),
  );
});

test('an id that is shorter than what makes its number is told from others', () => {
  const map = new IdMap<string>();
  for (const id of ['', '1', '11']) map.set(id, id);
  for (const id of ['', '1', '11']) assert.equal(map.get(id), id);
});
