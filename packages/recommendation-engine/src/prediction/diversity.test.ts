import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TopK } from '../structures/top-k.ts';
import { diversify } from './diversity.ts';

/** Items 0..2 are of category 0, 3 and 4 of category 1, 5 of none. */
const CATEGORY = [0, 0, 0, 1, 1, -1];
const SCORES = [100, 90, 80, 60, 30, 50];

function pick(diversity: number, size: number): { item: number; score: number }[] {
  const ranked = new TopK(10);
  for (const [item, score] of SCORES.entries()) ranked.offer(item, score);
  ranked.sort();
  diversify({ ranked, size, diversity, categoryOf: (item) => CATEGORY[item]! });
  return Array.from(ranked.items.subarray(0, ranked.size), (item, i) => ({ item, score: ranked.scores[i]! }));
}

test('without diversity the order is that of the scores', () => {
  assert.deepEqual(
    pick(0, 4).map(({ item }) => item),
    [0, 1, 2, 3],
  );
});

test('half of it halves every further item of a category', () => {
  assert.deepEqual(pick(0.5, 6), [
    { item: 0, score: 100 },
    { item: 3, score: 60 },
    { item: 5, score: 50 },
    { item: 1, score: 45 },
    { item: 2, score: 20 },
    { item: 4, score: 15 },
  ]);
});

test('all of it shows one item of each category before a second of any', () => {
  assert.deepEqual(
    pick(1, 3).map(({ item }) => item),
    [0, 3, 5],
  );
});
