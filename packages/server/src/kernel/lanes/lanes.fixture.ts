/** What the tests of the queue share. */
import { atEnd } from '../../testing/at-end.ts';
import { createTestDatabaseUrl } from '../../testing/database.ts';
import { type Database, openDatabase } from '../db/database.ts';
import { createPartitions } from '../db/schema/partitions.ts';
import { newId } from '../ids.ts';
import type { Log } from '../telemetry/log.ts';
import { createMetrics, type Metrics } from '../telemetry/metrics.ts';
import { silentLog } from '../telemetry/no-op.ts';
import { type Clock, systemClock } from '../time/clock.ts';
import { createLanes, type Lanes, laneOf, type NewJob, type Worker, type WorkerOptions } from './index.ts';
import type { WorkerTimings } from './worker.ts';

/** Nothing happens by the clock: whatever happens was announced. */
export const BY_ANNOUNCEMENT: WorkerTimings = {
  leaseMs: 120_000,
  beatMs: 40_000,
  pollMs: 600_000,
  backoffMs: 1,
};

/** What one process has: connections and lanes of its own. */
export interface Station {
  db: Database;
  lanes: Lanes;
  metrics: Metrics;
  enqueue(queue: string, jobs: NewJob[]): Promise<void>;
  /** Stops its workers, in order. */
  close(): Promise<void>;
  /** Cuts its connections in the middle of whatever it does, as a crash would, and then clears it away. */
  crash(): Promise<void>;
  work<Result>(options: WorkerOptions<Result>): Promise<Worker>;
}

/** A database with lanes, and what waits or has died in its queues. */
export async function createRailwayDatabase() {
  const url = await createTestDatabaseUrl();
  const db = openDatabase({ url, connections: 4 });
  atEnd(() => db.close());
  await createPartitions(db.sql, [{ table: 'dead_jobs', keepDays: 14 }], Date.now());
  const jobsOf = (queue: string) => db.sql<{ key: string; attempt: number; dueAt: Date; payload: unknown }[]>`
    select key, attempt, due_at as "dueAt", payload from jobs where queue = ${queue} order by due_at, id`;
  const deadOf = (queue: string) => db.sql<
    { key: string; attempt: number; reason: string; payload: unknown }[]
  >`
    select key, attempt, reason, payload from dead_jobs where queue = ${queue}`;
  const isEmpty = (queue: string) => async () => (await jobsOf(queue)).length === 0;
  return { url, db, jobsOf, deadOf, isEmpty };
}

/**
 * @param deaf hears of nothing that other stations announce: a process that stood still while the world went on
 * @param distributed sends the statements for a distributed database, which PostgreSQL takes too
 */
export function openStation(
  url: string,
  {
    clock = systemClock,
    timings = BY_ANNOUNCEMENT,
    deaf = false,
    distributed = false,
    log = silentLog,
  }: {
    clock?: Clock;
    timings?: WorkerTimings;
    deaf?: boolean;
    distributed?: boolean;
    log?: Log;
  } = {},
): Station {
  const db = openDatabase({ url, connections: 4, isDistributed: async () => distributed });
  const metrics = createMetrics();
  const opened: Database[] = [];
  const own: Database = {
    ...db,
    dedicated(options) {
      const dedicated = db.dedicated(options);
      opened.push(dedicated);
      return deaf ? { ...dedicated, listen: async () => async () => undefined } : dedicated;
    },
  };
  const lanes = createLanes({ db: own, clock, log, metrics, timings });
  const workers: Worker[] = [];
  let closed: Promise<void> | null = null;

  async function end(): Promise<void> {
    await Promise.all(workers.map((worker) => worker.stop(0)));
    await lanes.close();
    await db.close();
  }
  const station: Station = {
    db,
    lanes,
    metrics,
    enqueue: (queue, jobs) => db.transaction((tx) => lanes.enqueue(tx, queue, jobs)),
    close() {
      closed ??= end();
      return closed;
    },
    async crash() {
      await Promise.all(opened.map((database) => database.sql.end({ timeout: 0 })));
      await station.close();
    },
    async work(options) {
      const worker = await lanes.work(options);
      workers.push(worker);
      return worker;
    },
  };
  atEnd(() => station.close());
  return station;
}

export const newQueue = () => newId('queue');

/** What `run` answers of a job that is finished. */
export const done = { outcome: { kind: 'done' } } as const;

/** @example numbers(3) // [0, 1, 2] */
export const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);

/** Another key of the same lane. */
export function neighbourOf(key: string, nth = 0): string {
  for (let n = 0; ; n++) if (laneOf(`${key}-${n}`) === laneOf(key) && nth-- === 0) return `${key}-${n}`;
}

/** A door that stays shut until it is opened. */
export function createGate(): { opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

/** How many jobs of a queue are there. */
export async function countJobs({ sql }: Pick<Database, 'sql'>, queue: string): Promise<number> {
  const [row] = await sql<
    { count: number }[]
  >`select count(*)::int as count from jobs where queue = ${queue}`;
  return row!.count;
}
