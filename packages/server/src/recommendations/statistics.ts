/** Counts what came of recommended items. Views and clicks are gathered for a moment; a stop writes what is left. */
import { type Clock, SECOND } from '../kernel/clock.ts';
import type { AnySql, Database } from '../kernel/db/database.ts';
import type { Log } from '../kernel/log.ts';
import * as store from './store/statistics.ts';

export type Counter = keyof store.Counters;

export interface Statistics {
  /** Counts soon. */
  count(tenantId: string, entry: { widgetId: string; itemPid: string; counter: 'views' | 'clicks' }): void;
  /** Counts in the caller's transaction. */
  add(
    sql: AnySql,
    tenantId: string,
    entries: { widgetId: string; itemPid: string; counters: Partial<store.Counters> }[],
  ): Promise<void>;
  report(
    tenantId: string,
    range: { from: string; until: string },
  ): Promise<({ widgetId: string } & store.Counters)[]>;
  reportItems(
    tenantId: string,
    input: { widgetId: string; from: string; until: string; take: number },
  ): Promise<({ itemPid: string } & store.Counters)[]>;
  flush(): Promise<void>;
  close(): Promise<void>;
}

const NOTHING: store.Counters = { views: 0, clicks: 0, addToCarts: 0, purchases: 0, revenue: 0 };

export function createStatistics(dependencies: { db: Database; clock: Clock; log: Log }): Statistics {
  const { db, clock, log } = dependencies;
  const waiting = new Map<string, Map<string, store.StatisticRow>>();
  let timer: NodeJS.Timeout | undefined;
  let flushing: Promise<void> = Promise.resolve();
  const today = () => new Date(clock.now()).toISOString().slice(0, 10);

  async function write(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const tenants = [...waiting];
    waiting.clear();
    for (const [tenantId, rows] of tenants) {
      try {
        await store.addStatistics(db.sql, tenantId, [...rows.values()]);
      } catch (err) {
        log.error({ err, tenant: tenantId, rows: rows.size }, 'views and clicks not counted');
      }
    }
  }
  function flush(): Promise<void> {
    flushing = flushing.then(write);
    return flushing;
  }

  return {
    count(tenantId, { widgetId, itemPid, counter }) {
      const rows = waiting.get(tenantId) ?? new Map<string, store.StatisticRow>();
      waiting.set(tenantId, rows);
      const day = today();
      const key = `${day} ${widgetId} ${itemPid}`;
      const row = rows.get(key) ?? { ...NOTHING, day, widgetId, itemPid };
      row[counter]++;
      rows.set(key, row);
      timer ??= setTimeout(() => void flush(), SECOND);
    },
    async add(sql, tenantId, entries) {
      const day = today();
      const rows = entries.map(({ counters, ...entry }) => ({ ...NOTHING, ...counters, ...entry, day }));
      if (rows.length > 0) await store.addStatistics(sql, tenantId, rows);
    },
    async report(tenantId, range) {
      await flush();
      return store.sumByWidget(db.sql, { tenantId, ...range });
    },
    async reportItems(tenantId, input) {
      await flush();
      return store.sumByItem(db.sql, { tenantId, ...input });
    },
    flush,
    close: flush,
  };
}
