/**
 * Jobs per second through enqueue, claim and acknowledge, with handlers that do nothing: lanes beside graphile-worker,
 * pg-boss (both on the same PostgreSQL, same durability) and BullMQ (on Redis without persistence), each in its fastest
 * documented setting. Then how much a million waiting jobs slow a claim.
 */
import { Worker as BullWorker, Queue } from 'bullmq';
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';
import PgBoss from 'pg-boss';
import { systemClock } from '../packages/server/src/kernel/clock.ts';
import { openDatabase } from '../packages/server/src/kernel/db/database.ts';
import { createLanes } from '../packages/server/src/kernel/lanes/index.ts';
import { silentLog } from '../packages/server/src/kernel/log.ts';
import { createMetrics } from '../packages/server/src/kernel/metrics.ts';
import { type Comparison, type Contender, compare, median, perSecond, progress } from './runner.ts';
import { createBenchDatabase, startPostgres, startRedis } from './services.ts';

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
    return { ...result, ...(await claimTimes(await createBenchDatabase(postgres.url))) };
  } finally {
    for (const contender of contenders) await contender.close();
    await redis?.stop();
    await postgres.stop();
  }
}

interface Closable extends Contender {
  close(): Promise<void>;
}

const batches = Array.from({ length: JOBS / PER_ADD }, (_, batch) =>
  Array.from({ length: PER_ADD }, (_, index) => batch * PER_ADD + index),
);

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
  return { db, lanes };
}

async function lanesContender(url: string): Promise<Closable> {
  const { db, lanes } = openLanes(url);
  const counter = createCounter();
  const worker = await lanes.work({
    queue: 'bench',
    concurrency: 500,
    keyConcurrency: 500,
    run: async () => ({ outcome: { kind: 'done' } }),
    settle: async (tx, settled) => tx.afterCommit(() => counter.add(settled.length)),
  });
  return {
    name: 'lanes',
    role: 'ours',
    async measure() {
      const startedAt = performance.now();
      const done = counter.expect(JOBS);
      for (const batch of batches) {
        const jobs = batch.map((index) => ({ key: `key-${index % KEYS}`, payload: { index } }));
        await db.transaction((tx) => lanes.enqueue(tx, 'bench', jobs));
      }
      await done;
      return perSecond(JOBS, startedAt);
    },
    async close() {
      await worker.stop(5000);
      await lanes.close();
      await db.close();
    },
  };
}

async function graphileContender(url: string): Promise<Closable> {
  const pgPool = new pg.Pool({ connectionString: url, max: 10 });
  const logger = new Logger(() => () => undefined);
  const utils = await makeWorkerUtils({ pgPool, logger });
  await utils.migrate();
  const counter = createCounter();
  const runner = await run({
    preset: {
      worker: {
        concurrentJobs: 500,
        localQueue: { size: 1000 },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
        pollInterval: 100,
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
    async measure() {
      const startedAt = performance.now();
      const done = counter.expect(JOBS);
      for (const batch of batches) {
        await utils.addJobs(batch.map((index) => ({ identifier: 'bench', payload: { index } })));
      }
      await done;
      return perSecond(JOBS, startedAt);
    },
    async close() {
      await runner.stop();
      await utils.release();
      await pgPool.end();
    },
  };
}

async function pgBossContender(url: string): Promise<Closable> {
  const boss = new PgBoss({ connectionString: url, max: 8 });
  await boss.start();
  await boss.createQueue('bench');
  return {
    name: 'pg-boss',
    role: 'peer',
    async measure() {
      const startedAt = performance.now();
      let done = 0;
      const fetchAndComplete = async () => {
        while (done < JOBS) {
          const jobs = await boss.fetch('bench', { batchSize: PER_ADD });
          if (jobs.length === 0) continue;
          await boss.complete(
            'bench',
            jobs.map(({ id }) => id),
          );
          done += jobs.length;
        }
      };
      const workers = Array.from({ length: 3 }, fetchAndComplete);
      for (const batch of batches)
        await boss.insert(batch.map((index) => ({ name: 'bench', data: { index } })));
      await Promise.all(workers);
      return perSecond(JOBS, startedAt);
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
    async measure() {
      const startedAt = performance.now();
      const done = counter.expect(JOBS);
      for (const batch of batches)
        await queue.addBulk(batch.map((index) => ({ name: 'bench', data: { index } })));
      await done;
      return perSecond(JOBS, startedAt);
    },
    async close() {
      await worker.close();
      await queue.close();
    },
  };
}

/** The time from enqueue to acknowledgement of a small batch, with few and with a million jobs that wait for later. */
async function claimTimes(url: string) {
  const { db, lanes } = openLanes(url);
  const counter = createCounter();
  const worker = await lanes.work({
    queue: 'bench',
    concurrency: 500,
    keyConcurrency: 500,
    run: async () => ({ outcome: { kind: 'done' } }),
    settle: async (tx, settled) => tx.afterCommit(() => counter.add(settled.length)),
  });
  const nextYear = Date.now() + 365 * 24 * 3600 * 1000;
  const wait = async (count: number) => {
    for (let added = 0; added < count; added += 5000) {
      const size = Math.min(5000, count - added);
      const jobs = Array.from({ length: size }, (_, index) => ({
        key: `key-${(added + index) % KEYS}`,
        payload: {},
        dueAt: nextYear + index,
      }));
      await db.transaction((tx) => lanes.enqueue(tx, 'bench', jobs));
    }
  };
  const time = async () => {
    const times: number[] = [];
    for (let round = 0; round < 200; round++) {
      const jobs = Array.from({ length: 100 }, (_, index) => ({ key: `key-${index}`, payload: {} }));
      const done = counter.expect(jobs.length);
      const startedAt = performance.now();
      await db.transaction((tx) => lanes.enqueue(tx, 'bench', jobs));
      await done;
      times.push(performance.now() - startedAt);
    }
    return median(times);
  };
  await wait(1000);
  await time();
  const claimAtThousandMs = await time();
  progress('adding a million jobs that are due next year');
  await wait(999_000);
  await db.sql`vacuum analyze jobs`;
  const claimAtMillionMs = await time();
  await worker.stop(5000);
  await lanes.close();
  await db.close();
  const claimAtMillionRatio = Math.round((claimAtMillionMs / claimAtThousandMs) * 100) / 100;
  return { claimAtThousandMs, claimAtMillionMs, claimAtMillionRatio };
}
