/**
 * Counts what came of recommended items. Views are gathered for a moment; a stop writes what is left, and what cannot be
 * written is tried again. Limits: a process that is killed loses the views of its last second.
 */
import type { AnySql, Database } from '../../kernel/db/database.ts';
import { claimKeys } from '../../kernel/db/dedupe.ts';
import { guid } from '../../kernel/ids.ts';
import type { Log } from '../../kernel/telemetry/log.ts';
import { type Clock, dayOf, HOUR, SECOND } from '../../kernel/time/clock.ts';
import * as store from '../store/statistics.ts';

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
  /** Writes what was counted. Does not fail: what cannot be written now is tried again. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

interface Batch {
  id: string;
  tenantId: string;
  rows: store.StatisticRow[];
  /** Then it is given up. */
  until: number;
}

/** What could not be written for so long never will be, and stands in the way of what can. */
const MAX_DELAY_MS = HOUR;

export function createStatistics(dependencies: { db: Database; clock: Clock; log: Log }): Statistics {
  const { db, clock, log } = dependencies;
  const waiting = new Map<string, Map<string, store.StatisticRow>>();
  /** By tenant: what could not be written. */
  const stuck = new Map<string, Batch>();
  let timer: NodeJS.Timeout | undefined;
  let flushing: Promise<void> = Promise.resolve();
  const today = () => dayOf(clock.now());

  /** A tenant whose batch could not be written gathers on until it is: the batch goes again as it was. */
  function nextBatches(): Batch[] {
    const batches = [...stuck.values()];
    for (const [tenantId, rows] of waiting) {
      if (stuck.has(tenantId)) continue;
      waiting.delete(tenantId);
      batches.push({ id: guid(), tenantId, rows: [...rows.values()], until: clock.now() + MAX_DELAY_MS });
    }
    return batches;
  }

  /** Known by its id: a connection that is lost does not tell whether the commit was. */
  async function writeOnce({ id, tenantId, rows, until }: Batch): Promise<void> {
    await db.transaction(async ({ sql }) => {
      const now = clock.now();
      const unclaimed = await claimKeys(sql, {
        tenantId,
        kind: 'statistics',
        keys: [id],
        now,
        expiresAt: until,
      });
      if (unclaimed.has(id)) await store.addStatistics(sql, tenantId, rows);
    });
  }

  async function write(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    for (const batch of nextBatches()) {
      const { tenantId, rows, until } = batch;
      try {
        await writeOnce(batch);
        stuck.delete(tenantId);
      } catch (err) {
        const givesUp = clock.now() >= until;
        if (givesUp) stuck.delete(tenantId);
        else stuck.set(tenantId, batch);
        const facts = { err, tenant: tenantId, rows: rows.length };
        if (givesUp) log.error(facts, 'views and clicks not counted');
        else log.warn(facts, 'views and clicks not counted yet');
      }
    }
    if (stuck.size + waiting.size > 0) flushLater();
  }
  function flush(): Promise<void> {
    flushing = flushing.then(write);
    return flushing;
  }
  function flushLater(): void {
    timer ??= setTimeout(() => void flush(), SECOND);
  }

  return {
    count(tenantId, { widgetId, itemPid, counter }) {
      const rows = waiting.get(tenantId) ?? new Map<string, store.StatisticRow>();
      waiting.set(tenantId, rows);
      const day = today();
      const key = `${day} ${widgetId} ${itemPid}`;
      const row = rows.get(key) ?? { ...store.NO_COUNTS, day, widgetId, itemPid };
      row[counter]++;
      rows.set(key, row);
      flushLater();
    },
    async add(sql, tenantId, entries) {
      const day = today();
      const rows = entries.map(({ counters, ...entry }) => ({
        ...store.NO_COUNTS,
        ...counters,
        ...entry,
        day,
      }));
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
    async close() {
      await flush();
      clearTimeout(timer);
    },
  };
}
