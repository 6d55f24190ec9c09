/**
 * Tells whoever keeps items in memory that a tenant's catalog has changed: this process at once and awaited, so that the
 * answer after the change already shows it; the other processes over the database. The change is committed by then, so
 * nobody's failure to hear of it is a failure of the change: the revision in the tables tells them later.
 */
import type { Database } from '../kernel/db/database.ts';
import type { Log } from '../kernel/telemetry/log.ts';

export type ChangeListener = (tenantId: string) => Promise<void>;

export interface Changes {
  /** Never throws. */
  announce(tenantId: string): Promise<void>;
  listen(listener: ChangeListener): Promise<() => Promise<void>>;
}

const CHANNEL = 'catalog';

/** @example const stop = await changes.listen((tenantId) => engines.refresh(tenantId)); */
export function createChanges({ db, log }: { db: Database; log: Log }): Changes {
  const listeners = new Set<ChangeListener>();
  return {
    async announce(tenantId) {
      const heard = [...listeners].map(async (listener) => listener(tenantId));
      for (const outcome of await Promise.allSettled([...heard, db.notify(CHANNEL, tenantId)]))
        if (outcome.status === 'rejected')
          log.warn({ err: outcome.reason, tenant: tenantId }, 'change not announced');
    },
    async listen(listener) {
      listeners.add(listener);
      const stop = await db.listen(CHANNEL, (tenantId) => void listener(tenantId).catch(() => undefined));
      return async () => {
        listeners.delete(listener);
        await stop();
      };
    },
  };
}
