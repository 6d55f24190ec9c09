/**
 * Jobs per second through enqueue, claim and acknowledge, with handlers that do nothing: lanes beside graphile-worker,
 * pg-boss (both on the same PostgreSQL, with the same durability) and BullMQ (on Redis without persistence). Each gets
 * its jobs by the thousand and runs in the setting that was fastest here. Then what a million waiting jobs do to a claim.
 */
import { Worker as BullWorker, Queue } from 'bullmq';
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';
import PgBoss from 'pg-boss';
import { type Database, openDatabase } from '../packages/server/src/kernel/db/database.ts';
import { LOOKUP_PLANS } from '../packages/server/src/kernel/db/plans.ts';
import { createLanes, type Lanes, type Worker } from '../packages/server/src/kernel/lanes/index.ts';
import { positionBefore } from '../packages/server/src/kernel/lanes/job.ts';
import { ALL_LANES } from '../packages/server/src/kernel/lanes/lane-of.ts';
import { readMainLines } from '../packages/server/src/kernel/lanes/store/jobs.ts';
import { ensureLanes } from '../packages/server/src/kernel/lanes/store/leases.ts';
import { createMetrics } from '../packages/server/src/kernel/telemetry/metrics.ts';
import { silentLog } from '../packages/server/src/kernel/telemetry/no-op.ts';
import { systemClock } from '../packages/server/src/kernel/time/clock.ts';
import { progress } from './kit/progress.ts';
import { type Comparison, type Contender, compare, median, perSecond } from './kit/runner.ts';
import { createBenchDatabase, startPostgres, startRedis } from './kit/services.ts';

/** Half a second of work and more: shorter rounds measured the moment of a checkpoint. */
const JOBS = 50_000;
const PER_ADD = 1000;
/** Ordering keys, as a tenant with many subscriptions has them. */
const KEYS = 500;
const ROUNDS = 5;

export default async function bench(): Promise<Comparison> {
  const postgres = await startPostgres();
  const redis = await startRedis();
  if (redis === null) progress('no redis-server on the PATH: BullMQ is left out');
  const contenders = [
    await lanesContender(await createBenchDatabase(postgres.url)),
    await graphileContender(await createBenchDatabase(postgres.url, { empty: true })),
    await pgBossContender(await createBenchDatabase(postgres.url, { empty: true })),
    ...(redis ? [bullContender(redis.url)] : []),
  ];
  try {
    const result = await compare({ name: 'lanes', unit: 'jobs/s', contenders, rounds: ROUNDS });
    return { ...result, ...(await claimTimes(postgres.url)) };
  } finally {
    for (const contender of contenders) await contender.close();
    await redis?.stop();
    await postgres.stop();
  }
}

interface Closable extends Contender {
  close(): Promise<void>;
}

/** Adds the jobs of a round and waits until all are acknowledged. */
async function measure(input: {
  add(numbers: number[]): Promise<unknown>;
  acknowledged: Promise<unknown>;
}): Promise<number> {
  const { add, acknowledged } = input;
  const startedAt = performance.now();
  for (let first = 0; first < JOBS; first += PER_ADD) {
    await add(Array.from({ length: PER_ADD }, (_, index) => first + index));
  }
  await acknowledged;
  return perSecond(JOBS, startedAt);
}

/** Resolves when as many jobs were acknowledged as a round has. */
function createCounter() {
  let left = 0;
  let finish = () => {};
  return {
    expect(count: number): Promise<void> {
      left = count;
      return new Promise((resolve) => {
        finish = resolve;
      });
    },
    add(count: number): void {
      left -= count;
      if (left === 0) finish();
    },
  };
}

function openLanes(url: string) {
  const db = openDatabase({ url, connections: 8 });
  const lanes = createLanes({ db, clock: systemClock, log: silentLog, metrics: createMetrics() });
  const counter = createCounter();
  let worker: Worker | undefined;
  return {
    db,
    lanes,
    /** Counts what is committed. */
    counter,
    async startWorker(): Promise<void> {
      worker = await lanes.work({
        queue: 'bench',
        concurrency: 200,
        keyConcurrency: 200,
        run: async () => ({ outcome: { kind: 'done' } }),
        settle: async (tx, settled) => tx.afterCommit(() => counter.add(settled.length)),
      });
    },
    async close(): Promise<void> {
      await worker?.stop(5000);
      await lanes.close();
      await db.close();
    },
  };
}

async function lanesContender(url: string): Promise<Closable> {
  const { db, lanes, counter, startWorker, close } = openLanes(url);
  await startWorker();
  return {
    name: 'lanes',
    role: 'ours',
    measure: () =>
      measure({ acknowledged: counter.expect(JOBS), add: (numbers) => enqueue(db, lanes, numbers) }),
    close,
  };
}

function enqueue(db: Database, lanes: Lanes, numbers: number[]): Promise<void> {
  const jobs = numbers.map((index) => ({ key: `key-${index % KEYS}`, payload: { index } }));
  return db.transaction((tx) => lanes.enqueue(tx, 'bench', jobs));
}

async function graphileContender(url: string): Promise<Closable> {
  const pgPool = new pg.Pool({ connectionString: url, max: 10 });
  pgPool.on('error', () => undefined);
  pgPool.on('connect', (client) => client.on('error', () => undefined));
  const logger = new Logger(() => () => undefined);
  const utils = await makeWorkerUtils({ pgPool, logger });
  await utils.migrate();
  const counter = createCounter();
  const runner = await run({
    preset: {
      worker: {
        concurrentJobs: 24,
        localQueue: { size: 500 },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
    pgPool,
    noHandleSignals: true,
    logger,
    taskList: { bench: async () => undefined },
  });
  runner.events.on('job:complete', () => counter.add(1));
  return {
    name: 'graphile-worker',
    role: 'peer',
    measure: () =>
      measure({
        acknowledged: counter.expect(JOBS),
        add: (numbers) =>
          utils.addJobs(numbers.map((index) => ({ identifier: 'bench', payload: { index } }))),
      }),
    async close() {
      await runner.stop();
      await utils.release();
      await pgPool.end();
    },
  };
}

async function pgBossContender(url: string): Promise<Closable> {
  const boss = new PgBoss({ connectionString: url, max: 10 });
  boss.on('error', () => undefined);
  await boss.start();
  await boss.createQueue('bench');

  async function fetchAndComplete(left: { jobs: number }): Promise<void> {
    while (left.jobs > 0) {
      const jobs = await boss.fetch('bench', { batchSize: 5000 });
      if (jobs.length === 0) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        continue;
      }
      await boss.complete(
        'bench',
        jobs.map(({ id }) => id),
      );
      left.jobs -= jobs.length;
    }
  }
  return {
    name: 'pg-boss',
    role: 'peer',
    measure() {
      const left = { jobs: JOBS };
      return measure({
        acknowledged: Promise.all([fetchAndComplete(left), fetchAndComplete(left)]),
        add: (numbers) => boss.insert(numbers.map((index) => ({ name: 'bench', data: { index } }))),
      });
    },
    close: () => boss.stop({ graceful: false, wait: true }),
  };
}

function bullContender(url: string): Closable {
  const { hostname: host, port } = new URL(url);
  const connection = { host, port: Number(port), maxRetriesPerRequest: null };
  const queue = new Queue('bench', { connection, defaultJobOptions: { removeOnComplete: true } });
  const counter = createCounter();
  const worker = new BullWorker('bench', async () => undefined, { connection, concurrency: 500 });
  worker.on('completed', () => counter.add(1));
  return {
    name: 'bullmq',
    role: 'peer',
    measure: () =>
      measure({
        acknowledged: counter.expect(JOBS),
        add: (numbers) => queue.addBulk(numbers.map((index) => ({ name: 'bench', data: { index } }))),
      }),
    async close() {
      await worker.close();
      await queue.close();
    },
  };
}

const HUNDRED = Array.from({ length: 100 }, (_, index) => index);

/** How long 100 due jobs take with a thousand and, by turns, with a million jobs beside them that wait for later. */
async function claimTimes(server: string) {
  const few = await openWaiting(await createBenchDatabase(server), 1000);
  progress('adding a million jobs that are due next year');
  const many = await openWaiting(await createBenchDatabase(server), 1_000_000);
  const [claimAtThousandMs, claimAtMillionMs] = await medians(few.claim, many.claim);
  await Promise.all([few.startWorker(), many.startWorker()]);
  const [throughAtThousandMs, throughAtMillionMs] = await medians(few.through, many.through);
  await Promise.all([few.close(), many.close()]);
  const ratio = (one: number, other: number) => Math.round((one / other) * 100) / 100;
  return {
    claimAtThousandMs,
    claimAtMillionMs,
    claimAtMillionRatio: ratio(claimAtMillionMs, claimAtThousandMs),
    throughAtThousandMs,
    throughAtMillionMs,
    throughAtMillionRatio: ratio(throughAtMillionMs, throughAtThousandMs),
  };
}

/** The median times of two things that are done by turns. */
async function medians(
  one: () => Promise<unknown>,
  other: () => Promise<unknown>,
): Promise<[number, number]> {
  const times: [number[], number[]] = [[], []];
  for (let round = -50; round < 300; round++) {
    for (const [index, work] of [one, other].entries()) {
      const startedAt = performance.now();
      await work();
      if (round >= 0) times[index]!.push(performance.now() - startedAt);
    }
  }
  return [median(times[0]), median(times[1])];
}

async function openWaiting(url: string, waiting: number) {
  const { db, lanes, counter, startWorker, close } = openLanes(url);
  const reader = db.dedicated({ connections: 1, name: 'bench', settings: LOOKUP_PLANS });
  await ensureLanes(db.sql, 'bench');
  const nextYear = Date.now() + 365 * 24 * 3600 * 1000;
  for (let first = 0; first < waiting; first += PER_ADD) {
    const jobs = Array.from({ length: PER_ADD }, (_, index) => ({
      key: `key-${(first + index) % KEYS}`,
      payload: {},
      dueAt: nextYear + first + index,
    }));
    await db.transaction((tx) => lanes.enqueue(tx, 'bench', jobs));
  }
  await enqueue(db, lanes, HUNDRED);
  await db.sql`vacuum analyze jobs`;
  const wish = { after: positionBefore(0), limit: 64 };
  const wishes = new Map(ALL_LANES.map((lane) => [lane, wish]));
  return {
    startWorker,
    /** The claim alone, of jobs that no one works on yet. */
    claim: () => readMainLines(reader.sql, { queue: 'bench', wishes, now: Date.now() }),
    /** From enqueue to acknowledgement. */
    async through(): Promise<void> {
      const acknowledged = counter.expect(HUNDRED.length);
      await enqueue(db, lanes, HUNDRED);
      await acknowledged;
    },
    async close(): Promise<void> {
      await reader.close();
      await close();
    },
  };
}
