/**
 * One worker of a queue in one process: leases lanes, reads their due jobs, runs them concurrently and writes the
 * outcomes in batches. A crash loses nothing and repeats at most what was in hand.
 */
import type { Database, Tx } from '../db/database.ts';
import { isUnavailable, isWithoutRoom } from '../db/unavailable.ts';
import type { Log } from '../telemetry/log.ts';
import type { Clock } from '../time/clock.ts';
import { backoff, MAX_FAILURES } from './backoff.ts';
import type { Job, JobLocation, NewJob, Outcome, Settled } from './job.ts';
import { laneOf } from './lane-of.ts';
import { createLaneReader, PORTIONS, ROOM } from './lane-reader.ts';
import { createLeases, type LeaseTimings } from './leases.ts';
import { type Admission, createReadyJobs } from './ready-jobs.ts';
import { createSettlement, type Settle, type WhenStuck } from './settlement.ts';

export interface WorkerOptions<Result> {
  queue: string;
  /** Runs one job. `signal` fires when the lease is lost or the process must stop: the outcome no longer counts. */
  run(job: Job, context: { signal: AbortSignal }): Promise<{ outcome: Outcome; result?: Result }>;
  /** Told of jobs some time before they run, many at once: to fetch together what each will need. Must not throw. */
  prefetch?(jobs: Job[]): void;
  /** Writes what belongs to the outcomes, in the transaction that settles them. There is no result where `run` threw. */
  settle?: Settle<Result>;
  /**
   * Decides about a job whose outcome cannot be written although it stands alone. The outcome that it returns is
   * written without `settle`, and its jobs are added to the queue in that transaction. With it no job is given up
   * because of `settle`. By default such a job is tried again, and given up at last.
   */
  whenStuck?: WhenStuck;
  /** Limits per key, told how many jobs more may start; by default `keyConcurrency` jobs of a key at a time. */
  admit?(key: string, running: number, free: number): Admission;
  keyConcurrency?: number;
  /** Jobs in flight over all keys. */
  concurrency?: number;
  /** False for queues whose `settle` keeps its own dead letters. */
  keepDead?: boolean;
}

export interface WorkerObserver {
  started(latenessMs: number): void;
  settled(kind: Outcome['kind'], count: number): void;
}

export interface Worker {
  /** Looks at the clock anew: what was to wait for it may be due. */
  wake(): void;
  owns(lane: number): boolean;
  /** Holds a key of an own lane: none of its jobs starts before `until`, a past one lifts the hold. Survives a crash. */
  hold(key: string, until: number): void;
  /** Whether a key of an own lane is held. */
  isHeld(key: string): boolean;
  /** Says that `admit` may answer otherwise for a key: jobs of it that were turned away need not wait for one that runs. */
  recheckAdmission(key: string): void;
  /** Stops claiming, lets what runs end within the deadline, writes the outcomes and gives the lanes back. */
  stop(deadlineMs: number): Promise<void>;
}

/** What the other workers need of one. */
export interface StartedWorker extends Worker {
  /** Says that jobs came. */
  expect(where: JobLocation, dueAt: number): void;
  /** Looks for jobs that no one announced. */
  poll(): void;
  /** Takes lanes that became free, and gives away what is more than a fair share. */
  balance(): void;
}

export interface WorkerTimings extends LeaseTimings {
  pollMs: number;
  /** The first of the growing delays after something unexpected. */
  backoffMs: number;
}

export const TIMINGS: WorkerTimings = { leaseMs: 15_000, beatMs: 4000, pollMs: 5000, backoffMs: 1000 };

/** With so many outcomes unwritten nothing more is started. */
const MAX_UNWRITTEN = 4000;
/** What the database had no room for is tried again after so many times the first delay. */
const WITHOUT_ROOM = 10;
/** Alarms are never set further ahead: a timer does not follow the clock when that is changed. */
const MAX_ALARM_MS = 60_000;

export async function startWorker<Result>(
  dependencies: {
    db: Database;
    clock: Clock;
    log: Log;
    observer: WorkerObserver;
    /** Adds jobs to the worker's queue. */
    enqueue: (tx: Tx, jobs: NewJob[]) => Promise<void>;
    timings?: WorkerTimings;
    sharesChanged: () => void;
  },
  options: WorkerOptions<Result>,
): Promise<StartedWorker> {
  const { db, clock, log, observer, enqueue, timings = TIMINGS, sharesChanged } = dependencies;
  const { queue, run, settle, whenStuck, keyConcurrency = 1, concurrency = 64, keepDead = true } = options;
  const readyJobs = createReadyJobs({ room: ROOM, portions: PORTIONS });
  const reader = createLaneReader({
    db,
    clock,
    log,
    queue,
    readyJobs: readyJobs,
    arrived: (jobs) => options.prefetch?.(jobs),
    changed: pumpSoon,
  });
  let running = 0;
  let stopping: Promise<void> | null = null;
  let noneRuns = () => {};
  let pumping = false;
  let alarm: NodeJS.Timeout | undefined;

  const leases = createLeases({
    db,
    log,
    queue,
    timings,
    sharesChanged,
    keeper: {
      open(lane, holds) {
        for (const [key, until] of holds) readyJobs.hold(key, until);
        reader.open(lane);
        pumpSoon();
      },
      close(lane) {
        reader.close(lane);
        readyJobs.drop(lane.number);
      },
      pause(lane) {
        reader.pause(lane);
        readyJobs.unload(lane.number);
      },
      resume(lane) {
        reader.resume(lane);
        pumpSoon();
      },
      inFlight: ({ number }) => readyJobs.stateOf(number).inFlight,
    },
  });

  const settlement = createSettlement<Result>({
    db,
    clock,
    log,
    queue,
    settle,
    whenStuck,
    keepDead,
    enqueue,
    tokenOf: (number) => leases.get(number)?.token,
    backoffMs: timings.backoffMs,
    written(settled) {
      const counts = new Map<Outcome['kind'], number>();
      for (const { job, outcome } of settled) {
        counts.set(outcome.kind, (counts.get(outcome.kind) ?? 0) + 1);
        readyJobs.settled(job);
        reader.left(job);
        if (outcome.kind === 'retry' || outcome.kind === 'hold') reader.expect(job.lane, outcome.dueAt);
      }
      for (const [kind, count] of counts) observer.settled(kind, count);
      leases.settled();
      pumpSoon();
    },
    lost(number) {
      const lane = leases.get(number);
      if (lane !== undefined) leases.lose(lane);
    },
  });

  /** Starts what may start, reads more where there is room, and sets the alarm for the next thing that falls due. */
  function pump(): void {
    if (stopping !== null) return;
    const now = clock.now();
    const monotonicNow = performance.now();
    readyJobs.release(now);
    while (running < concurrency && settlement.size() < MAX_UNWRITTEN) {
      const job = readyJobs.next(admit, now);
      if (job === null) break;
      void start(job, now, monotonicNow);
    }
    const wait = Math.min(reader.step(now), readyJobs.release(now) - now);
    clearTimeout(alarm);
    alarm = setTimeout(pump, Math.min(Math.max(wait, 1), MAX_ALARM_MS));
  }

  /** Many things happen in one turn of the event loop: one look at everything serves them all. */
  function pumpSoon(): void {
    if (pumping) return;
    pumping = true;
    setImmediate(() => {
      pumping = false;
      pump();
    });
  }

  function admit(key: string, ofKey: number): Admission {
    if (options.admit === undefined) return { admitted: ofKey < keyConcurrency };
    try {
      return options.admit(key, ofKey, concurrency - running);
    } catch (error) {
      log.error({ err: error, queue }, 'admission failed unexpectedly');
      return { admitted: false };
    }
  }

  async function start(job: Job, now: number, monotonicNow: number): Promise<void> {
    const lane = leases.valid(job.lane, monotonicNow);
    if (lane === undefined) return;
    const { signal } = lane.abort;
    observer.started(now - job.dueAt);
    running += 1;
    let settled: Settled<Result>;
    try {
      const { outcome, result } = await run(job, { signal });
      settled = { job, outcome, result };
    } catch (error) {
      settled = failed(job, error);
    }
    running -= 1;
    if (!signal.aborted) {
      readyJobs.finished(job);
      settlement.add(settled);
    }
    if (running === 0) noneRuns();
    pumpSoon();
  }

  function failed(job: Job, error: unknown): Settled<Result> {
    logFailure(job, error);
    // A disk that is full over a weekend is no reason to give anything up.
    if (isWithoutRoom(error))
      return { job, outcome: { kind: 'hold', dueAt: clock.now() + WITHOUT_ROOM * timings.backoffMs } };
    const isLast = job.attempt + 1 >= MAX_FAILURES;
    const dueAt = clock.now() + backoff(job.attempt, timings.backoffMs);
    return {
      job,
      outcome: isLast ? { kind: 'dead', reason: String(error) } : { kind: 'retry', dueAt },
      unexpected: true,
    };
  }

  /** As for requests: what a stopped database fails is nothing to look for in the code, and there are hundreds in hand. */
  function logFailure({ id, attempt }: Job, error: unknown): void {
    const about = { queue, job: id, attempt };
    const { code } = (error ?? {}) as { code?: unknown };
    if (typeof code === 'string' && isUnavailable(code))
      log.warn({ ...about, reason: String(error) }, 'job could not be done now');
    else log.error({ ...about, err: error }, 'job failed unexpectedly');
  }

  async function stop(deadlineMs: number): Promise<void> {
    clearInterval(polls);
    clearTimeout(alarm);
    if (running > 0) {
      const deadline = setTimeout(() => noneRuns(), deadlineMs);
      await new Promise<void>((resolve) => {
        noneRuns = resolve;
      });
      clearTimeout(deadline);
    }
    leases.abort();
    await Promise.all([settlement.end(), reader.idle()]);
    await leases.end();
  }

  await leases.start();
  const polls = setInterval(() => void reader.poll(), timings.pollMs);

  return {
    expect(where, dueAt) {
      reader.expect(where, dueAt);
      pumpSoon();
    },
    wake: pumpSoon,
    owns: (number) => leases.valid(number) !== undefined,
    hold(key, until) {
      if (leases.get(laneOf(key)) === undefined) return;
      readyJobs.hold(key, until);
      settlement.hold(key, until);
      pumpSoon();
    },
    isHeld: readyJobs.isHeld,
    recheckAdmission(key) {
      readyJobs.recheckAdmission(key);
      pumpSoon();
    },
    poll: () => void reader.poll(),
    balance: leases.balance,
    stop(deadlineMs) {
      stopping ??= stop(deadlineMs);
      return stopping;
    },
  };
}
