/**
 * Clicks that are known by their tracking address alone: in mails, in frames, on pages without the site tag. Where there is
 * a tag, it tells of the same click and by whom it was. So a click waits for the tag's word, and is an interaction of a
 * visitor of its own only when none comes: it makes the item more popular, and says nothing about anybody. The two halves
 * may reach different processes, so it waits in the queue, and what the tag told is looked up in the database.
 */
import type { Database, Tx } from '../../kernel/db/database.ts';
import { claimKeys } from '../../kernel/db/dedupe.ts';
import { guid } from '../../kernel/ids.ts';
import type { Lanes, Worker } from '../../kernel/lanes/index.ts';
import type { Log } from '../../kernel/telemetry/log.ts';
import { type Clock, DAY, SECOND } from '../../kernel/time/clock.ts';
import type { Interactions } from '../interactions/record.ts';
import { LATE_MS, PAIRED_CLICK, readToldClicks } from '../store/interactions.ts';
import { type Click, pairClicks } from './click-pairing.ts';

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
const MAX_GATHERED = 5000;
const MAX_PER_JOB = 1000;
/** The kind of the keys (dedupe.ts) of batches that are in the queue. */
const QUEUED_CLICKS = 'queued-clicks';

/** What becomes one job. */
interface Batch {
  id: string;
  tenantId: string;
  clicks: Click[];
}

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
  /** What could not be queued goes again as it was. */
  let stuck: Batch[] = [];
  let timer: NodeJS.Timeout | undefined;
  let flushing: Promise<void> = Promise.resolve();

  /** Known by its id: a connection that is lost does not tell whether the commit was. */
  async function queueOnce(tx: Tx, batches: readonly Batch[]): Promise<void> {
    const now = clock.now();
    const dueAt = now + WAIT_MS + LATE_MS;
    const byTenant = [...Map.groupBy(batches, ({ tenantId }) => tenantId)];
    // Ordered, so that two transactions with several tenants cannot wait for each other in a circle.
    for (const [tenantId, own] of byTenant.sort(([one], [other]) => (one < other ? -1 : 1))) {
      const keys = own.map(({ id }) => id);
      const claim = { tenantId, kind: QUEUED_CLICKS, keys, now, expiresAt: now + PAIRED_MS };
      const unclaimed = await claimKeys(tx.sql, claim);
      const jobs = own
        .filter(({ id }) => unclaimed.has(id))
        .map(({ clicks }) => ({ key: tenantId, payload: clicks, dueAt }));
      await lanes.enqueue(tx, QUEUE, jobs);
    }
  }

  async function enqueue(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const batches = [...stuck, ...batchesOf(gathered)];
    gathered = [];
    if (batches.length === 0) return;
    try {
      await db.transaction((tx) => queueOnce(tx, batches));
      stuck = [];
    } catch (err) {
      stuck = newestOf(batches);
      log.warn({ err, batches: stuck.length }, 'clicks not queued; tried again');
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
      if (gathered.length >= MAX_GATHERED) gathered.shift();
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

function batchesOf(gathered: readonly (Click & { tenantId: string })[]): Batch[] {
  return [...Map.groupBy(gathered, ({ tenantId }) => tenantId)].flatMap(([tenantId, own]) =>
    Array.from({ length: Math.ceil(own.length / MAX_PER_JOB) }, (_, index) => ({
      id: guid(),
      tenantId,
      clicks: own
        .slice(index * MAX_PER_JOB, (index + 1) * MAX_PER_JOB)
        .map(({ tenantId: _, ...click }) => click),
    })),
  );
}

/** The last batches, as far as there is room for their clicks. */
function newestOf(batches: readonly Batch[]): Batch[] {
  let room = MAX_GATHERED;
  return batches
    .toReversed()
    .filter(({ clicks }) => {
      room -= clicks.length;
      return room >= 0;
    })
    .reverse();
}
