/**
 * A tenant's own decisions about what its models count. A change is built into the tenant's next model, which is asked
 * for in the same transaction; until then answers stay as they were.
 */
import type { Database, Tx } from '../../../kernel/db/database.ts';
import { invalid } from '../../../kernel/errors.ts';
import type { Clock } from '../../../kernel/time/clock.ts';
import * as store from '../../store/settings.ts';
import { complete, type RecommendationSettings, type SettingsInput, settingsViolations } from './settings.ts';

export interface Settings {
  /** `updatedAt` null: nobody has changed anything. */
  get(tenantId: string): Promise<RecommendationSettings & { updatedAt: Date | null }>;
  /** Replaces: what is omitted takes its default. */
  put(tenantId: string, input: SettingsInput): Promise<RecommendationSettings & { updatedAt: Date }>;
}

export function createSettings(dependencies: {
  db: Database;
  clock: Clock;
  /** Asks for a build. */
  changed: (tx: Tx, tenantId: string) => Promise<void>;
}): Settings {
  const { db, clock, changed } = dependencies;
  return {
    async get(tenantId) {
      const found = await store.findSettings(db.sql, tenantId);
      return { ...complete(found ?? {}), updatedAt: found?.updatedAt ?? null };
    },
    async put(tenantId, input) {
      const settings = complete(input);
      const violations = settingsViolations(settings);
      if (violations.length > 0) throw invalid(violations);
      const updatedAt = new Date(clock.now());
      await db.transaction(async (tx) => {
        await store.upsertSettings(tx.sql, { tenantId, ...settings, updatedAt });
        await changed(tx, tenantId);
      });
      return { ...settings, updatedAt };
    },
  };
}
