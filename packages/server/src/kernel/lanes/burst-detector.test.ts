import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBurstDetector } from './burst-detector.ts';

test('a key floods while it gets more than 128 jobs a second, and a second longer', () => {
  let now = 0;
  const floods = createBurstDetector(() => now);
  const table: [at: number, jobs: number, floods: boolean][] = [
    [0, 128, false],
    [900, 1, true],
    [1000, 1, true],
    [1999, 1, true],
    [2000, 1, false],
    [3000, 129, true],
    [5000, 1, false],
  ];
  for (const [at, jobs, expected] of table) {
    now = at;
    const flooding = floods.add(Array.from({ length: jobs }, () => 'a'));
    assert.equal(flooding.has('a'), expected, `${jobs} jobs at ${at} ms`);
  }
});

test('each key is counted on its own, and those that are not added now are not named', () => {
  const floods = createBurstDetector(() => 0);
  const many = (key: string) => Array.from({ length: 129 }, () => key);
  assert.deepEqual([...floods.add([...many('a'), 'b'])], ['a']);
  assert.deepEqual([...floods.add(['b'])], []);
});
