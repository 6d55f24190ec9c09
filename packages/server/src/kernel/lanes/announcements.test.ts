/** Jobs are found without delay, whoever adds them, and also when nobody announces them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../testing/wait.ts';
import { guid } from '../ids.ts';
import { insertSelectedJobs } from './index.ts';
import { ALL_LANES, keyInLane, laneOf } from './lane-of.ts';
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
import { insertJobs } from './store/jobs.ts';

const { url, db } = await createRailwayDatabase();

test('jobs of another process wake the worker without a poll', async () => {
  const queue = newQueue();
  const here = openStation(url);
  const there = openStation(url);
  const ran: number[] = [];
  await here.work({
    queue,
    async run({ payload }) {
      ran.push(payload as number);
      return done;
    },
  });
  for (const n of numbers(5)) {
    await there.enqueue(queue, [{ key: `k${n}`, payload: n }]);
    await until(() => ran.length === n + 1);
  }
});

test('a process whose leases ran out while it stood still announces its jobs to whoever has the lanes now', async () => {
  const queue = newQueue();
  const sleeper = openStation(url, { timings: { ...BY_ANNOUNCEMENT, leaseMs: 200 }, deaf: true });
  await sleeper.work({ queue, run: async () => done });
  const ran = createGate();
  const heir = await openStation(url, { timings: { ...BY_ANNOUNCEMENT, beatMs: 50 } }).work({
    queue,
    async run() {
      ran.open();
      return done;
    },
  });
  await until(() => heir.owns(laneOf('a')));
  await sleeper.enqueue(queue, [{ key: 'a', payload: null }]);
  await ran.opened;
});

test('a process that ends right after it enqueued a job has announced it', async () => {
  const queue = newQueue();
  const ran = createGate();
  await openStation(url).work({
    queue,
    async run() {
      ran.open();
      return done;
    },
  });
  const command = openStation(url);
  await command.enqueue(queue, [{ key: 'k', payload: null }]);
  await command.close();
  await ran.opened;
});

test('a job that no one announced is found by the poll', async () => {
  const queue = newQueue();
  const station = openStation(url, { timings: { ...BY_ANNOUNCEMENT, pollMs: 50 } });
  const ran: number[] = [];
  await station.work({
    queue,
    async run({ payload }) {
      ran.push(payload as number);
      return done;
    },
  });
  const unannounced = (payload: number, dueAt: number, siding = '') =>
    insertJobs(db.sql, queue, [
      { id: guid(), lane: laneOf('a'), siding, key: 'a', dueAt, attempt: 0, payload },
    ]);
  await unannounced(1, Date.now());
  await until(() => ran.length === 1);
  await unannounced(2, Date.now() - 60_000);
  await until(() => ran.length === 2);
  await unannounced(3, Date.now() + 200);
  await until(() => ran.length === 3);
  await unannounced(4, Date.now(), 'a');
  await until(() => ran.length === 4);
  await unannounced(5, Date.now() - 60_000, 'a');
  await until(() => ran.length === 5);
});

test('a flood that another process adds is announced, however many keys it has and however long they are', async () => {
  const queue = newQueue();
  const here = openStation(url);
  const there = openStation(url);
  let ran = 0;
  await here.work({
    queue,
    async run() {
      ran += 1;
      return done;
    },
  });
  const names = numbers(50).map((n) => `${n} ${'\u{1f686}'.repeat(240)}`);
  const keys = names.map((name, n) => (n % 2 === 0 ? name : keyInLane(17, name)));
  for (let n = 1; n <= 3; n++) {
    await there.enqueue(
      queue,
      keys.flatMap((key) => numbers(60).map((m) => ({ key, payload: m }))),
    );
    await until(() => ran === n * 50 * 60);
  }
  await until(async () => (await countJobs(db, queue)) === 0);
});

test('a transaction that commits late does not have its jobs overlooked', async () => {
  const queue = newQueue();
  const station = openStation(url);
  const ran: number[] = [];
  await station.work({
    queue,
    async run({ payload }) {
      ran.push(payload as number);
      return done;
    },
  });
  const gate = createGate();
  const inserted = createGate();
  const late = station.db.transaction(async (tx) => {
    await station.lanes.enqueue(tx, queue, [{ key: 'a', payload: 1, dueAt: Date.now() - 10 }]);
    inserted.open();
    await gate.opened;
  });
  await inserted.opened;
  await station.enqueue(queue, [{ key: 'a', payload: 2 }]);
  await until(() => ran.length === 1);
  gate.open();
  await late;
  await until(() => ran.length === 2);
  assert.deepEqual(ran, [2, 1]);
});

test('when all its connections break while it waits, a worker comes back and has missed nothing', async () => {
  const queue = newQueue();
  const here = openStation(url);
  const there = openStation(url);
  const ran: number[] = [];
  await here.work({
    queue,
    async run({ payload }) {
      ran.push(payload as number);
      return done;
    },
  });
  for (let n = 0; n < 5; n++) {
    await db.sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'signalbox lanes' and datname = current_database() and state = 'idle'`;
    await there.enqueue(
      queue,
      numbers(10).map((m) => ({ key: `k${m}`, payload: n * 10 + m })),
    );
    await until(async () => (await countJobs(db, queue)) === 0);
  }
  const inOrder = ran.toSorted((a, b) => a - b);
  assert.deepEqual(inOrder, numbers(50));
});

test('jobs that a statement of the caller inserts itself run as soon as they are announced', async () => {
  const queue = newQueue();
  const here = openStation(url);
  const there = openStation(url);
  const ran: string[] = [];
  await here.work({
    queue,
    async run({ key, lane, attempt, payload }) {
      ran.push(`${key} in ${lane}, ${attempt}: ${JSON.stringify(payload)}`);
      return done;
    },
  });
  for (const station of [here, there]) {
    const dueAt = Date.now();
    const ids = ALL_LANES.map(() => guid());
    const inserted = await db.sql<{ lane: number }[]>`
      with queued as (
        ${insertSelectedJobs(
          db.sql,
          queue,
          db.sql`
            select lane, ${new Date(dueAt)}::timestamptz as due_at, id, '@' || lane || '/name' as key,
              json_build_object('lane', lane) as payload
            from unnest(${[...ALL_LANES]}::smallint[], ${ids}::uuid[]) as given (lane, id)`,
        )}
        returning lane)
      select lane from queued`;
    station.lanes.announce(
      queue,
      inserted.map(({ lane }) => lane),
      dueAt,
    );
    await until(() => ran.length === ALL_LANES.length);
    await until(async () => (await countJobs(db, queue)) === 0);
    assert.deepEqual(
      ran.splice(0).sort(),
      ALL_LANES.map((lane) => `${keyInLane(lane, 'name')} in ${lane}, 0: {"lane":${lane}}`).sort(),
    );
  }
});
