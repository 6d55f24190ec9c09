/**
 * The catalog: what a tenant offers, with fields per language and country (D11, D13), kept up to date item by item or by
 * feeds (D16). Limits: an item has at most 65,536 characters of JSON; who reads items by the million reads them by revision.
 */
import type { Accounts } from '../accounts/index.ts';
import type { KernelConfig } from '../kernel/config/config.ts';
import type { AnySql, Database, Tx } from '../kernel/db/database.ts';
import { egressOnDemand } from '../kernel/egress/on-demand.ts';
import { checkTargetUrl, targetUrlRules } from '../kernel/egress/url-policy.ts';
import { apiError, invalid, type Violation } from '../kernel/errors.ts';
import { newId } from '../kernel/ids.ts';
import type { Lanes } from '../kernel/lanes/index.ts';
import type { Module } from '../kernel/module.ts';
import type { Format } from '../kernel/tables/index.ts';
import type { Log } from '../kernel/telemetry/log.ts';
import { type Clock, MINUTE } from '../kernel/time/clock.ts';
import { type ChangeListener, createChanges } from './changes.ts';
import type { Import } from './import-store.ts';
import { createImports, type Imports, scopeOf, scopeViolations } from './imports.ts';
import { type CatalogRecord, type Item, itemViolations } from './item.ts';
import { createRevisions, type Revisions } from './revisions.ts';
import { fetchFeed, scheduleFeed, startFeedWorker } from './schedule.ts';
import * as store from './store.ts';

export { FORMATS, type Format, formatOf } from '../kernel/tables/index.ts';
export { amountIn } from './amount.ts';
export type { Import, RowError } from './import-store.ts';
export { type ImportInput, INTERRUPTED } from './imports.ts';
export {
  type CatalogRecord,
  type Fields,
  type Item,
  isCountry,
  isOffered,
  itemOf,
  LANGUAGE_RULE,
  languageKey,
  viewOf,
} from './item.ts';
export type { Feed } from './store.ts';
export { urlKey } from './url-key.ts';

export interface FeedInput {
  name: string;
  url: string;
  format?: Format | null;
  mode?: store.Mode;
  language?: string | null;
  country?: string | null;
  everyMinutes?: number;
  enabled?: boolean;
}

export interface Catalog extends Module<Accounts> {
  imports: Imports;
  /** Puts an item; true when it is new. */
  put(tenantId: string, item: Item): Promise<boolean>;
  /** Changes members of an item and leaves the others. */
  patch(tenantId: string, itemPid: string, change: Partial<Omit<Item, 'itemPid'>>): Promise<CatalogRecord>;
  remove(tenantId: string, itemPid: string): Promise<void>;
  get(tenantId: string, itemPid: string): Promise<CatalogRecord>;
  list(tenantId: string, page: { search?: string; skip?: number; take?: number }): Promise<CatalogRecord[]>;
  count(tenantId: string): Promise<{ items: number; available: number }>;
  /** Everything that changed after a revision, removed items included, in batches. */
  changes(tenantId: string, after: number): AsyncIterable<CatalogRecord[]>;
  countChanges(tenantId: string, after: number): Promise<number>;
  revisions(tenantIds: string[]): Promise<{ tenantId: string; revision: number }[]>;
  /** Called at every change of a tenant's items, in whichever process it happens. */
  listen(listener: ChangeListener): Promise<() => Promise<void>>;
  /** What is wrong with a feed, whatever it was said to be, beyond its types. */
  feedViolations(input: { url?: unknown; language?: unknown; country?: unknown }): Violation[];
  createFeed(tenantId: string, input: FeedInput): Promise<store.Feed>;
  updateFeed(tenantId: string, id: string, input: FeedInput): Promise<store.Feed>;
  getFeed(tenantId: string, id: string): Promise<store.Feed>;
  listFeeds(tenantId: string): Promise<store.Feed[]>;
  deleteFeed(tenantId: string, id: string): Promise<void>;
  /** Fetches a feed now, beside its schedule. */
  runFeed(tenantId: string, id: string): Promise<Import>;
  work(): Promise<(deadlineMs: number) => Promise<void>>;
  close(): Promise<void>;
}

/** D35: `take` 0 means all, at most 1000. */
const MAX_TAKEN = 1000;
const SWEEP_MS = 10 * MINUTE;

/** @example await catalog.imports.run({ tenantId, source: 'feed.csv', content: createReadStream('feed.csv'), mode: 'full' }); */
export function createCatalog(dependencies: {
  db: Database;
  clock: Clock;
  log: Log;
  lanes: Lanes;
  config: Pick<KernelConfig, 'mode' | 'egressAllow' | 'requestTimeoutMs'>;
}): Catalog {
  const { db, clock, log, lanes, config } = dependencies;
  const guard = targetUrlRules(config);
  const egress = egressOnDemand({ ...guard, connections: 4 });
  const changes = createChanges({ db, log });
  const revisions = createRevisions({ db });
  const imports = createImports({ db, clock, log, changes, revisions });
  // Answered before the request's time is up: that the catalog is busy says more than that it took too long.
  const mostWaitMs = (config.requestTimeoutMs * 2) / 3;
  const changeItem: Revisions['change'] = (tenantId, work) =>
    revisions.change(tenantId, work, { mostWaitMs });
  const now = () => new Date(clock.now());

  async function get(tenantId: string, itemPid: string, sql: AnySql = db.sql): Promise<CatalogRecord> {
    const found = await store.findItem(sql, tenantId, itemPid);
    if (found === undefined) throw apiError('notFound', `There is no item ${itemPid}.`);
    return found;
  }

  /** `decide` is called when nobody else changes the tenant's items any more. */
  async function replace(tenantId: string, decide: (sql: AnySql) => Item | Promise<Item>): Promise<boolean> {
    const created = await changeItem(tenantId, async (sql, revision) => {
      const item = await decide(sql);
      const violations = itemViolations(item);
      if (violations.length > 0) throw invalid(violations);
      const before = await store.findItem(sql, tenantId, item.itemPid);
      await store.replaceItem(sql, { tenantId, item, revision, now: now() });
      return before === undefined;
    });
    await changes.announce(tenantId);
    return created;
  }

  function feedViolations(input: { url?: unknown; language?: unknown; country?: unknown }): Violation[] {
    const verdict = typeof input.url === 'string' ? checkTargetUrl(input.url, guard) : null;
    const refused = verdict === null || verdict.ok ? [] : [{ member: 'url', message: verdict.reason }];
    return [...refused, ...scopeViolations(input)];
  }

  async function saveFeed(tx: Tx, feed: store.Feed): Promise<store.Feed> {
    const violations = feedViolations(feed);
    if (violations.length > 0) throw invalid(violations);
    await store.upsertFeed(tx.sql, feed);
    if (feed.enabled) await scheduleFeed(lanes, tx, feed, clock.now());
    return feed;
  }

  const feedOf = (input: FeedInput) => ({
    name: input.name,
    url: input.url,
    format: input.format ?? null,
    mode: input.mode ?? 'full',
    ...scopeOf(input),
    everyMinutes: input.everyMinutes ?? 240,
    enabled: input.enabled ?? true,
    updatedAt: now(),
  });

  async function getFeed(tenantId: string, id: string): Promise<store.Feed> {
    return found(id, await store.findFeed(db.sql, tenantId, id));
  }

  const catalog: Catalog = {
    async routes(app, accounts) {
      const { registerCatalogRoutes } = await import('./routes.ts');
      await registerCatalogRoutes(app, { accounts, catalog });
    },
    imports,
    put: (tenantId, item) => replace(tenantId, () => item),
    get: (tenantId, itemPid) => get(tenantId, itemPid),
    async patch(tenantId, itemPid, change) {
      await replace(tenantId, async (sql) => ({
        ...(await get(tenantId, itemPid, sql)),
        ...change,
        itemPid,
      }));
      return get(tenantId, itemPid);
    },
    async remove(tenantId, itemPid) {
      const done = await changeItem(tenantId, (sql, revision) =>
        store.removeItem(sql, { tenantId, itemPid, revision, now: now() }),
      );
      if (!done) throw apiError('notFound', `There is no item ${itemPid}.`);
      await changes.announce(tenantId);
    },
    list: (tenantId, { search = '', skip = 0, take = 100 }) =>
      store.listItems(db.sql, { tenantId, search, skip, take: take === 0 ? MAX_TAKEN : take }),
    count: (tenantId) => store.countItems(db.sql, tenantId),
    changes: (tenantId, after) => store.readChanges(db.sql, { tenantId, after }),
    countChanges: (tenantId, after) => store.countChanges(db.sql, tenantId, after),
    revisions: (tenantIds) => store.listRevisions(db.sql, tenantIds),
    listen: changes.listen,
    feedViolations,
    async createFeed(tenantId, input) {
      const feed = { ...feedOf(input), tenantId, id: newId('feed'), version: 1, createdAt: now() };
      return db.transaction((tx) => saveFeed(tx, feed));
    },
    async updateFeed(tenantId, id, input) {
      return db.transaction(async (tx) => {
        // One version for each change: two timers of the same one would fetch the feed twice, for ever.
        const known = found(id, await store.lockFeed(tx.sql, tenantId, id));
        return saveFeed(tx, { ...known, ...feedOf(input), version: known.version + 1 });
      });
    },
    getFeed,
    listFeeds: (tenantId) => store.listFeeds(db.sql, tenantId),
    async deleteFeed(tenantId, id) {
      if (!(await store.deleteFeed(db.sql, tenantId, id)))
        throw apiError('notFound', `There is no feed ${id}.`);
    },
    async runFeed(tenantId, id) {
      const feed = await getFeed(tenantId, id);
      return fetchFeed({ egress: await egress.get(), imports }, feed);
    },
    async work() {
      const worker = await startFeedWorker({ db, clock, log, lanes, egress: await egress.get(), imports });
      const sweep = () => void imports.sweep().catch((err) => log.warn({ err }, 'imports not swept'));
      const timer = setInterval(sweep, SWEEP_MS).unref();
      return async (deadlineMs) => {
        clearInterval(timer);
        await worker.stop(deadlineMs);
      };
    },
    close: () => egress.close(),
  };
  return catalog;
}

function found(id: string, feed: store.Feed | undefined): store.Feed {
  if (feed === undefined) throw apiError('notFound', `There is no feed ${id}.`);
  return feed;
}
