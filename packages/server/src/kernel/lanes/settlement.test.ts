/** Outcomes, and what a queue writes with them: together or not at all. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../testing/wait.ts';
import type { Database } from '../db/database.ts';
import type { Log } from '../telemetry/log.ts';
import { silentLog } from '../telemetry/no-op.ts';
import { createManualClock, MINUTE } from '../time/clock.ts';
import type { Job } from './index.ts';
import {
  BY_ANNOUNCEMENT,
  createGate,
  createRailwayDatabase,
  done,
  newQueue,
  numbers,
  openStation,
} from './lanes.fixture.ts';

const { url, db, jobsOf, deadOf, isEmpty } = await createRailwayDatabase();
await db.sql`create table effects (queue text not null, payload int not null)`;

const payloadOf = ({ payload }: Job) => payload as number;

async function effectsOf(queue: string): Promise<number[]> {
  const rows = await db.sql<{ payload: number }[]>`
    select payload from effects where queue = ${queue} order by payload`;
  return rows.map(({ payload }) => payload);
}

/** Writes the payload of each settled job to `effects`. */
async function recordEffects(
  tx: { sql: Database['sql'] | Parameters<Parameters<Database['transaction']>[0]>[0]['sql'] },
  queue: string,
  settled: { job: Job }[],
) {
  for (const { job } of settled) await tx.sql`insert into effects values (${queue}, ${payloadOf(job)})`;
}

test('what settle writes is committed with the outcome, or not at all', async () => {
  const queue = newQueue();
  const station = openStation(url);
  let failures = 2;
  let runs = 0;
  await station.work({
    queue,
    async run() {
      runs += 1;
      return done;
    },
    async settle(tx, settled) {
      await recordEffects(tx, queue, settled);
      if (failures-- > 0) throw new Error('settle failed');
    },
  });
  await station.enqueue(queue, [{ key: 'a', payload: 7 }]);
  await until(isEmpty(queue));
  assert.deepEqual(await effectsOf(queue), [7]);
  assert.equal(runs, 1, 'the outcome was kept, the job not run again');
});

test('an outcome that cannot be written holds up no other, and is given up in plain sight', async () => {
  const queue = newQueue();
  const station = openStation(url);
  await station.work({
    queue,
    keepDead: false,
    run: async () => done,
    async settle(tx, settled) {
      await recordEffects(tx, queue, settled);
      if (settled.some(({ job }) => payloadOf(job) === 13)) throw new Error('poison');
    },
  });
  await station.enqueue(
    queue,
    numbers(200).map((n) => ({ key: `k${n % 20}`, payload: n })),
  );
  await until(async () => (await deadOf(queue)).length > 0);
  await until(isEmpty(queue));
  assert.deepEqual(
    await effectsOf(queue),
    numbers(200).filter((n) => n !== 13),
  );
  const [dead] = await deadOf(queue);
  assert.equal(dead!.payload, 13);
  assert.match(dead!.reason, /poison/);
});

test('a queue may replace a job that is in the way with smaller ones', async () => {
  const queue = newQueue();
  const station = openStation(url);
  const stuck: { payload: unknown; error: unknown }[] = [];
  let poisoned = 1;
  await station.work({
    queue,
    run: async () => done,
    async settle(tx, settled) {
      await recordEffects(tx, queue, settled);
      if (settled.some(({ job }) => payloadOf(job) === 13) && poisoned++) throw new Error('poison');
    },
    whenStuck({ key, payload }, error) {
      stuck.push({ payload, error });
      const jobs = [1001, 1002].map((part) => ({ key, payload: part }));
      return { outcome: { kind: 'done' }, jobs };
    },
  });
  await station.enqueue(
    queue,
    numbers(200).map((n) => ({ key: `k${n % 20}`, payload: n })),
  );
  await until(isEmpty(queue));
  assert.deepEqual(await effectsOf(queue), [...numbers(200).filter((n) => n !== 13), 1001, 1002]);
  assert.deepEqual(stuck, [{ payload: 13, error: new Error('poison') }]);
  assert.deepEqual([...(await deadOf(queue))], []);
});

test('a replacement that cannot be written either is tried again, and nothing of it stays', async () => {
  const queue = newQueue();
  const station = openStation(url);
  let refused = 0;
  await station.work({
    queue,
    run: async () => done,
    async settle(tx, settled) {
      if (settled.some(({ job }) => payloadOf(job) === 13)) throw new Error('poison');
      await recordEffects(tx, queue, settled);
    },
    whenStuck: ({ key }) => ({
      outcome: { kind: 'done' },
      // The last key is too long.
      jobs: [
        { key, payload: 1 },
        { key: refused++ < 25 ? 'x'.repeat(501) : key, payload: 2 },
      ],
    }),
  });
  await station.enqueue(queue, [{ key: 'a', payload: 13 }]);
  await until(isEmpty(queue));
  assert.deepEqual(await effectsOf(queue), [1, 2]);
  assert.equal(refused, 26);
  assert.deepEqual([...(await deadOf(queue))], []);
});

test('a stuck job that is to be tried again later never becomes a dead one', async () => {
  const queue = newQueue();
  const clock = createManualClock(Date.now());
  const station = openStation(url, { clock });
  let mended = false;
  const worker = await station.work({
    queue,
    run: async () => done,
    async settle(tx, settled) {
      if (!mended) throw new Error('a fault in a rule');
      await recordEffects(tx, queue, settled);
    },
    whenStuck: () => ({ outcome: { kind: 'retry', dueAt: clock.now() + 5 * MINUTE } }),
  });
  await station.enqueue(queue, [{ key: 'a', payload: 7 }]);
  for (let attempt = 1; attempt <= 30; attempt++) {
    await until(async () => (await jobsOf(queue))[0]?.attempt === attempt);
    mended = attempt === 30;
    clock.advance(5 * MINUTE);
    worker.wake();
  }
  await until(isEmpty(queue));
  assert.deepEqual(await effectsOf(queue), [7]);
  assert.deepEqual([...(await deadOf(queue))], []);
});

test('a statement of settle that fails takes the whole transaction with it, also when settle goes on', async () => {
  const queue = newQueue();
  const station = openStation(url);
  let first = true;
  await station.work({
    queue,
    run: async () => done,
    async settle(tx, settled) {
      if (first) {
        first = false;
        await tx.sql`select 1 / 0`.catch(() => undefined);
      }
      await recordEffects(tx, queue, settled);
    },
  });
  await station.enqueue(queue, [{ key: 'a', payload: 1 }]);
  await until(isEmpty(queue));
  assert.deepEqual(await effectsOf(queue), [1]);
});

test('a job that was purged while it ran does not come back, and leaves no effect', async () => {
  const queue = newQueue();
  const station = openStation(url);
  const gate = createGate();
  let started = 0;
  await station.work({
    queue,
    async run() {
      started += 1;
      await gate.opened;
      return { outcome: { kind: 'retry', dueAt: Date.now() + MINUTE } };
    },
    settle: (tx, settled) => recordEffects(tx, queue, settled),
  });
  await station.enqueue(queue, [
    { key: 'a', payload: 1 },
    { key: 'b', payload: 2 },
  ]);
  await until(() => started === 2);
  await db.sql`delete from jobs where queue = ${queue} and key = 'a'`;
  gate.open();
  await until(async () => (await jobsOf(queue))[0]?.attempt === 1);
  assert.deepEqual(
    (await jobsOf(queue)).map(({ key }) => key),
    ['b'],
  );
  assert.deepEqual(await effectsOf(queue), [2]);
});

test('a rewrite of the table while jobs run does no harm', async () => {
  const queue = newQueue();
  const station = openStation(url);
  const gate = createGate();
  let started = 0;
  await station.work({
    queue,
    async run() {
      started += 1;
      await gate.opened;
      return done;
    },
    settle: (tx, settled) => recordEffects(tx, queue, settled),
  });
  await station.enqueue(
    'purged',
    numbers(100).map((n) => ({ key: `k${n}`, payload: n })),
  );
  await station.enqueue(
    queue,
    numbers(50).map((n) => ({ key: `k${n}`, payload: n })),
  );
  await until(() => started === 50);
  await db.sql`delete from jobs where queue = 'purged'`;
  await db.sql`vacuum full jobs`;
  gate.open();
  await until(isEmpty(queue));
  assert.deepEqual(await effectsOf(queue), numbers(50));
  assert.equal(started, 50);
});

/** What PostgreSQL says when its disk is full. */
const diskFull = (sql: Database['sql'] | Parameters<Parameters<Database['transaction']>[0]>[0]['sql']) =>
  sql.unsafe(`do $$ begin raise exception 'No space left on device' using errcode = '53100'; end $$`);

test('an outcome that the database has no room for is written once it has, without waiting any longer', async () => {
  const queue = newQueue();
  const station = openStation(url, { timings: { ...BY_ANNOUNCEMENT, backoffMs: MINUTE } });
  let full = 2;
  await station.work({
    queue,
    run: async () => done,
    async settle(tx, settled) {
      await recordEffects(tx, queue, settled);
      if (full-- > 0) await diskFull(tx.sql);
    },
  });
  await station.enqueue(queue, [{ key: 'a', payload: 7 }]);
  await until(isEmpty(queue));
  assert.deepEqual(await effectsOf(queue), [7]);
});

test('what the database had no room for is not held against a job, and no failure to look for in the code', async () => {
  const queue = newQueue();
  const said: string[] = [];
  const log = {
    ...silentLog,
    warn: (_: unknown, text: string) => said.push(`warn: ${text}`),
    error: (_: unknown, text: string) => said.push(`error: ${text}`),
  } as unknown as Log;
  const station = openStation(url, { log });
  const attempts: number[] = [];
  await station.work({
    queue,
    async run({ attempt }) {
      attempts.push(attempt);
      if (attempts.length <= 2) await diskFull(db.sql);
      return done;
    },
  });
  await station.enqueue(queue, [{ key: 'a', payload: 1 }]);
  await until(isEmpty(queue));
  assert.deepEqual(attempts, [0, 0, 0]);
  assert.deepEqual(said, Array(2).fill('warn: job could not be done now'));
});

test('a stop writes the last outcomes, also of a worker that was without a database earlier', async () => {
  const queue = newQueue();
  const station = openStation(url);
  const gate = createGate();
  let full = 3;
  let ran = 0;
  let isSettling = false;
  const worker = await station.work({
    queue,
    async run() {
      ran += 1;
      return done;
    },
    async settle(tx, settled) {
      if (full-- > 0) await diskFull(tx.sql);
      isSettling = settled.some(({ job }) => payloadOf(job) === 2);
      if (isSettling) await gate.opened;
    },
  });
  await station.enqueue(queue, [{ key: 'a', payload: 1 }]);
  await until(isEmpty(queue));
  await station.enqueue(queue, [{ key: 'b', payload: 2 }]);
  await until(() => isSettling);
  await station.enqueue(queue, [{ key: 'c', payload: 3 }]);
  await until(() => ran === 3);
  const stopped = worker.stop(MINUTE);
  gate.open();
  await stopped;
  assert.deepEqual([...(await jobsOf(queue))], []);
});
