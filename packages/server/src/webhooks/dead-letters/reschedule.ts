/**
 * Sending dead letters again: durable, resumable and throttled. The letters that are still in the store are the work
 * left, so a crash between two batches loses no place, and a batch moves from store to queue in one transaction.
 */
import type { Database, Tx } from '../../kernel/db/database.ts';
import type { Lanes, Worker } from '../../kernel/lanes/index.ts';
import type { Clock } from '../../kernel/time/clock.ts';
import { PUSH_QUEUE, type PushJob } from '../push/push-job.ts';
import { takeDeadLetters } from '../store/dead-letters.ts';
import { restoreEvents } from '../store/events.ts';
import { advanceReschedule, lockReschedule, type Reschedule } from '../store/reschedules.ts';
import { keepSubscription } from '../store/subscriptions.ts';
import { expiredBefore } from './dead-letter.ts';

export const RESCHEDULE_QUEUE = 'reschedule';
/** 500 letters every 50 ms: ten thousand a second leave the database room for everything else. */
const BATCH = 500;
const PAUSE_MS = 50;

export interface ReschedulePayload {
  tenantId: string;
  rescheduleId: string;
}

export async function startRescheduleWorker(dependencies: {
  db: Database;
  clock: Clock;
  lanes: Lanes;
}): Promise<Worker> {
  const { db, clock, lanes } = dependencies;

  /** Moves one batch; answers whether there may be more. */
  async function moveBatch(tx: Tx, { tenantId, rescheduleId: id }: ReschedulePayload): Promise<boolean> {
    // Locked: a process that lost the lane may still be at its batch, and what it has in hand is not done yet.
    const reschedule = await lockReschedule(tx.sql, tenantId, id);
    if (reschedule?.state !== 'running') return false;
    // Letters of a deleted subscription stay where they are (D24); in the queue they would be dropped.
    if (!(await keepSubscription(tx.sql, tenantId, reschedule.subscriptionId))) {
      await advanceReschedule(tx.sql, { tenantId, id, rescheduled: 0, state: 'cancelled' });
      return false;
    }
    const moved = await queueAgain(tx, reschedule);
    const state = moved > 0 ? 'running' : 'completed';
    await advanceReschedule(tx.sql, { tenantId, id, rescheduled: moved, state });
    return moved > 0;
  }

  async function queueAgain(tx: Tx, reschedule: Reschedule): Promise<number> {
    const { tenantId, subscriptionId, from, until, matched, rescheduled } = reschedule;
    const now = clock.now();
    const oldest = new Date(Math.max(from.getTime(), expiredBefore(now) + 1));
    // Not more than were asked for: by a clock that was set back, letters that die again would be in the range again.
    const limit = Math.min(BATCH, matched - rescheduled);
    if (limit === 0) return 0;
    const taken = await takeDeadLetters(tx.sql, { tenantId, subscriptionId, from: oldest, until }, limit);
    // By id: another subscription's letters of the same events may be on their way in the same millisecond, and of two
    // that write the same rows in different order each waits for the other.
    const letters = taken.toSorted((one, other) => (one.eventId < other.eventId ? -1 : 1));
    // The event goes back among the living under its old id, so the target sees the same `webhook-id` (D25); attempts
    // and time to live start anew.
    const events = letters.map(({ eventId: id, tenantEventId, eventType: type, profile, body }) => ({
      id,
      tenantEventId,
      type,
      profile,
      body,
    }));
    await restoreEvents(tx.sql, { tenantId, publishedAt: now, events });
    const jobs = letters.map(({ eventId }) => {
      const payload: PushJob = { tenantId, eventId, publishedAt: now };
      return { key: subscriptionId, payload };
    });
    await lanes.enqueue(tx, PUSH_QUEUE, jobs);
    return letters.length;
  }

  return lanes.work({
    queue: RESCHEDULE_QUEUE,
    concurrency: 4,
    async run(job) {
      const goesOn = await db.transaction((tx) => moveBatch(tx, job.payload as ReschedulePayload));
      return { outcome: goesOn ? { kind: 'hold', dueAt: clock.now() + PAUSE_MS } : { kind: 'done' } };
    },
    /** Who waits for one that failed again and again must be told; the letters that are left can be sent by another. */
    async settle(tx, settled) {
      for (const { job, outcome } of settled) {
        if (outcome.kind !== 'dead') continue;
        const { tenantId, rescheduleId: id } = job.payload as ReschedulePayload;
        await advanceReschedule(tx.sql, { tenantId, id, rescheduled: 0, state: 'failed' });
      }
    },
  });
}
