import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { selectGreatest, TopK } from './top-k.ts';

const scoresOf = fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 80 });

test('the heap keeps what sorting everything would keep, ties by the lower item', () => {
  fc.assert(
    fc.property(scoresOf, fc.integer({ min: 0, max: 20 }), (scores, k) => {
      const best = new TopK(k);
      for (const [item, score] of scores.entries()) best.offer(item, score);
      best.sort();
      const expected = scores
        .map((score, item) => ({ item, score }))
        .sort((a, b) => b.score - a.score || a.item - b.item)
        .slice(0, k);
      assert.deepEqual(
        Array.from(best.items.subarray(0, best.size), (item, i) => ({ item, score: best.scores[i] })),
        expected,
      );
    }),
  );
});

test('a heap can be used again with another capacity', () => {
  const best = new TopK(1);
  best.offer(1, 1);
  best.reset(3);
  for (const item of [5, 6, 7, 8]) best.offer(item, item);
  best.sort();
  assert.deepEqual([...best.items.subarray(0, best.size)], [8, 7, 6]);
});

test('selection puts the greatest in front and loses nobody', () => {
  fc.assert(
    fc.property(scoresOf, fc.nat(100), (scores, wanted) => {
      const k = Math.min(wanted, scores.length);
      const key = Float32Array.from(scores);
      const members = Int32Array.from(scores.keys());
      selectGreatest(members, members.length, k, key);
      const values = Array.from(members, (m) => key[m]!);
      assert.deepEqual(
        [...members].sort((a, b) => a - b),
        [...scores.keys()],
      );
      const front = values.slice(0, k).sort((a, b) => b - a);
      assert.deepEqual(front, [...scores].sort((a, b) => b - a).slice(0, k));
    }),
  );
});
