/**
 * Lanes: the queue of the product. Jobs are enqueued in the transaction of whoever causes them, so that nothing is ever
 * committed but not queued. Each job belongs to a key, each key to one of 64 lanes, and a lane has one owner at a time:
 * limits and holds per key are kept in memory and are exact. At least once; repeated only around a crash.
 */
import type { Clock } from '../clock.ts';
import type { Database, Tx } from '../db/database.ts';
import { LOOKUP_PLANS } from '../db/plans.ts';
import { guid } from '../ids.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { NewJob } from './job.ts';
import { laneOf } from './lane-of.ts';
import { insertJobs, queueDepths } from './store/jobs.ts';
import { endAllLeases } from './store/leases.ts';
import {
  type StartedWorker,
  startWorker,
  type Worker,
  type WorkerOptions,
  type WorkerTimings,
} from './worker.ts';

export type { Job, NewJob, Outcome, Settled } from './job.ts';
export { LANES, laneOf } from './lane-of.ts';
export type { Worker, WorkerOptions } from './worker.ts';
export type { Admission, Admit } from './yard.ts';

export interface Lanes {
  /**
   * Adds jobs to a queue in the caller's transaction.
   *
   * @example await lanes.enqueue(tx, 'push', [{ key: subscription.id, payload: { event: event.id } }])
   */
  enqueue(tx: Tx, queue: string, jobs: NewJob[]): Promise<void>;
  /** Works on a queue until stopped. */
  work<Result>(options: WorkerOptions<Result>): Promise<Worker>;
  /** Ends the leases of a server that is known to be gone. */
  takeOver(): Promise<void>;
  close(): Promise<void>;
}

const CHANNEL = 'lanes';
/** Wake-ups of other processes are gathered this long: one NOTIFY for many transactions. */
const GATHER_MS = 5;
/** A key is part of an index entry, of which PostgreSQL takes 2700 bytes. */
const LONGEST_KEY = 500;

/** What one process tells the others: which lanes got jobs and from when on they are due, or that shares changed. */
type Message = { queue: string; lanes?: [lane: number, dueAt: number][] };

export function createLanes(dependencies: {
  db: Database;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  /** Connections of the workers, apart from those that serve requests. */
  connections?: number;
  timings?: WorkerTimings;
}): Lanes {
  const { db, clock, log, metrics, connections = 4, timings } = dependencies;
  const own = db.dedicated({ connections, name: 'signalbox lanes', settings: LOOKUP_PLANS });
  const workers = new Map<string, Set<StartedWorker>>();
  const workersOf = (queue: string) => workers.get(queue) ?? [];
  const toNotify = new Map<string, Map<number, number>>();
  let listening: Promise<unknown> | null = null;
  let notifying: NodeJS.Timeout | undefined;

  const lateness = metrics.histogram({
    name: 'signalbox_job_lateness_seconds',
    help: 'Time between the due time of a job and its start',
    labelNames: ['queue'],
    buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 30, 300, 3600],
  });
  const outcomes = metrics.counter({
    name: 'signalbox_jobs_total',
    help: 'Jobs by outcome',
    labelNames: ['queue', 'outcome'],
  });
  metrics.depths({
    name: 'signalbox_queue',
    help: 'Jobs waiting and due, and the age in seconds of the oldest due one',
    read: () => queueDepths(db.sql, clock.now()),
  });

  /** Wakes the workers of this process directly, and the others by NOTIFY; the poll catches what both miss. */
  function announce(queue: string, dueTimes: Map<number, number>): void {
    const foreign = toNotify.get(queue) ?? new Map<number, number>();
    for (const [lane, dueAt] of dueTimes) {
      let owned = false;
      for (const worker of workersOf(queue)) {
        if (!worker.owns(lane)) continue;
        worker.wake([lane], dueAt);
        owned = true;
      }
      if (!owned) foreign.set(lane, Math.min(dueAt, foreign.get(lane) ?? dueAt));
    }
    if (foreign.size === 0) return;
    toNotify.set(queue, foreign);
    notifying ??= setTimeout(notifyGathered, GATHER_MS);
  }

  async function notifyGathered(): Promise<void> {
    clearTimeout(notifying);
    notifying = undefined;
    const messages = [...toNotify].map(([queue, lanes]) => ({ queue, lanes: [...lanes] }));
    toNotify.clear();
    await Promise.all(messages.map(notify));
  }

  async function notify(message: Message): Promise<void> {
    try {
      await db.notify(CHANNEL, JSON.stringify(message));
    } catch (error) {
      log.debug({ err: error }, 'wake-up not sent; the poll will do');
    }
  }

  function heard(text: string): void {
    const { queue, lanes } = JSON.parse(text) as Message;
    for (const worker of workersOf(queue)) {
      if (lanes === undefined) worker.balance();
      else for (const [lane, dueAt] of lanes) worker.wake([lane], dueAt);
    }
  }

  /** Messages may have been missed: everyone looks for themselves. */
  function reconnected(): void {
    for (const queue of workers.keys()) for (const worker of workersOf(queue)) worker.poll();
  }

  async function listen(): Promise<void> {
    listening ??= own.listen(CHANNEL, heard, reconnected);
    listening.catch(() => {
      listening = null;
    });
    await listening;
  }

  return {
    async enqueue(tx, queue, jobs) {
      if (jobs.length === 0) return;
      const now = clock.now();
      const dueTimes = new Map<number, number>();
      const rows = jobs.map(({ key, payload, dueAt = now }) => {
        if (key === '' || key.length > LONGEST_KEY)
          throw new Error(`a key has 1 to ${LONGEST_KEY} characters: "${key}"`);
        const lane = laneOf(key);
        dueTimes.set(lane, Math.min(dueAt, dueTimes.get(lane) ?? dueAt));
        return { id: guid(), lane, key, dueAt, attempt: 0, payload };
      });
      await insertJobs(tx.sql, queue, rows);
      tx.afterCommit(() => announce(queue, dueTimes));
    },
    async work(options) {
      await listen();
      const { queue } = options;
      const timeOf = lateness.labels(queue);
      const observer = {
        started: (ms: number) => timeOf.observe(Math.max(ms, 0) / 1000),
        settled: (outcome: string, count: number) => outcomes.inc({ queue, outcome }, count),
      };
      const sharesChanged = () => void notify({ queue });
      const worker = await startWorker({ db: own, clock, log, observer, timings, sharesChanged }, options);
      const mates = workers.get(queue) ?? new Set();
      workers.set(queue, mates.add(worker));
      // Whatever was announced while it started did not reach it.
      worker.poll();
      const { wake, owns, hold } = worker;
      return {
        wake,
        owns,
        hold,
        async stop(deadlineMs) {
          await worker.stop(deadlineMs);
          mates.delete(worker);
        },
      };
    },
    takeOver: () => endAllLeases(own.sql),
    async close() {
      // A command ends as soon as its transaction is committed, and whoever works on its jobs is another process.
      await notifyGathered();
      await own.close();
    },
  };
}
