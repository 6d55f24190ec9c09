import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTextMemory } from './text-memory.ts';

const kept = (memory: { get(key: string): unknown }, keys: string[]) =>
  keys.filter((key) => memory.get(key) !== undefined);

test('what is remembered is found until there are too many', () => {
  const memory = createTextMemory<number>({ most: 2, mostCharacters: 1000 });
  memory.set('a', 1, 10);
  memory.set('b', 2, 10);
  assert.deepEqual([memory.get('a'), memory.get('b'), memory.get('c')], [1, 2, undefined]);
  memory.set('c', 3, 10);
  assert.deepEqual(kept(memory, ['a', 'b', 'c']), ['c']);
});

test('few that are long go as well, and keys count', () => {
  const memory = createTextMemory<number>({ most: 1000, mostCharacters: 1000 });
  const long = 'k'.repeat(500);
  memory.set('a', 1, 400);
  memory.set(long, 2, 0);
  assert.deepEqual(kept(memory, ['a', long]), ['a', long]);
  memory.set('b', 3, 100);
  assert.deepEqual(kept(memory, ['a', long, 'b']), ['b']);
});

test('what takes the place of another counts once', () => {
  const memory = createTextMemory<number>({ most: 1000, mostCharacters: 1000 });
  memory.set('a', 1, 100);
  for (let time = 0; time < 50; time++) memory.set('b', time, 500);
  assert.deepEqual(kept(memory, ['a', 'b']), ['a', 'b']);
});
