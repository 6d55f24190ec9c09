/** One key that hangs, floods or is held never delays another; and what had to wait is not forgotten. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../testing/wait.ts';
import { createManualClock, HOUR, MINUTE } from '../time/clock.ts';
import { type Job, keyInLane, laneOf } from './index.ts';
import {
  createGate,
  createRailwayDatabase,
  done,
  neighbourOf,
  newQueue,
  numbers,
  openStation,
} from './lanes.fixture.ts';

const { url, db } = await createRailwayDatabase();

const jobsOf = (key: string, count: number) => numbers(count).map((n) => ({ key, payload: n }));
/** A flood stands on its siding from the beginning; one that was not due yet when it came has to be moved there. */
const FLOODS = { 'that is due': 0, 'that falls due': 20 };

async function countOf(queue: string, where = db.sql`true`): Promise<number> {
  const [row] = await db.sql<{ count: number }[]>`
    select count(*)::int as count from jobs where queue = ${queue} and ${where}`;
  return row!.count;
}

/** Counts the runs of each job, and how many of a key ran at the same time. */
function createTally() {
  const runs = new Map<string, number>();
  const running = new Map<string, number>();
  const most = new Map<string, number>();
  return {
    runs,
    most,
    async during(job: Job, work: () => Promise<void>) {
      const name = `${job.key} ${job.payload}`;
      runs.set(name, (runs.get(name) ?? 0) + 1);
      running.set(job.key, (running.get(job.key) ?? 0) + 1);
      most.set(job.key, Math.max(most.get(job.key) ?? 0, running.get(job.key)!));
      await work();
      running.set(job.key, running.get(job.key)! - 1);
      return done;
    },
    runsOf: (key: string) => [...runs].filter(([name]) => name.startsWith(`${key} `)).length,
    allOnce: () => [...runs.values()].every((count) => count === 1),
  };
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

test('a key runs as many jobs at a time as it may, and no more', async () => {
  for (const keyConcurrency of [1, 3]) {
    const queue = newQueue();
    const station = openStation(url);
    const tally = createTally();
    await station.enqueue(queue, [...jobsOf('a', 50), ...jobsOf('b', 50)]);
    await station.work({ queue, keyConcurrency, run: (job) => tally.during(job, nextTurn) });
    await until(async () => (await countOf(queue)) === 0);
    assert.deepEqual([...tally.most.values()], [keyConcurrency, keyConcurrency]);
    assert.ok(tally.allOnce());
  }
});

test('no more jobs run at a time than the worker may', async () => {
  const queue = newQueue();
  const station = openStation(url);
  let running = 0;
  let most = 0;
  await station.enqueue(
    queue,
    numbers(200).map((n) => ({ key: `k${n}`, payload: n })),
  );
  await station.work({
    queue,
    concurrency: 7,
    async run() {
      most = Math.max(most, ++running);
      await nextTurn();
      running -= 1;
      return done;
    },
  });
  await until(async () => (await countOf(queue)) === 0);
  assert.equal(most, 7);
});

for (const [which, inMs] of Object.entries(FLOODS))
  test(`a flood ${which} of a key that hangs delays no other`, async () => {
    const queue = newQueue();
    const station = openStation(url);
    const gate = createGate();
    const tally = createTally();
    const others = [neighbourOf('hanging'), ...numbers(20).map((n) => `k${n}`)];
    const dueAt = Date.now() + inMs;
    await station.enqueue(
      queue,
      jobsOf('hanging', 1000).map((job) => ({ ...job, dueAt })),
    );
    await station.work({
      queue,
      run: (job) => tally.during(job, job.key === 'hanging' ? () => gate.opened : nextTurn),
    });
    await until(() => tally.runsOf('hanging') === 1);
    for (const key of others) await station.enqueue(queue, jobsOf(key, 20));
    await until(() => others.every((key) => tally.runsOf(key) === 20));
    assert.equal(tally.runsOf('hanging'), 1);
    gate.open();
    await until(async () => (await countOf(queue)) === 0);
    assert.equal(tally.runsOf('hanging'), 1000);
    assert.ok(tally.allOnce());
  });

for (const [which, inMs] of Object.entries(FLOODS))
  test(`a flood ${which} of 20,000 jobs on a held key stands aside in its lane, and runs when the hold ends`, async () => {
    const queue = newQueue();
    const clock = createManualClock(Date.now());
    const station = openStation(url, { clock });
    const tally = createTally();
    const neighbour = neighbourOf('flood');
    const worker = await station.work({
      queue,
      concurrency: 256,
      keyConcurrency: 256,
      run: (job) => tally.during(job, nextTurn),
    });
    worker.hold('flood', clock.now() + HOUR);
    for (let n = 0; n < 4; n++) {
      await station.enqueue(
        queue,
        numbers(5000).map((m) => ({ key: 'flood', payload: n * 5000 + m, dueAt: clock.now() + inMs })),
      );
    }
    clock.advance(inMs);
    worker.wake();
    await station.enqueue(queue, jobsOf(neighbour, 10));
    await until(() => tally.runsOf(neighbour) === 10);
    await until(async () => (await countOf(queue, db.sql`siding = ''`)) < 1000);
    assert.equal(tally.runsOf('flood'), 0);
    clock.advance(HOUR);
    worker.wake();
    await until(async () => (await countOf(queue)) === 0);
    assert.equal(tally.runsOf('flood'), 20_000);
    assert.ok(tally.allOnce());
  });

test('many held keys with a few jobs each stand aside too', async () => {
  const queue = newQueue();
  const clock = createManualClock(Date.now());
  const station = openStation(url, { clock });
  const tally = createTally();
  const keys = numbers(150).map((n) => neighbourOf('held', n));
  const neighbour = neighbourOf('held', 150);
  const worker = await station.work({ queue, run: (job) => tally.during(job, nextTurn) });
  for (const key of keys) worker.hold(key, clock.now() + MINUTE);
  await station.enqueue(
    queue,
    keys.flatMap((key) => jobsOf(key, 20)),
  );
  await station.enqueue(queue, jobsOf(neighbour, 1));
  await until(() => tally.runsOf(neighbour) === 1);
  await until(async () => (await countOf(queue, db.sql`siding <> ''`)) > 1000);
  clock.advance(MINUTE);
  worker.wake();
  await until(async () => (await countOf(queue)) === 0);
  assert.equal(tally.runs.size, 150 * 20 + 1);
  assert.ok(tally.allOnce());
});

for (const [which, inMs] of Object.entries(FLOODS))
  test(`a slow key with a flood ${which} keeps getting what comes later, and loses nothing`, async () => {
    const queue = newQueue();
    const station = openStation(url);
    const tally = createTally();
    const neighbour = neighbourOf('slow');
    await station.work({ queue, run: (job) => tally.during(job, nextTurn) });
    for (let n = 0; n < 30; n++) {
      await station.enqueue(queue, [
        ...numbers(100).map((m) => ({ key: 'slow', payload: n * 100 + m, dueAt: Date.now() + inMs })),
        { key: neighbour, payload: n },
      ]);
    }
    await until(async () => (await countOf(queue)) === 0);
    assert.equal(tally.runsOf('slow'), 3000);
    assert.equal(tally.runsOf(neighbour), 30);
    assert.ok(tally.allOnce());
  });

test('a limit per key that names a time is asked again at that time', async () => {
  const queue = newQueue();
  const clock = createManualClock(Date.now());
  const station = openStation(url, { clock });
  const ranAt: number[] = [];
  const start = clock.now();
  let next = start;
  const worker = await station.work({
    queue,
    keyConcurrency: 10,
    admit() {
      if (clock.now() < next) return { admitted: false, until: next };
      next = clock.now() + 100;
      return { admitted: true };
    },
    async run() {
      ranAt.push(clock.now() - start);
      return done;
    },
  });
  await station.enqueue(queue, jobsOf('a', 5));
  for (let n = 1; n <= 5; n++) {
    await until(() => ranAt.length === n);
    clock.advance(100);
    worker.wake();
  }
  await until(async () => (await countOf(queue)) === 0);
  assert.deepEqual(ranAt, [0, 100, 200, 300, 400]);
});

test('an admission that fails stops neither the worker nor whoever enqueues', async () => {
  const queue = newQueue();
  const clock = createManualClock(Date.now());
  const station = openStation(url, { clock });
  let failing = true;
  let ran = 0;
  const worker = await station.work({
    queue,
    admit(key) {
      if (key === 'a' && failing) throw new Error('no answer');
      return { admitted: true };
    },
    async run() {
      ran += 1;
      return done;
    },
  });
  await station.enqueue(queue, jobsOf('a', 1));
  await station.enqueue(queue, jobsOf('b', 1));
  await until(() => ran === 1);
  failing = false;
  clock.advance(1000);
  worker.wake();
  await until(async () => (await countOf(queue)) === 0);
  assert.equal(ran, 2);
});

test('a hold is in force at once, and survives a stop and a crash', async () => {
  for (const [end, key] of [
    ['close', 'a'],
    ['crash', keyInLane(17, 'a')],
  ] as const) {
    const queue = newQueue();
    const clock = createManualClock(Date.now());
    const first = openStation(url, { clock });
    const worker = await first.work({ queue, run: async () => done });
    worker.hold(key, clock.now() + HOUR);
    await until(async () => {
      const rows = await db.sql`select 1 from lane_holds where queue = ${queue} and lane = ${laneOf(key)}`;
      return rows.length === 1;
    });
    await first[end]();
    const second = openStation(url, { clock });
    if (end === 'crash') await second.lanes.takeOver();
    const ran: string[] = [];
    const next = await second.work({
      queue,
      async run(job) {
        ran.push(job.key);
        return done;
      },
    });
    await second.enqueue(queue, [...jobsOf(key, 1), ...jobsOf(neighbourOf(key), 1)]);
    await until(() => ran.length === 1);
    assert.deepEqual(ran, [neighbourOf(key)]);
    clock.advance(HOUR);
    next.wake();
    await until(async () => (await countOf(queue)) === 0);
    assert.deepEqual(ran, [neighbourOf(key), key]);
  }
});

test('a hold that is lifted is lifted for good', async () => {
  const queue = newQueue();
  const clock = createManualClock(Date.now());
  const station = openStation(url, { clock });
  const worker = await station.work({ queue, run: async () => done });
  worker.hold('a', clock.now() + HOUR);
  worker.hold('a', clock.now());
  await station.enqueue(queue, jobsOf('a', 1));
  await until(async () => (await countOf(queue)) === 0);
  await until(async () => (await db.sql`select 1 from lane_holds where queue = ${queue}`).length === 0);
});
