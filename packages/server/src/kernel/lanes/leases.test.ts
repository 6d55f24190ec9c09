/** Lanes are shared fairly, handed over at once, and a worker that lost one changes nothing in it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { untilWaiting, whileLocked } from '../../testing/locks.ts';
import { until } from '../../testing/wait.ts';
import type { Worker } from './index.ts';
import { ALL_LANES, LANES, laneOf } from './lane-of.ts';
import {
  BY_ANNOUNCEMENT,
  countJobs,
  createGate,
  createRailwayDatabase,
  done,
  newQueue,
  numbers,
  openStation,
} from './lanes.fixture.ts';
import { ensureLanes, fence } from './store/leases.ts';

const { url, db } = await createRailwayDatabase();
await db.sql`create table effects (queue text not null, payload int not null, worker text not null)`;

const lanesOf = (worker: Worker) => ALL_LANES.filter((lane) => worker.owns(lane));

test('workers share the lanes fairly as they come and go, without waiting for a beat', async () => {
  const queue = newQueue();
  const workers: Worker[] = [];
  const shares = () => workers.map((worker) => lanesOf(worker).length).sort((a, b) => b - a);
  const work = { queue, run: async () => done };
  for (const expected of [[64], [32, 32], [22, 22, 20]]) {
    workers.push(await openStation(url).work(work));
    await until(() => shares().join() === expected.join(), { what: `shares ${expected}` });
  }
  assert.deepEqual(
    workers.flatMap(lanesOf).sort((a, b) => a - b),
    ALL_LANES.toSorted((a, b) => a - b),
  );
  for (const expected of [[32, 32], [64]]) {
    await workers.shift()!.stop(0);
    await until(() => shares().join() === expected.join(), { what: `shares ${expected}` });
  }
});

test('a worker that is never idle gives lanes away too, and no job is run twice for it', async () => {
  const queue = newQueue();
  const runs = new Map<number, number>();
  const options = {
    queue,
    concurrency: 500,
    async run({ payload }: { payload: unknown }) {
      runs.set(payload as number, (runs.get(payload as number) ?? 0) + 1);
      await new Promise((resolve) => setTimeout(resolve, 5));
      return done;
    },
  };
  const station = openStation(url);
  const first = await station.work(options);
  let enqueued = 0;
  let busy = true;
  const load = (async () => {
    while (busy) {
      await station.enqueue(
        queue,
        numbers(500).map(() => ({ key: `k${enqueued % 200}`, payload: enqueued++ })),
      );
    }
  })();
  await until(() => runs.size > 1000);
  const second = await openStation(url, { timings: { ...BY_ANNOUNCEMENT, beatMs: 200 } }).work(options);
  await until(() => lanesOf(first).length === 32 && lanesOf(second).length === 32);
  busy = false;
  await load;
  await until(async () => (await countJobs(db, queue)) === 0);
  assert.equal(runs.size, enqueued);
  assert.ok([...runs.values()].every((count) => count === 1));
});

test('a lane with a job that hangs stays, and the others are given away', async () => {
  const queue = newQueue();
  const gate = createGate();
  const station = openStation(url);
  let started = false;
  const first = await station.work({
    queue,
    async run() {
      started = true;
      await gate.opened;
      return done;
    },
  });
  await station.enqueue(queue, [{ key: 'a', payload: 1 }]);
  await until(() => started);
  const second = await openStation(url).work({ queue, run: async () => done });
  await until(() => lanesOf(second).length === 32);
  assert.ok(first.owns(laneOf('a')));
  gate.open();
  await until(async () => (await countJobs(db, queue)) === 0);
});

test('a stop gives all lanes back, whatever the moment it comes at', async () => {
  const queue = newQueue();
  const stations = numbers(3).map(() => openStation(url));
  for (let round = 0; round < 15; round++) {
    const workers = await Promise.all(
      stations.map((station) => station.work({ queue, run: async () => done })),
    );
    for (const [index, worker] of workers.entries()) {
      for (let turns = 0; turns < round * index; turns++) await new Promise(setImmediate);
      await worker.stop(0);
    }
    const owned = await db.sql`select lane, owner from lanes where queue = ${queue} and owner is not null`;
    assert.deepEqual([...owned], [], `round ${round}`);
  }
});

test('a stop lets what runs end within its deadline', async () => {
  const queue = newQueue();
  const gate = createGate();
  const station = openStation(url);
  let aborted = false;
  let started = false;
  const worker = await station.work({
    queue,
    async run(_job, { signal }) {
      started = true;
      await gate.opened;
      aborted = signal.aborted;
      return done;
    },
  });
  await station.enqueue(queue, [
    { key: 'a', payload: 1 },
    { key: 'a', payload: 2 },
  ]);
  await until(() => started);
  const stopped = worker.stop(60_000);
  gate.open();
  await stopped;
  assert.equal(aborted, false);
  assert.equal(await countJobs(db, queue), 1, 'the first job is done, the second was not started');
});

test('what does not end before the deadline of a stop is called off and run again as if nothing had happened', async () => {
  const queue = newQueue();
  const station = openStation(url);
  let started = false;
  const worker = await station.work({
    queue,
    async run(_job, { signal }) {
      started = true;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return { outcome: { kind: 'dead', reason: 'must not count' } };
    },
  });
  await station.enqueue(queue, [{ key: 'a', payload: 1 }]);
  await until(() => started);
  await worker.stop(1);
  const attempts: number[] = [];
  await openStation(url).work({
    queue,
    async run({ attempt }) {
      attempts.push(attempt);
      return done;
    },
  });
  await until(async () => (await countJobs(db, queue)) === 0);
  assert.deepEqual(attempts, [0]);
  assert.equal((await db.sql`select 1 from dead_jobs where queue = ${queue}`).length, 0);
});

test('a worker whose lane was taken changes nothing in it', async () => {
  const queue = newQueue();
  const gate = createGate();
  // Told of the other one, it would lose its lanes before it tries to write, or get some of them back.
  const first = openStation(url, { deaf: true });
  const settle =
    (worker: string) => async (tx: { sql: typeof db.sql }, settled: { job: { payload: unknown } }[]) => {
      for (const { job } of settled) {
        await tx.sql`insert into effects values (${queue}, ${job.payload as number}, ${worker})`;
      }
    };
  let started = 0;
  const late = await first.work({
    queue,
    async run({ payload }) {
      started += 1;
      await gate.opened;
      late.hold(`k${payload}`, Date.now() + 60_000);
      return payload === 0 ? done : { outcome: { kind: 'retry', dueAt: Date.now() } };
    },
    settle: settle('first') as never,
  });
  await first.enqueue(
    queue,
    numbers(20).map((n) => ({ key: `k${n}`, payload: n })),
  );
  await until(() => started === 20);
  const second = openStation(url);
  await second.lanes.takeOver();
  const ran: number[] = [];
  const attempts: number[] = [];
  const next = await second.work({
    queue,
    async run({ payload, attempt }) {
      ran.push(payload as number);
      attempts.push(attempt);
      return done;
    },
    settle: settle('second') as never,
  });
  await until(() => lanesOf(next).length > 0 && ran.length === 20);
  gate.open();
  await until(() => !numbers(20).some((n) => late.owns(laneOf(`k${n}`))), { what: 'a loss that is noticed' });
  await first.close();
  await until(async () => (await countJobs(db, queue)) === 0);
  assert.deepEqual(
    ran.sort((a, b) => a - b),
    numbers(20),
  );
  assert.ok(attempts.every((attempt) => attempt === 0));
  const effects = await db.sql`select distinct worker from effects where queue = ${queue}`;
  assert.deepEqual([...effects], [{ worker: 'second' }]);
  assert.equal((await db.sql`select 1 from lane_holds where queue = ${queue}`).length, 0);
});

test('a lease that is not renewed runs out, and what runs is told', async () => {
  const queue = newQueue();
  const crashing = openStation(url, { timings: { ...BY_ANNOUNCEMENT, leaseMs: 500, beatMs: 100 } });
  let signalled = false;
  let started = false;
  const worker = await crashing.work({
    queue,
    async run(_job, { signal }) {
      started = true;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      signalled = true;
      return done;
    },
  });
  await crashing.enqueue(queue, [{ key: 'a', payload: 1 }]);
  await until(() => started);
  const attempts: number[] = [];
  const heir = openStation(url, { timings: { ...BY_ANNOUNCEMENT, beatMs: 100 } });
  void crashing.crash();
  await heir.work({
    queue,
    async run({ attempt }) {
      attempts.push(attempt);
      return done;
    },
  });
  await until(async () => (await countJobs(db, queue)) === 0);
  assert.deepEqual(attempts, [0]);
  assert.ok(signalled);
  assert.equal(lanesOf(worker).length, 0);
});

test('leases that a dead worker took while the clock was ahead bind no lane', async () => {
  const queue = newQueue();
  const ahead = new Date(Date.now() + 3_600_000);
  await db.sql`
    insert into lanes (lane, queue, owner, token, expires_at)
    select lane, ${queue}, 'wrk_gone', 1, ${ahead} from unnest(${ALL_LANES}::int[]) as lane`;
  await db.sql`insert into lane_workers (queue, id, expires_at) values (${queue}, 'wrk_gone', ${ahead})`;
  const worker = await openStation(url).work({ queue, run: async () => done });
  assert.deepEqual(lanesOf(worker), ALL_LANES);
});

test('a lane whose row is locked by a machine that vanished keeps no one from the others', async () => {
  const queue = newQueue();
  const locked = laneOf('a');
  await ensureLanes(db.sql, queue);
  await whileLocked(
    db,
    (sql) => sql`select from lanes where queue = ${queue} and lane = ${locked} for update`,
    async () => {
      const worker = await openStation(url).work({ queue, run: async () => done });
      assert.deepEqual(
        lanesOf(worker),
        ALL_LANES.filter((lane) => lane !== locked),
      );
    },
  );
});

for (const isDistributed of [false, true]) {
  const where = isDistributed ? 'a distributed database' : 'PostgreSQL';

  test(`the fence on ${where} locks the lanes of a queue that have the given tokens`, async () => {
    const queue = newQueue();
    await ensureLanes(db.sql, queue);
    await ensureLanes(db.sql, newQueue());
    const [one, other, stale] = [laneOf('a'), laneOf('b'), laneOf('c')];
    await db.sql`update lanes set token = 7 where queue = ${queue} and lane = any(${[one, other, stale]})`;
    const tokens = new Map([
      [one, 7],
      [stale, 6],
      [other, 7],
    ]);
    let taking: Promise<unknown> | undefined;
    await db.transaction(async ({ sql }) => {
      assert.deepEqual(await fence(sql, { queue, tokens, isDistributed }), new Set([one, other]));
      taking = db.sql`update lanes set token = 8 where queue = ${queue} and lane = ${other}`;
      taking.catch(() => undefined);
      await untilWaiting(db, 'update lanes set token = 8');
    });
    await taking;
    const again = await db.transaction(({ sql }) => fence(sql, { queue, tokens, isDistributed }));
    assert.deepEqual(again, new Set([one]));
  });

  test(`transactions that fence the same lanes of ${where} do not wait for each other in a circle`, async () => {
    const queue = newQueue();
    await ensureLanes(db.sql, queue);
    const fenceAll = (lanes: readonly number[]) =>
      db.sql.begin((sql) =>
        fence(sql, { queue, tokens: new Map(lanes.map((lane) => [lane, 0])), isDistributed }),
      );
    for (let round = 0; round < 20; round++) {
      const orders = [ALL_LANES, ALL_LANES.toReversed(), ALL_LANES.toSorted()];
      for (const valid of await Promise.all(orders.map(fenceAll))) assert.equal(valid.size, LANES);
    }
  });
}
