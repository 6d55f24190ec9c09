import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../kernel/errors.ts';
import { createManualClock } from '../kernel/time/clock.ts';
import { until } from '../testing/wait.ts';
import { createGroupCommit, type GroupCommitOptions } from './group-commit.ts';

/** A database that commits when it is told to. */
function createStore(options: Partial<GroupCommitOptions<number, string>> = {}) {
  const flushes: { items: number[]; done: () => void; fail: (error: Error) => void }[] = [];
  const clock = createManualClock();
  const commits = createGroupCommit<number, string>({
    clock,
    weigh: () => 1,
    isolate: () => true,
    commit: (items) =>
      new Promise((resolve, reject) => {
        flushes.push({ items, done: () => resolve(items.map((item) => `stored ${item}`)), fail: reject });
      }),
    ...options,
  });
  return { flushes, commits, clock };
}

const isUnavailable = (error: unknown) => error instanceof ApiError && error.code === 'unavailable';

test('what is submitted in one turn shares a flush, and each gets its own result', async () => {
  const { flushes, commits } = createStore();
  const results = Promise.all([1, 2, 3].map((item) => commits.submit(item)));
  await until(() => flushes.length === 1);
  assert.deepEqual(flushes[0]!.items, [1, 2, 3]);
  flushes[0]!.done();
  assert.deepEqual(await results, ['stored 1', 'stored 2', 'stored 3']);
});

test('while a flush is under way the next one gathers, until there is enough for another', async () => {
  const { flushes, commits } = createStore({ overlapWeight: 3, flushes: 2 });
  const results = [commits.submit(1)];
  await until(() => flushes.length === 1);
  results.push(commits.submit(2), commits.submit(3));
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  assert.equal(flushes.length, 1, 'two are not enough');
  results.push(commits.submit(4));
  await until(() => flushes.length === 2);
  assert.deepEqual(flushes[1]!.items, [2, 3, 4]);
  for (const item of [5, 6, 7, 8]) results.push(commits.submit(item));
  await new Promise(setImmediate);
  assert.equal(flushes.length, 2, 'no more than two at a time');
  for (const { done } of flushes) done();
  await until(() => flushes.length === 3);
  assert.deepEqual(flushes[2]!.items, [5, 6, 7, 8]);
  flushes[2]!.done();
  assert.equal((await Promise.all(results)).length, 8);
});

test('as soon as enough waits for a flush, it does not wait for the end of the turn', async () => {
  const { flushes, commits } = createStore({ overlapWeight: 2, flushes: 2 });
  const results = Promise.all([1, 2, 3, 4, 5].map((item) => commits.submit(item)));
  assert.deepEqual(
    flushes.map(({ items }) => items),
    [
      [1, 2],
      [3, 4],
    ],
  );
  for (const { done } of flushes) done();
  await until(() => flushes.length === 3);
  flushes[2]!.done();
  assert.equal((await results).length, 5);
});

test('a flush has its limit, and one item may exceed it', async () => {
  const { flushes, commits } = createStore({ flushWeight: 10, flushes: 1, weigh: (item) => item });
  const results = Promise.all([25, 4, 5, 6].map((item) => commits.submit(item)));
  for (const [index, items] of [[25], [4, 5], [6]].entries()) {
    await until(() => flushes.length === index + 1);
    assert.deepEqual(flushes[index]!.items, items);
    flushes[index]!.done();
  }
  await results;
});

test('beyond its bound the queue refuses, and takes again when there is room', async () => {
  const { flushes, commits } = createStore({ mostWaiting: 2, flushes: 1 });
  const first = commits.submit(0);
  await until(() => flushes.length === 1);
  const waiting = [commits.submit(1), commits.submit(2)];
  await assert.rejects(commits.submit(3), isUnavailable);
  flushes[0]!.done();
  await first;
  await until(() => flushes.length === 2);
  const next = commits.submit(4);
  flushes[1]!.done();
  await Promise.all(waiting);
  await until(() => flushes.length === 3);
  flushes[2]!.done();
  assert.equal(await next, 'stored 4');
});

test('what waited longer than anyone waits for it is refused instead of stored', async () => {
  const { flushes, commits, clock } = createStore({ patienceMs: 1000, flushes: 1 });
  const first = commits.submit(1);
  await until(() => flushes.length === 1);
  const late = assert.rejects(commits.submit(2), isUnavailable);
  clock.advance(600);
  const fresh = commits.submit(3);
  clock.advance(600);
  flushes[0]!.done();
  await Promise.all([first, late]);
  await until(() => flushes.length === 2);
  assert.deepEqual(flushes[1]!.items, [3]);
  flushes[1]!.done();
  await fresh;
});

test('one item that makes its transaction fail takes no other down', async () => {
  const commits = createGroupCommit<number, string>({
    clock: createManualClock(),
    weigh: () => 1,
    isolate: () => true,
    async commit(items) {
      if (items.includes(13)) throw new Error('poison');
      return items.map((item) => `stored ${item}`);
    },
  });
  const results = await Promise.allSettled([12, 13, 14].map((item) => commits.submit(item)));
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
});

test('a database that fails as such is not asked again for each item', async () => {
  let asked = 0;
  const commits = createGroupCommit<number, string>({
    clock: createManualClock(),
    weigh: () => 1,
    isolate: () => false,
    async commit() {
      asked += 1;
      throw new Error('gone');
    },
  });
  const results = await Promise.allSettled([1, 2, 3].map((item) => commits.submit(item)));
  assert.ok(results.every(({ status }) => status === 'rejected'));
  assert.equal(asked, 1);
});

test('closing commits what waits and takes nothing more', async () => {
  const { flushes, commits } = createStore();
  const result = commits.submit(1);
  let closed = false;
  const closing = commits.close().then(() => {
    closed = true;
  });
  await until(() => flushes.length === 1);
  assert.equal(closed, false);
  await assert.rejects(commits.submit(2), isUnavailable);
  flushes[0]!.done();
  assert.equal(await result, 'stored 1');
  await closing;
});

test('closing ends too when all that still waits is refused for its age', async () => {
  const { flushes, commits, clock } = createStore({ patienceMs: 1000, flushes: 1 });
  const first = commits.submit(1);
  await until(() => flushes.length === 1);
  const late = assert.rejects(commits.submit(2), isUnavailable);
  const closing = commits.close();
  clock.advance(1001);
  flushes[0]!.done();
  await Promise.all([first, late, closing]);
});
