/**
 * Merges move. The transaction that merges profiles writes identifiers, traits and the redirect, and enqueues a job for each younger
 * profile. The worker of the queue then moves the data of the modules to the living profile, a page per transaction.
 */
import type { Database, Tx } from '../kernel/db/database.ts';
import type { Lanes } from '../kernel/lanes/index.ts';
import { keyInLane, laneOfNumber } from '../kernel/lanes/lane-of.ts';
import type { PersonalData } from '../kernel/module.ts';
import { holdProfile, readLiving } from './store/profiles.ts';

/** The queue of all that follows from signals and merges, in the lanes of persons. */
export const FOLLOW_QUEUE = 'follow';

/** The payload of a job that calls `moveData`. */
export interface MergePayload {
  tenant: string;
  /** The number of the merged profile. */
  merge: number;
}

/** Enqueues a job for each merged profile, in its lane: there the redirect is visible as soon as the job is. */
export async function enqueueMoves(
  tx: Tx,
  input: { lanes: Pick<Lanes, 'enqueue'>; tenantId: string; merged: readonly number[] },
): Promise<void> {
  const jobs = input.merged.map((merge) => {
    const payload: MergePayload = { tenant: input.tenantId, merge };
    return { key: keyInLane(laneOfNumber(merge), 'merge'), payload };
  });
  await input.lanes.enqueue(tx, FOLLOW_QUEUE, jobs);
}

/** Moves data of a merged profile to the living one. There is nothing to do for a number without a living profile. */
export async function moveData(
  { db, personalData }: { db: Database; personalData: readonly PersonalData[] },
  { tenantId, systemId }: { tenantId: string; systemId: number },
): Promise<void> {
  for (const data of personalData) {
    if (data.merge === undefined) continue;
    for (let isMore = true; isMore; ) {
      isMore = await db.transaction(async (tx) => {
        const into = await holdLiving(tx, tenantId, systemId);
        return into !== undefined && (await data.merge!(tx, { tenantId, from: systemId, into }));
      });
    }
  }
}

/**
 * The number of the living profile of a merged one. It is held until the page is committed: if it were merged and moved meanwhile, the
 * page would stay behind.
 */
async function holdLiving({ sql }: Tx, tenantId: string, merged: number): Promise<number | undefined> {
  for (;;) {
    const into = (await readLiving(sql, tenantId, [merged])).get(merged)?.systemId;
    if (into === undefined || into === merged) return undefined;
    if (await holdProfile(sql, tenantId, into)) return into;
  }
}
