/**
 * The job queue. Jobs are inserted in the caller's transaction. A job has a key (for pushes: the subscription), a key belongs to one of
 * 64 lanes, and one worker at a time leases a lane, so limits per key are exact without locks. Jobs run at least once, and are repeated only
 * after a crash. Jobs of a key that may not run now, or has too many waiting, are kept apart on the key's *siding*, so that they do not
 * delay other keys; all others stand on the *main line* of their lane, in the order of their due times.
 *
 * `lane-reader.ts` reads both. What a worker has read is in memory (`ready-jobs.ts`) until its outcome is written (`settlement.ts`). A key
 * that could start more than is in memory is *hungry*; one that may start nothing before a time is *held*.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Database, Tx } from '../db/database.ts';
import { lookupPlans } from '../db/plans.ts';
import { guid } from '../ids.ts';
import { madeOnce } from '../memory/made-once.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Clock } from '../time/clock.ts';
import { type BurstDetector, createBurstDetector } from './burst-detector.ts';
import type { JobLocation, NewJob } from './job.ts';
import { laneOf } from './lane-of.ts';
import { hasDueJob, insertJobs, queueDepths } from './store/jobs.ts';
import { endAllLeases } from './store/leases.ts';
import {
  type StartedWorker,
  startWorker,
  type Worker,
  type WorkerOptions,
  type WorkerTimings,
} from './worker.ts';

export type { Job, NewJob, Outcome, Settled } from './job.ts';
export { keyInLane, LANES, laneOf } from './lane-of.ts';
export type { Admission } from './ready-jobs.ts';
export { insertSelectedJobs } from './store/jobs.ts';
export type { Worker, WorkerOptions } from './worker.ts';

export interface Lanes {
  /**
   * Adds jobs to a queue in the caller's transaction.
   *
   * @example await lanes.enqueue(tx, 'push', [{ key: subscription.id, payload: { event: event.id } }])
   */
  enqueue(tx: Tx, queue: string, jobs: NewJob[]): Promise<void>;
  /** Wakes the workers for jobs that a statement of the caller inserted (`insertSelectedJobs`), after its commit. */
  announce(queue: string, lanes: readonly number[], dueAt: number): void;
  /** Resolves when no due job of a queue stands in the database. For tests. */
  idle(queue: string): Promise<void>;
  /** Works on a queue until stopped. */
  work<Result>(options: WorkerOptions<Result>): Promise<Worker>;
  /** Ends the leases of a server that is known to be gone. */
  takeOver(): Promise<void>;
  close(): Promise<void>;
}

const CHANNEL = 'lanes';
/** Of all workers of a process, apart from those that serve requests. */
const CONNECTIONS = 4;
/** Wake-ups of other processes are gathered this long: one NOTIFY for many transactions. */
const GATHER_MS = 5;
const IDLE_POLL_MS = 10;
/** A key is part of an index entry, of which PostgreSQL takes 2700 bytes. */
const MAX_KEY_LENGTH = 500;

/** PostgreSQL takes less than 8000 bytes in a message; a character is up to three of them. */
const MAX_MESSAGE_LENGTH = 2500;

/** What one process tells the others: where jobs came and from when on they are due, or that shares changed. */
type Message = { queue: string; came?: [where: JobLocation, dueAt: number][] };

/** @example const lanes = createLanes({ db, clock, log, metrics }); const worker = await lanes.work({ queue: 'push', run }); */
export function createLanes(dependencies: {
  db: Database;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  timings?: WorkerTimings;
}): Lanes {
  const { db, clock, log, metrics, timings } = dependencies;
  let own: Database | undefined;
  const openOwn = madeOnce(async () => {
    const settings = await lookupPlans(db);
    own = db.dedicated({ connections: CONNECTIONS, name: 'signalbox lanes', settings });
    return own;
  });
  const workers = new Map<string, Set<StartedWorker>>();
  const workersOf = (queue: string) => workers.get(queue) ?? [];
  const toNotify = new Map<string, Map<JobLocation, number>>();
  const bursts = new Map<string, BurstDetector>();
  let notifying: NodeJS.Timeout | undefined;

  const lateness = metrics.histogram<'queue'>({
    name: 'signalbox_job_lateness_seconds',
    help: 'Time between the due time of a job and its start',
    buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 30, 300, 3600],
  });
  const outcomes = metrics.counter<'queue' | 'outcome'>({
    name: 'signalbox_jobs_total',
    help: 'Jobs by outcome',
  });
  metrics.depths({
    name: 'signalbox_queue',
    read: () => queueDepths(db.sql, clock.now()),
  });

  /** Wakes the workers of this process directly, and the others by NOTIFY; the poll catches what both miss. */
  function announce(queue: string, came: Map<JobLocation, number>): void {
    const foreign = toNotify.get(queue) ?? new Map<JobLocation, number>();
    for (const [where, dueAt] of came) {
      const lane = typeof where === 'number' ? where : laneOf(where);
      let owned = false;
      for (const worker of workersOf(queue)) {
        if (!worker.owns(lane)) continue;
        worker.expect(where, dueAt);
        owned = true;
      }
      if (!owned) foreign.set(where, Math.min(dueAt, foreign.get(where) ?? dueAt));
    }
    if (foreign.size === 0) return;
    toNotify.set(queue, foreign);
    notifying ??= setTimeout(notifyGathered, GATHER_MS);
  }

  function burstsOf(queue: string): BurstDetector {
    let own = bursts.get(queue);
    if (own === undefined) {
      own = createBurstDetector();
      bursts.set(queue, own);
    }
    return own;
  }

  async function notifyGathered(): Promise<void> {
    clearTimeout(notifying);
    notifying = undefined;
    const messages = [...toNotify].flatMap(([queue, came]) => messagesOf(queue, came));
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
    const { queue, came } = JSON.parse(text) as Message;
    for (const worker of workersOf(queue)) {
      if (came === undefined) worker.balance();
      else for (const [where, dueAt] of came) worker.expect(where, dueAt);
    }
  }

  /** Messages may have been missed: everyone looks for themselves. */
  function reconnected(): void {
    for (const queue of workers.keys()) for (const worker of workersOf(queue)) worker.poll();
  }

  /** One ear for all workers. */
  const listen = madeOnce(async () => (await openOwn()).listen(CHANNEL, heard, reconnected));

  async function enqueue(tx: Tx, queue: string, jobs: NewJob[]): Promise<void> {
    if (jobs.length === 0) return;
    const now = clock.now();
    const came = new Map<JobLocation, number>();
    const flooding = burstsOf(queue).add(jobs.map(({ key }) => key));
    const rows = jobs.map(({ key, payload, dueAt = now }) => {
      if (key === '' || key.length > MAX_KEY_LENGTH)
        throw new Error(`a key has 1 to ${MAX_KEY_LENGTH} characters: "${key}"`);
      const lane = laneOf(key);
      // What is not due yet waits on the main line, which alone is read by the clock.
      const siding = dueAt <= now && flooding.has(key) ? key : '';
      const where = siding || lane;
      came.set(where, Math.min(dueAt, came.get(where) ?? dueAt));
      return { id: guid(), lane, siding, key, dueAt, attempt: 0, payload };
    });
    await insertJobs(tx.sql, queue, rows);
    tx.afterCommit(() => announce(queue, came));
  }

  return {
    enqueue,
    announce(queue, lanes, dueAt) {
      announce(queue, new Map(lanes.map((lane) => [lane, dueAt])));
    },
    async idle(queue) {
      while (await hasDueJob(db.sql, queue, clock.now())) await delay(IDLE_POLL_MS);
    },
    async work(options) {
      await listen();
      const own = await openOwn();
      const { queue } = options;
      const timeOf = lateness.series({ queue });
      const observer = {
        started: (ms: number) => timeOf.observe(Math.max(ms, 0) / 1000),
        settled: (outcome: string, count: number) => outcomes.series({ queue, outcome }).inc(count),
      };
      const sharesChanged = () => void notify({ queue });
      const worker = await startWorker(
        {
          db: own,
          clock,
          log,
          observer,
          enqueue: (tx, jobs) => enqueue(tx, queue, jobs),
          timings,
          sharesChanged,
        },
        options,
      );
      const mates = workers.get(queue) ?? new Set();
      workers.set(queue, mates.add(worker));
      // Whatever was announced while it started did not reach it.
      worker.poll();
      const { wake, owns, hold, isHeld, recheckAdmission: askAgain } = worker;
      return {
        wake,
        owns,
        hold,
        isHeld,
        recheckAdmission: askAgain,
        async stop(deadlineMs) {
          await worker.stop(deadlineMs);
          mates.delete(worker);
        },
      };
    },
    async takeOver() {
      await (await openOwn()).transaction(({ sql }) => endAllLeases(sql));
    },
    async close() {
      // A command ends as soon as its transaction is committed, and whoever works on its jobs is another process.
      await notifyGathered();
      await own?.close();
    },
  };
}

function messagesOf(queue: string, came: Map<JobLocation, number>): Message[] {
  const messages: Message[] = [];
  let length = MAX_MESSAGE_LENGTH;
  for (const entry of came) {
    length += JSON.stringify(entry).length;
    if (length >= MAX_MESSAGE_LENGTH) {
      messages.push({ queue, came: [] });
      length = 0;
    }
    messages.at(-1)!.came!.push(entry);
  }
  return messages;
}
