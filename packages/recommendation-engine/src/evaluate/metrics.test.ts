import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTally, percentile } from './metrics.ts';

test('a hit at rank r counts 1, 1 / r and 1 / log2(r + 1), a miss nothing', () => {
  const tally = createTally(10, 4);
  tally.add(0, 10, [{ item: 1 }]);
  tally.add(3, 20, [{ item: 1 }, { item: 2 }]);
  tally.add(-1, 30, []);
  tally.add(-1, 40, []);
  assert.deepEqual(tally.scores(), {
    predictions: 4,
    hitRate: 0.5,
    mrr: (1 + 1 / 4) / 4,
    ndcg: (1 + 1 / Math.log2(5)) / 4,
    coverage: 0.2,
    p50: 20,
    p90: 40,
    p99: 40,
  });
});

test('a percentile is a value that occurred', () => {
  const values = Float64Array.from({ length: 100 }, (_, i) => i + 1);
  assert.deepEqual(
    [0.5, 0.9, 0.99, 1].map((share) => percentile(values, share)),
    [50, 90, 99, 100],
  );
  assert.equal(percentile(new Float64Array(0), 0.9), 0);
});
