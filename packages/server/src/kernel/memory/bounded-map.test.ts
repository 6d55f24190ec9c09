import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BoundedMap } from './bounded-map.ts';

type Step = (map: BoundedMap<string, number>) => unknown;
const set =
  (key: string, value: number): Step =>
  (map) =>
    assert.equal(map.set(key, value), value);
const renew =
  (key: string, value: number): Step =>
  (map) =>
    assert.equal(map.renew(key, value), value);
const remove =
  (key: string): Step =>
  (map) =>
    assert.ok(map.delete(key));
const clear: Step = (map) => map.clear();
const full = [set('a', 1), set('b', 2), set('c', 3)];

const table: [name: string, steps: Step[], dropOldest: number[], clear: number[]][] = [
  ['up to the limit all are kept', full, [1, 2, 3], [1, 2, 3]],
  ['a new entry of a full map', [...full, set('d', 4)], [2, 3, 4], [4]],
  ['several more', [...full, set('d', 4), set('e', 5)], [3, 4, 5], [4, 5]],
  ['a change while there is room', [set('a', 1), set('b', 2), set('a', 9)], [9, 2], [9, 2]],
  ['a change of a full map', [...full, set('a', 9)], [9, 2, 3], [9]],
  ['a changed entry is as old as before', [...full, set('a', 9), set('d', 4)], [2, 3, 4], [9, 4]],
  ['a renewed one is the newest', [...full, renew('a', 9)], [2, 3, 9], [2, 3, 9]],
  ['after which another is the oldest', [...full, renew('a', 9), set('d', 4)], [3, 9, 4], [4]],
  ['a new entry by renewal', [...full, renew('d', 4)], [2, 3, 4], [4]],
  ['a deletion makes room', [...full, remove('b'), set('d', 4)], [1, 3, 4], [1, 3, 4]],
  ['all is cleared', [...full, clear], [], []],
  ['and there is room again', [...full, clear, set('d', 4)], [4], [4]],
];

for (const [name, steps, dropOldest, clear] of table) {
  for (const [whenFull, wanted] of Object.entries({ dropOldest, clear }) as [
    'dropOldest' | 'clear',
    number[],
  ][]) {
    test(`${whenFull}: ${name}`, () => {
      const map = new BoundedMap<string, number>({ max: 3, whenFull });
      for (const step of steps) step(map);
      assert.deepEqual([...map.values()], wanted);
      assert.equal(map.size, wanted.length);
    });
  }
}

test('entries are found by their keys', () => {
  const map = new BoundedMap<string, number>({ max: 2, whenFull: 'dropOldest' });
  map.set('a', 1);
  assert.deepEqual([map.get('a'), map.has('a'), map.get('b'), map.has('b')], [1, true, undefined, false]);
  assert.equal(map.delete('b'), false);
});
