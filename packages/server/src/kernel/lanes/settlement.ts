/**
 * Writing: gathers the outcomes of jobs and the holds of keys, and writes them by the transaction. Load makes its own
 * batches: while one is on its way the next one gathers.
 *
 * A batch that cannot be written although the database is there is halved until the outcome that is in the way stands
 * alone. That one is tried again later and at last given up, or replaced as the queue decides (`whenStuck`). The others
 * do not wait for it. A database that has no room takes none of them, so all wait until it has.
 */
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { Database, Tx } from '../db/database.ts';
import { allSettledOrThrow } from '../db/together.ts';
import { isWithoutRoom } from '../db/unavailable.ts';
import type { Log } from '../telemetry/log.ts';
import type { Clock } from '../time/clock.ts';
import { backoff, MAX_FAILURES } from './backoff.ts';
import type { Job, NewJob, Outcome, Settled } from './job.ts';
import { ALL_LANES, laneOf } from './lane-of.ts';
import * as holdStore from './store/holds.ts';
import { deleteJobs, findJobs, writeOutcomes } from './store/jobs.ts';
import { fence } from './store/leases.ts';

export interface Settlement<Result> {
  add(settled: Settled<Result>): void;
  /** Remembers that a key is held. */
  hold(key: string, until: number): void;
  /** How many outcomes are not written yet. */
  size(): number;
  /** Writes what can be written. What cannot is left for the next owner of the lane, who runs it again. */
  end(): Promise<void>;
}

/** Writes what belongs to the outcomes, in the transaction that settles them. */
export type Settle<Result> = (tx: Tx, settled: Settled<Result>[]) => Promise<void>;

/** Decides what becomes of a job whose outcome cannot be written although it stands alone. */
export type WhenStuck = (job: Job, error: unknown) => { outcome: Outcome; jobs?: NewJob[] };

const MAX_PER_TRANSACTION = 2000;
/**
 * Writes that follow each other closely are held together: each costs the same few hundred microseconds again, here and in
 * PostgreSQL. With 10 ms a worker at its limit did some 5 % less. With 50 ms it did 2 % more, and a crash would repeat twice as much.
 */
const GATHER_MS = 25;
const ENOUGH = 1000;
const TRY_AGAIN_MS = 500;
const MAX_TRIES_AT_THE_END = 3;

export function createSettlement<Result>(dependencies: {
  db: Database;
  clock: Clock;
  log: Log;
  queue: string;
  settle: Settle<Result> | undefined;
  whenStuck: WhenStuck | undefined;
  keepDead: boolean;
  /** Adds jobs to the queue. */
  enqueue(tx: Tx, jobs: NewJob[]): Promise<void>;
  /** The token of a lane, as long as it is ours. */
  tokenOf(lane: number): number | undefined;
  /** How long an outcome that could not be written waits for its first retry. */
  backoffMs: number;
  /** Called after each commit. */
  written(settled: Settled<Result>[]): void;
  /** Called with a lane that turned out to be someone else's. */
  lost(lane: number): void;
}): Settlement<Result> {
  const { db, clock, log, queue, settle, whenStuck, keepDead, enqueue, tokenOf, backoffMs, written, lost } =
    dependencies;
  const ended: Settled<Result>[] = [];
  const holds = new Map<string, number>();
  /** Outcomes that stood in the way wait here until they are tried again. */
  const aside = new Set<NodeJS.Timeout>();
  const failures = new WeakMap<Settled<Result>, number>();
  let writing: Promise<void> | null = null;
  let ending = false;
  let absences = 0;
  /** By the monotonic clock. */
  let lastWrite = 0;

  function wake(): void {
    writing ??= writeAll();
  }

  async function writeAll(): Promise<void> {
    while ((ended.length > 0 || holds.size > 0) && !(ending && absences >= MAX_TRIES_AT_THE_END)) {
      await gather();
      if (holds.size > 0) await writeHolds();
      if (ended.length > 0) await write(ended.splice(0, MAX_PER_TRANSACTION));
    }
    // At once, and not when the promise resolves: what is added in between would be left lying.
    writing = null;
  }

  /** Whatever ends in this turn of the event loop joins the batch; under load, whatever ends soon. */
  async function gather(): Promise<void> {
    await nextTurn();
    const pause = lastWrite + GATHER_MS - performance.now();
    if (pause >= 1 && ended.length < ENOUGH && !ending) await delay(pause);
    lastWrite = performance.now();
  }

  async function write(batch: Settled<Result>[]): Promise<void> {
    try {
      await commit(batch, { hook: settle, keepDead });
    } catch (error) {
      await recover(
        batch.filter(({ job }) => job.slot !== null),
        error,
      );
    }
  }

  async function recover(batch: Settled<Result>[], error: unknown): Promise<void> {
    const withoutRoom = isWithoutRoom(error);
    if (withoutRoom) reportAway(batch, error);
    const standing = withoutRoom ? null : await standingOf(batch);
    if (standing === null) {
      ended.unshift(...batch);
      await delay(TRY_AGAIN_MS);
    } else if (standing.length < batch.length) {
      await write(standing);
    } else if (batch.length === 1) {
      await putAside(batch[0]!, error);
    } else if (batch.length > 1) {
      const middle = batch.length >> 1;
      await write(batch.slice(0, middle));
      await write(batch.slice(middle));
    }
  }

  /**
   * Those whose jobs are still there, or null when the database is not. Jobs that left were settled by a commit whose
   * answer got lost, or purged: either way there is nothing more to write for them.
   */
  async function standingOf(batch: Settled<Result>[]): Promise<Settled<Result>[] | null> {
    try {
      const isDistributed = await db.isDistributed();
      const rows = await db.transaction(async ({ sql }) => {
        // A lock, to find out whether the database takes writes. Any lane will do.
        await fence(sql, { queue, tokens: new Map([[ALL_LANES[0]!, 0]]), isDistributed });
        return findJobs(
          sql,
          queue,
          batch.map(({ job }) => job),
        );
      });
      absences = 0;
      for (const { job } of batch) job.row = rows.get(job.id) ?? job.row;
      const left = batch.filter(({ job }) => !rows.has(job.id));
      if (left.length > 0)
        log.warn({ queue, jobs: left.length }, 'jobs were gone before their outcome was written');
      written(left);
      return batch.filter(({ job }) => rows.has(job.id));
    } catch (error) {
      reportAway(batch, error);
      return null;
    }
  }

  function reportAway(batch: Settled<Result>[], error: unknown): void {
    absences += 1;
    log.warn({ err: error, queue, outcomes: batch.length + ended.length }, 'database away, outcomes wait');
  }

  async function commit(
    batch: Settled<Result>[],
    { hook, keepDead }: { hook: Settle<Result> | undefined; keepDead: boolean },
  ): Promise<void> {
    // The tokens are those of the moment: a lane that is lost and taken again before the commit has another one.
    const ours = batch.filter(({ job }) => job.slot !== null);
    const tokens = tokensOf(ours.map(({ job }) => job.lane));
    if (ours.length === 0) return;
    const isDistributed = await db.isDistributed();
    const settled = await db.transaction(async (tx) => {
      const valid = await fence(tx.sql, { queue, tokens, isDistributed });
      for (const lane of tokens.keys()) if (!valid.has(lane)) tx.afterCommit(() => lost(lane));
      const settled = ours.filter(({ job }) => valid.has(job.lane));
      const jobs = settled.map(({ job }) => job);
      if (settled.length > 0) {
        const [deleted] = await allSettledOrThrow([
          deleteJobs(tx.sql, { queue, jobs, isDistributed }),
          writeOutcomes(tx.sql, { queue, settled, keepDead, now: clock.now() }),
          Promise.try(() => hook?.(tx, settled)),
        ]);
        if (deleted < jobs.length) throw new Error(`${jobs.length - deleted} jobs are gone`);
      }
      return settled;
    });
    absences = 0;
    written(settled);
  }

  async function writeHolds(): Promise<void> {
    const batch = new Map(holds);
    holds.clear();
    const tokens = tokensOf([...batch.keys()].map(laneOf));
    try {
      const isDistributed = await db.isDistributed();
      await db.transaction(async ({ sql }) => {
        const valid = await fence(sql, { queue, tokens, isDistributed });
        const ours = new Map([...batch].filter(([key]) => valid.has(laneOf(key))));
        await holdStore.writeHolds(sql, { queue, holds: ours, now: clock.now() });
      });
    } catch (error) {
      // The keys stay held in memory; only the next owner of the lane would not know.
      log.error({ err: error, queue, keys: batch.size }, 'holds could not be written');
    }
  }

  function tokensOf(lanes: number[]): Map<number, number> {
    const tokens = new Map<number, number>();
    for (const lane of lanes) {
      const token = tokenOf(lane);
      if (token !== undefined) tokens.set(lane, token);
    }
    return tokens;
  }

  async function putAside(settled: Settled<Result>, error: unknown): Promise<void> {
    const { job } = settled;
    const failed = (failures.get(settled) ?? 0) + 1;
    failures.set(settled, failed);
    log.error({ err: error, queue, job: job.id, failed }, 'outcome could not be written');
    if (whenStuck !== undefined) {
      if (await replace(job, error, whenStuck)) return;
    } else if (failed >= MAX_FAILURES && (await giveUp(job, error))) return;
    if (ending) return;
    const timer = setTimeout(
      () => {
        aside.delete(timer);
        ended.push(settled);
        wake();
      },
      backoff(failed - 1, backoffMs),
    );
    aside.add(timer);
  }

  /** Writes the outcome and the jobs that `whenStuck` gives, without the hook that failed. */
  async function replace(job: Job, error: unknown, whenStuck: WhenStuck): Promise<boolean> {
    try {
      const { outcome, jobs = [] } = whenStuck(job, error);
      await commit([{ job, outcome }], { hook: (tx) => enqueue(tx, jobs), keepDead });
      return true;
    } catch (error) {
      log.error({ err: error, queue, job: job.id }, 'stuck job could not be replaced');
      return false;
    }
  }

  async function giveUp(job: Job, error: unknown): Promise<boolean> {
    const dead: Settled<Result> = { job, outcome: { kind: 'dead', reason: `not written: ${error}` } };
    try {
      await commit([dead], { hook: undefined, keepDead: true });
      return true;
    } catch (error) {
      log.error({ err: error, queue, job: job.id }, 'job could not be given up');
      return false;
    }
  }

  return {
    add(settled) {
      ended.push(settled);
      wake();
    },
    hold(key, until) {
      holds.set(key, until);
      wake();
    },
    size: () => ended.length + aside.size,
    async end() {
      ending = true;
      for (const timer of aside) clearTimeout(timer);
      await writing;
    },
  };
}
