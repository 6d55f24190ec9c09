/**
 * The tenants' shops that are open in this process. A shop is opened from the stored snapshot and follows what other
 * processes do: their interactions, items and builds are announced over the database, and looked for every few seconds.
 */
import { createInteractionLog } from '@signalbox/recommendation-engine/log/interactions';
import { readSnapshot, SnapshotError, SnapshotVersionError } from '@signalbox/recommendation-engine/snapshot';
import type { Catalog } from '../../catalog/index.ts';
import { type Database, notifyAtCommit, type Tx } from '../../kernel/db/database.ts';
import { guid } from '../../kernel/ids.ts';
import type { Log } from '../../kernel/telemetry/log.ts';
import { type Clock, DAY } from '../../kernel/time/clock.ts';
import { buildInBackground } from '../models/background-build.ts';
import { addForgotten, readForgotten, tenantsWithForgotten } from '../store/forgotten.ts';
import * as interactions from '../store/interactions.ts';
import * as models from '../store/models.ts';
import { engineItem, PLACEHOLDER } from './engine-input.ts';
import { createTenantEngine, MAX_NEWS, type TenantEngine } from './tenant-engine.ts';

export interface TenantEngines {
  /** Opens the shop if need be. */
  get(tenantId: string): Promise<TenantEngine>;
  /** Only if it is open already. */
  peek(tenantId: string): TenantEngine | undefined;
  /** Tells the other processes of interactions that this one has counted. */
  announce(tenantId: string): void;
  /**
   * Forgets erased visitors, by their keys, when the transaction commits: here at once, elsewhere as soon as they hear of it,
   * and in processes that start before a model is built without them.
   */
  forget(tx: Tx, tenantId: string, keys: readonly string[]): Promise<void>;
  /** Looks for what other processes did. */
  refresh(tenantId: string): Promise<void>;
  close(): Promise<void>;
}

interface Open {
  shop: TenantEngine;
  /** Up to here everything was read, give or take what comes late. */
  readUntil: number;
  catalogRevision: number;
  refreshing: Promise<void> | null;
  again: boolean;
  /** The build that was found too small for the catalog: the next one is asked for once, however many items come. */
  outgrown: string | null | undefined;
}

const POLL_MS = 3000;
/** One NOTIFY for many interactions. */
const GATHER_MS = 100;
/** Without a model, this much of the past is counted when a shop opens. */
const PAST_MS = 7 * DAY;
/** Above this, a catalog without a model is indexed in a thread before the shop opens. */
const MANY_ITEMS = 2000;
const CHANNEL = 'recommendations';

export async function createTenantEngines(dependencies: {
  db: Database;
  clock: Clock;
  log: Log;
  catalog: Catalog;
  /** The engine of a tenant has more news than it should hold, or a model that it cannot read. Answers whether that was taken. */
  requestBuild: (tenantId: string) => Promise<boolean>;
}): Promise<TenantEngines> {
  const { db, clock, log, catalog, requestBuild: wantsBuild } = dependencies;
  const self = guid();
  const opening = new Map<string, Promise<Open>>();
  const open = new Map<string, Open>();
  /** Tenant -> the build whose snapshot is of another release: read once, and replaced by a build that is asked for once. */
  const unreadable = new Map<string, string>();
  const toAnnounce = new Set<string>();
  let announcing: NodeJS.Timeout | undefined;
  let closed = false;

  async function loadModel(shop: TenantEngine): Promise<models.Model | undefined> {
    for (let tries = 0; tries < 3; tries++) {
      const model = await models.findModel(db.sql, shop.tenantId);
      if (model === undefined || model.buildId === shop.buildId) return model;
      if (model.buildId === unreadable.get(shop.tenantId)) return undefined;
      const bytes = await models.readSnapshotBytes(db.sql, model);
      // Replaced while it was read: the next one is there already.
      if (bytes === undefined) continue;
      try {
        shop.replaceBase({ ...model, base: readSnapshot(bytes) });
        return model;
      } catch (error) {
        if (!(error instanceof SnapshotError)) throw error;
        const { tenantId: tenant } = shop;
        // Every upgrade that changes the format comes here, so it is no warning.
        if (error instanceof SnapshotVersionError)
          log.info(
            { tenant, reason: error.message },
            'the recommendation model is of another release; a new one is built',
          );
        else log.warn({ err: error, tenant }, 'the recommendation model cannot be read; a new one is built');
        if (await wantsBuild(shop.tenantId)) unreadable.set(shop.tenantId, model.buildId);
        return undefined;
      }
    }
    return undefined;
  }

  async function forgetErased(shop: TenantEngine): Promise<void> {
    for (const { visitor, at } of await readForgotten(db.sql, shop.tenantId)) shop.forget([visitor], at);
  }

  async function openShop(tenantId: string): Promise<Open> {
    const shop = createTenantEngine(tenantId);
    const now = clock.now();
    // Before the model: when it is built without them, they are no longer told of.
    await forgetErased(shop);
    const model = await loadModel(shop);
    for (const { key, contact } of await interactions.readLinks(db.sql, tenantId, 0))
      shop.people.link(key, contact);
    const [state] = await catalog.revisions([tenantId]);
    if (model === undefined) await indexItems(shop);
    else for await (const batch of catalog.changes(tenantId, 0)) shop.putItems(batch);
    const after = model?.cut ?? now - PAST_MS;
    shop.add(await interactions.readInteractionsAfter(db.sql, { tenantId, after, most: MAX_NEWS }));
    // Once more: whoever was erased meanwhile may have been read before.
    await forgetErased(shop);
    const entry: Open = {
      shop,
      readUntil: now,
      catalogRevision: state?.revision ?? 0,
      refreshing: null,
      again: false,
      outgrown: undefined,
    };
    open.set(tenantId, entry);
    return entry;
  }

  /** Items of a tenant that has no model yet. */
  async function indexItems(shop: TenantEngine): Promise<void> {
    const all = [];
    for await (const batch of catalog.changes(shop.tenantId, 0)) all.push(...batch);
    if (all.length > MANY_ITEMS) {
      const base = await buildInBackground({
        catalog: [PLACEHOLDER, ...all.filter(({ removed }) => !removed).map(engineItem)],
        log: createInteractionLog().finish(),
      });
      // Changes come in the order of their revisions.
      shop.replaceBase({ base, buildId: '', cut: 0, catalogRevision: all.at(-1)!.revision });
      await wantsBuild(shop.tenantId);
    }
    shop.putItems(all);
  }

  async function readNews(entry: Open): Promise<void> {
    const { shop } = entry;
    const { tenantId } = shop;
    const started = clock.now();
    const after = entry.readUntil - interactions.LATE_MS;
    const [state] = await catalog.revisions([tenantId]);
    if ((state?.revision ?? 0) > entry.catalogRevision) {
      for await (const batch of catalog.changes(tenantId, entry.catalogRevision)) shop.putItems(batch);
      entry.catalogRevision = state!.revision;
    }
    await forgetErased(shop);
    for (const { key, contact } of await interactions.readLinks(db.sql, tenantId, after))
      shop.people.link(key, contact);
    await loadModel(shop);
    shop.add(await interactions.readInteractionsAfter(db.sql, { tenantId, after, most: MAX_NEWS }));
    entry.readUntil = started;
    if (shop.needsRebuild && entry.outgrown !== shop.buildId) {
      const { buildId } = shop;
      if (await wantsBuild(tenantId)) entry.outgrown = buildId;
    }
  }

  /** One reading at a time; whoever comes meanwhile waits for one more, which sees what they changed. */
  function refreshOpen(entry: Open): Promise<void> {
    if (entry.refreshing !== null) {
      entry.again = true;
      return entry.refreshing;
    }
    const work = async () => {
      try {
        do {
          entry.again = false;
          await readNews(entry);
        } while (entry.again);
      } finally {
        entry.refreshing = null;
      }
    };
    entry.refreshing = work();
    return entry.refreshing;
  }

  async function refresh(tenantId: string): Promise<void> {
    const entry = open.get(tenantId);
    if (entry !== undefined) await refreshOpen(entry);
    else if (opening.has(tenantId)) await refreshOpen(await opening.get(tenantId)!);
  }
  /** The poll makes up for it. At the end the database may be gone already, and nobody wants to know more. */
  const notRefreshed = (what: { err: unknown; tenant?: string }): void => {
    if (!closed) log.warn(what, 'recommendations not refreshed');
  };
  const refreshQuietly = (tenantId: string): void => {
    refresh(tenantId).catch((err) => notRefreshed({ err, tenant: tenantId }));
  };

  /** A shop that is just being opened may have read what is gone now. */
  function forgetHere(tenantId: string, keys: readonly string[], at: number): void {
    open.get(tenantId)?.shop.forget(keys, at);
    opening.get(tenantId)?.then(
      ({ shop }) => shop.forget(keys, at),
      () => {},
    );
  }

  const stopCatalog = await catalog.listen(refresh);
  const stopNews = await db.listen(
    CHANNEL,
    (message) => {
      const [sender, tenantId = ''] = message.split(' ');
      if (sender !== self) refreshQuietly(tenantId);
    },
    () => {
      for (const tenantId of open.keys()) refreshQuietly(tenantId);
    },
  );

  /** Notices may be lost: what the tables say is the truth. */
  async function poll(): Promise<void> {
    const tenantIds = [...open.keys()];
    if (tenantIds.length === 0) return;
    const stale = new Set<string>();
    for (const { tenantId, revision } of await catalog.revisions(tenantIds))
      if (revision > open.get(tenantId)!.catalogRevision) stale.add(tenantId);
    for (const { tenantId, buildId } of await models.readBuildIds(db.sql, tenantIds))
      if (buildId !== open.get(tenantId)!.shop.buildId && buildId !== unreadable.get(tenantId))
        stale.add(tenantId);
    const since = clock.now() - POLL_MS - interactions.LATE_MS;
    for (const tenantId of await interactions.tenantsWithNews(db.sql, tenantIds, since)) stale.add(tenantId);
    for (const tenantId of await tenantsWithForgotten(db.sql, tenantIds, since)) stale.add(tenantId);
    await Promise.all([...stale].map(refresh));
  }
  const timer = setInterval(() => {
    poll().catch((err) => notRefreshed({ err }));
  }, POLL_MS);
  timer.unref();

  return {
    async get(tenantId) {
      const entry = open.get(tenantId);
      if (entry !== undefined) return entry.shop;
      let pending = opening.get(tenantId);
      if (pending === undefined) {
        pending = openShop(tenantId).finally(() => opening.delete(tenantId));
        opening.set(tenantId, pending);
      }
      return (await pending).shop;
    },
    peek: (tenantId) => open.get(tenantId)?.shop,
    announce(tenantId) {
      toAnnounce.add(tenantId);
      announcing ??= setTimeout(() => {
        announcing = undefined;
        const tenants = [...toAnnounce];
        toAnnounce.clear();
        for (const id of tenants)
          db.notify(CHANNEL, `${self} ${id}`).catch((err) =>
            log.debug({ err }, 'not announced; the poll will do'),
          );
      }, GATHER_MS);
    },
    async forget({ sql, afterCommit }, tenantId, keys) {
      const at = clock.now();
      await addForgotten(sql, { tenantId, visitors: keys, at });
      // A command, for one, ends right behind its commit.
      await notifyAtCommit(sql, CHANNEL, `${self} ${tenantId}`);
      afterCommit(() => forgetHere(tenantId, keys, at));
    },
    refresh,
    async close() {
      closed = true;
      clearInterval(timer);
      clearTimeout(announcing);
      await stopCatalog();
      await stopNews();
    },
  };
}
