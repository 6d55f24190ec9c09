/**
 * Tells whoever keeps items in memory that a tenant's catalog has changed: this process at once and awaited, so that the
 * answer after the change already shows it; the other processes over the database.
 */
import type { Database } from '../kernel/db/database.ts';

export type ChangeListener = (tenantId: string) => Promise<void>;

export interface Changes {
  announce(tenantId: string): Promise<void>;
  listen(listener: ChangeListener): Promise<() => Promise<void>>;
}

const CHANNEL = 'catalog';

/** @example const stop = await changes.listen((tenantId) => engines.refresh(tenantId)); */
export function createChanges(db: Database): Changes {
  const listeners = new Set<ChangeListener>();
  return {
    async announce(tenantId) {
      await Promise.all([...listeners].map((listener) => listener(tenantId)));
      await db.notify(CHANNEL, tenantId);
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
