/** Feeds that are fetched from an address on a schedule: a timer per feed, through the egress guard. */
import { VERSION } from '../kernel/config/version.ts';
import type { Database, Tx } from '../kernel/db/database.ts';
import type { Egress } from '../kernel/egress/agent.ts';
import type { Lanes, Worker } from '../kernel/lanes/index.ts';
import { charsetIn, formatOf } from '../kernel/tables/index.ts';
import type { Log } from '../kernel/telemetry/log.ts';
import { type Clock, HOUR, MINUTE } from '../kernel/time/clock.ts';
import type { Import } from './import-store.ts';
import type { Imports } from './imports.ts';
import * as store from './store.ts';

const QUEUE = 'catalog-feeds';
/** Feeds that come by drops are given up: the places of those who fetch are everyone's. */
const MAX_FETCH_MS = HOUR;
const FEEDS_AT_A_TIME = 8;
/** A feed of which nobody can say how often it is fetched is looked for again after this. */
const UNKNOWN_MINUTES = 1;

interface Payload {
  tenantId: string;
  version: number;
}

export async function scheduleFeed(lanes: Lanes, tx: Tx, feed: store.Feed, dueAt: number): Promise<void> {
  const payload: Payload = { tenantId: feed.tenantId, version: feed.version };
  await lanes.enqueue(tx, QUEUE, [{ key: feed.id, payload, dueAt }]);
}

/** Fetches the feed of an address now and imports it. */
export async function fetchFeed(
  {
    egress,
    imports,
    signal,
    mostMs = MAX_FETCH_MS,
  }: { egress: Egress; imports: Imports; signal?: AbortSignal; mostMs?: number },
  feed: store.Feed,
): Promise<Import> {
  const { tenantId, id: feedId, url, mode, language, country } = feed;
  const answered: Answered = { charset: null };
  return imports.run({
    tenantId,
    feedId,
    source: url,
    content: download(egress, { url, answered, signal, mostMs }),
    charset: () => answered.charset,
    format: feed.format ?? formatOf(new URL(url).pathname),
    mode,
    language,
    country,
  });
}

/** What the address tells of its content, once it has answered. */
interface Answered {
  charset: string | null;
}

interface Download {
  url: string;
  answered: Answered;
  signal: AbortSignal | undefined;
}

/** The content of an address, within a time. */
async function* download(
  egress: Egress,
  { mostMs, signal, ...asked }: Download & { mostMs: number },
): AsyncGenerator<Uint8Array> {
  const limit = new AbortController();
  const tooLong = new Error(`the feed took longer than ${Math.round(mostMs / 1000)} seconds`);
  const timer = setTimeout(() => limit.abort(tooLong), mostMs);
  try {
    yield* request(egress, {
      ...asked,
      signal: AbortSignal.any([limit.signal, ...(signal ? [signal] : [])]),
    });
  } finally {
    clearTimeout(timer);
  }
}

/** Redirects are not followed (D26). What is packed is unpacked by whoever reads it. */
async function* request(egress: Egress, { url, answered, signal }: Download): AsyncGenerator<Uint8Array> {
  const { statusCode, headers, body } = await egress.request(url, {
    method: 'GET',
    headers: { 'accept-encoding': 'gzip', 'user-agent': `Signalbox/${VERSION}` },
    headersTimeout: 60_000,
    bodyTimeout: 120_000,
    signal,
  });
  if (statusCode !== 200) {
    await body.dump();
    const { location } = headers;
    const other =
      typeof location === 'string' ? ` and names ${location.slice(0, 200)}, which is not followed` : '';
    throw new Error(`the address answered ${statusCode}${other}`);
  }
  answered.charset = charsetIn(headers['content-type']);
  yield* body;
}

export async function startFeedWorker(dependencies: {
  db: Database;
  clock: Clock;
  log: Log;
  lanes: Lanes;
  egress: Egress;
  imports: Imports;
}): Promise<Worker> {
  const { db, clock, log, lanes, egress, imports } = dependencies;
  return lanes.work({
    queue: QUEUE,
    concurrency: FEEDS_AT_A_TIME,
    async run(job, { signal }) {
      const { tenantId, version } = job.payload as Payload;
      let everyMinutes = UNKNOWN_MINUTES;
      // The timer must outlive whatever is wrong now: given up by the queue, it would never come again.
      try {
        const feed = await store.findFeed(db.sql, tenantId, job.key);
        if (feed === undefined || feed.version !== version || !feed.enabled)
          return { outcome: { kind: 'done' } };
        ({ everyMinutes } = feed);
        await fetchFeed({ egress, imports, signal }, feed);
      } catch (err) {
        log.error({ err, tenant: tenantId, feed: job.key }, 'feed not fetched');
      }
      // The same job is the next one: a timer that moves.
      return { outcome: { kind: 'hold', dueAt: clock.now() + everyMinutes * MINUTE } };
    },
  });
}
