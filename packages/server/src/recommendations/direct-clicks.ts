/**
 * Clicks that are known by their tracking address alone: in mails, in frames, on pages without the site tag. Where there is
 * a tag, it tells of the same click and by whom it was. So a click waits for the tag's word, and is an interaction of a
 * visitor of its own only when none comes: it makes the item more popular, and says nothing about anybody. The two halves
 * may reach different processes, so it waits in the queue, and what the tag told is looked up in the database.
 */
import { type Clock, DAY, SECOND } from '../kernel/clock.ts';
import type { Database, Tx } from '../kernel/db/database.ts';
import { claimKeys } from '../kernel/db/dedupe.ts';
import { guid } from '../kernel/ids.ts';
import type { Lanes, Worker } from '../kernel/lanes/index.ts';
import type { Log } from '../kernel/log.ts';
import { type Click, pairClicks } from './click-pairing.ts';
import type { Interactions } from './interactions.ts';
import { LATE_MS, PAIRED_CLICK, readToldClicks } from './store/interactions.ts';

export interface DirectClicks {
  /** A tracking address is followed. */
  followed(tenantId: string, click: Omit<Click, 'at'>): void;
  /** Puts into the queue what was gathered. Does not fail: what cannot be put there now is tried again. */
  flush(): Promise<void>;
  work(): Promise<Worker>;
  close(): Promise<void>;
}

const QUEUE = 'direct-clicks';
const GATHER_MS = SECOND;
/** The tag tells of a click as it happens, and for a while again if that fails. */
const WAIT_MS = 30 * SECOND;
/** A half that was paired is no other click's, however late the queue comes to it. */
const PAIRED_MS = DAY;
/** So many in a moment are no visitors: the oldest are forgotten. */
const MOST_GATHERED = 5000;
const MOST_PER_JOB = 1000;

/** @example directClicks.followed(tenantId, { widgetId, itemPid }) */
export function createDirectClicks(dependencies: {
  db: Database;
  clock: Clock;
  log: Log;
  lanes: Lanes;
  interactions: Interactions;
}): DirectClicks {
  const { db, clock, log, lanes, interactions } = dependencies;
  let gathered: (Click & { tenantId: string })[] = [];
  let timer: NodeJS.Timeout | undefined;
  let flushing: Promise<void> = Promise.resolve();

  async function enqueue(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const clicks = gathered;
    gathered = [];
    if (clicks.length === 0) return;
    const dueAt = clock.now() + WAIT_MS + LATE_MS;
    const jobs = [...Map.groupBy(clicks, ({ tenantId }) => tenantId)].flatMap(([key, own]) =>
      Array.from({ length: Math.ceil(own.length / MOST_PER_JOB) }, (_, index) => ({
        key,
        payload: own
          .slice(index * MOST_PER_JOB, (index + 1) * MOST_PER_JOB)
          .map(({ tenantId: _, ...click }) => click),
        dueAt,
      })),
    );
    try {
      await db.transaction((tx) => lanes.enqueue(tx, QUEUE, jobs));
    } catch (err) {
      log.warn({ err, clicks: clicks.length }, 'clicks not queued; tried again');
      gathered = [...clicks, ...gathered].slice(-MOST_GATHERED);
      flushLater();
    }
  }
  function flush(): Promise<void> {
    flushing = flushing.then(enqueue);
    return flushing;
  }
  function flushLater(): void {
    timer ??= setTimeout(() => void flush(), GATHER_MS).unref();
  }

  /** A tenant's clicks are settled in one place at a time: its lane has one owner. */
  async function settle(tx: Tx, tenantId: string, clicks: readonly Click[]): Promise<void> {
    const times = clicks.map(({ at }) => at);
    const told = await readToldClicks(tx.sql, {
      tenantId,
      itemPids: [...new Set(clicks.map(({ itemPid }) => itemPid))],
      from: Math.min(...times) - WAIT_MS,
      until: Math.max(...times) + WAIT_MS,
    });
    const { alone, paired } = pairClicks(clicks, told, WAIT_MS);
    const now = clock.now();
    const keys = paired.map(({ id }) => id);
    await claimKeys(tx.sql, { tenantId, kind: PAIRED_CLICK, keys, now, expiresAt: now + PAIRED_MS });
    const rows = alone.map(({ itemPid, at }) => ({
      kind: 'click' as const,
      visitor: `click-${guid()}`,
      itemPid,
      at,
    }));
    if (rows.length > 0) await interactions.record(tx, tenantId, rows);
  }

  return {
    followed(tenantId, click) {
      if (gathered.length >= MOST_GATHERED) gathered.shift();
      gathered.push({ tenantId, ...click, at: clock.now() });
      flushLater();
    },
    flush,
    work: () =>
      lanes.work({
        queue: QUEUE,
        run: async () => ({ outcome: { kind: 'done' } }),
        async settle(tx, settled) {
          for (const [tenantId, jobs] of Map.groupBy(settled, ({ job }) => job.key))
            await settle(
              tx,
              tenantId,
              jobs.flatMap(({ job }) => job.payload as Click[]),
            );
        },
      }),
    close: flush,
  };
}
