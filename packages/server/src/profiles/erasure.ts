/**
 * Forgetting a person. The profile goes first, and with it every way to find it: from then on nobody can add to it. Then each module
 * removes its data at once, and once more an hour later, because a transaction that found the profile before it went may write after the
 * first sweep. A crash in between leaves the erasure open, and the next sweep ends it.
 */
import type { Database } from '../kernel/db/database.ts';
import type { PersonalData, Subject } from '../kernel/module.ts';
import type { Log } from '../kernel/telemetry/log.ts';
import { type Clock, HOUR } from '../kernel/time/clock.ts';
import * as store from './store/erasures.ts';

export interface Forgotten {
  profileId: string;
  /** Rows removed, by the name of the data. */
  removed: Record<string, number>;
}

const LAST_SWEEP_MS = HOUR;

export function createErasures(dependencies: {
  db: Database;
  clock: Clock;
  log: Log;
  personalData: readonly PersonalData[];
}) {
  const { db, clock, log, personalData } = dependencies;

  async function sweep(subject: Subject): Promise<Record<string, number>> {
    const removed: Record<string, number> = {};
    for (const data of personalData) {
      removed[data.name] = await db.transaction((tx) => data.erase(tx, subject));
    }
    return removed;
  }

  return {
    /** Forgets the person of a living profile's number. Returns undefined if the number has none any more. */
    async forget(tenantId: string, systemId: number): Promise<Forgotten | undefined> {
      const erasure = await db.transaction(async ({ sql }) => {
        const subject = await store.removeProfile(sql, tenantId, systemId);
        if (subject === undefined) return undefined;
        const id = subject.profileIds[0]!;
        await store.insertErasure(sql, { id, subject, now: new Date(clock.now()) });
        return { id, subject };
      });
      if (erasure === undefined) return undefined;
      return { profileId: erasure.id, removed: await sweep(erasure.subject) };
    },
    /** The last sweep of erasures that are old enough for it; run by the scheduler. */
    async finish(): Promise<void> {
      const open = await store.openErasures(db.sql, new Date(clock.now() - LAST_SWEEP_MS));
      for (const { id, subject } of open) {
        const { tenantId } = subject;
        try {
          const removed = await sweep(subject);
          await store.completeErasure(db.sql, { tenantId, id, now: new Date(clock.now()) });
          log.info({ tenant: tenantId, profile: id, removed }, 'a person was forgotten');
        } catch (err) {
          // It stays open for the next time. The others must not wait for it, because they have a right to be forgotten.
          log.error({ err, tenant: tenantId, profile: id }, 'a person was not forgotten yet');
        }
      }
    },
  };
}
