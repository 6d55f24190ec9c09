/**
 * Forgetting a person. First the profile goes, and with it every way to find it: from then on nobody can add to it. Then
 * each module removes what it holds, at once, and once more an hour later: a transaction that had found the profile before
 * it went may have written after the first sweep. A crash in between leaves the erasure open, and the next sweep ends it.
 */
import { type Clock, HOUR } from '../kernel/clock.ts';
import type { Database, Tx } from '../kernel/db/database.ts';
import type { Log } from '../kernel/log.ts';
import * as store from './store.ts';

/** Removes what a module holds of a person and answers how many rows that were. Called more than once per person. */
export interface Eraser {
  /** What is removed, in the plural: `signals`. */
  name: string;
  erase(tx: Tx, subject: store.Subject & { tenantId: string }): Promise<number>;
}

export interface Forgotten {
  profileId: string;
  /** Rows removed, by what they were. */
  removed: Record<string, number>;
}

const LAST_SWEEP_MS = HOUR;

export function createErasures(dependencies: {
  db: Database;
  clock: Clock;
  log: Log;
  erasers: readonly Eraser[];
}) {
  const { db, clock, log, erasers } = dependencies;

  async function sweep(tenantId: string, subject: store.Subject): Promise<Record<string, number>> {
    const removed: Record<string, number> = {};
    for (const { name, erase } of erasers) {
      removed[name] = await db.transaction((tx) => erase(tx, { tenantId, ...subject }));
    }
    return removed;
  }

  return {
    /** Forgets the person behind a living profile's number; undefined when there is none any more. */
    async forget(tenantId: string, systemId: number): Promise<Forgotten | undefined> {
      const erasure = await db.transaction(async ({ sql }) => {
        const subject = await store.removeProfile(sql, tenantId, systemId);
        if (subject === undefined) return undefined;
        const id = subject.profileIds[0]!;
        await store.insertErasure(sql, { tenantId, id, subject, now: new Date(clock.now()) });
        return { id, subject };
      });
      if (erasure === undefined) return undefined;
      return { profileId: erasure.id, removed: await sweep(tenantId, erasure.subject) };
    },
    /** The last sweep of erasures that are old enough for it; run by the scheduler. */
    async finish(): Promise<void> {
      const open = await store.openErasures(db.sql, new Date(clock.now() - LAST_SWEEP_MS));
      for (const { tenantId, id, subject } of open) {
        try {
          const removed = await sweep(tenantId, subject);
          await store.completeErasure(db.sql, { tenantId, id, now: new Date(clock.now()) });
          log.info({ tenant: tenantId, profile: id, removed }, 'a person was forgotten');
        } catch (err) {
          // It stays open for the next time. The others must not wait behind it: they have a right to be forgotten.
          log.error({ err, tenant: tenantId, profile: id }, 'a person was not forgotten yet');
        }
      }
    },
  };
}
