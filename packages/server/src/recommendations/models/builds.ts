/**
 * Builds a tenant's model from its catalog and interactions, off the request path: in a thread of the worker that has the
 * tenant's timer. The result is stored as a snapshot, which every process then opens.
 */
import { DEFAULT_KNOBS, type Progress } from '@signalbox/recommendation-engine/build';
import type { CatalogItem } from '@signalbox/recommendation-engine/catalog/catalog';
import { createInteractionLog } from '@signalbox/recommendation-engine/log/interactions';
import { writeSnapshot } from '@signalbox/recommendation-engine/snapshot';
import type { Catalog } from '../../catalog/index.ts';
import type { Database, Tx } from '../../kernel/db/database.ts';
import { newId } from '../../kernel/ids.ts';
import type { Lanes, Worker } from '../../kernel/lanes/index.ts';
import type { Log } from '../../kernel/telemetry/log.ts';
import { type Clock, DAY, HOUR, MINUTE, SECOND } from '../../kernel/time/clock.ts';
import { createPeople } from '../interactions/people.ts';
import { engineInteraction, engineItem, PLACEHOLDER } from '../live/engine-input.ts';
import { deleteForgotten, readForgotten } from '../store/forgotten.ts';
import * as interactions from '../store/interactions.ts';
import * as models from '../store/models.ts';
import { buildInBackground } from './background-build.ts';
import { preferencesOf, type RecommendationSettings } from './settings/settings.ts';

export interface Builds {
  /** `complete`: nobody else writes now, so that what arrived a moment ago need not wait for the next build. */
  build(
    tenantId: string,
    options?: {
      tune?: boolean;
      complete?: boolean;
      onProgress?: (progress: Progress) => void;
      signal?: AbortSignal;
    },
  ): Promise<models.Model>;
  /** Sees to it that the tenant's model is built from time to time. */
  schedule(tx: Tx, tenantId: string): Promise<void>;
  /** Asks for a build now, of what the transaction leaves. */
  buildNow(tx: Tx, tenantId: string): Promise<void>;
  /** Asks for a build without those who are erased in the transaction, as soon as one can be without them. */
  buildAfterErasure(tx: Tx, tenantId: string): Promise<void>;
  work(): Promise<Worker>;
}

/** What a job asks for: the timer that comes again, one build of what was there at a time, or one without erased persons. */
type Payload = { once?: undefined } | { once: true; askedAt: number } | { once: true; forgets: true };

const QUEUE = 'recommendation-builds';
const EVERY_MS = 10 * MINUTE;
const FIRST_MS = MINUTE;
/** By then the cut of a build lies behind the erasure: whoever opens the model has nobody left to forget. */
const FORGET_MS = interactions.LATE_MS + SECOND;
const TUNE_EVERY_MS = DAY;
/** Fewer interactions say nothing about knobs. */
const ENOUGH_TO_TUNE = 5000;
const TUNING_MS = MINUTE;
/** What has changed since the last build must be worth the next one: a part of all, or some time. */
const WORTH_SHARE = 0.02;
const WORTH_MS = 6 * HOUR;

export function createBuilds(dependencies: {
  db: Database;
  clock: Clock;
  log: Log;
  lanes: Lanes;
  catalog: Catalog;
  settings: (tenantId: string) => Promise<RecommendationSettings & { updatedAt: Date | null }>;
  /** A model was stored. */
  built: (tenantId: string) => Promise<void>;
}): Builds {
  const { db, clock, log, lanes, catalog, settings, built } = dependencies;
  const scheduled = new Set<string>();

  async function readLog(tenantId: string, until: number, signal?: AbortSignal) {
    const people = createPeople();
    for (const { key, contact } of await interactions.readLinks(db.sql, tenantId, 0))
      people.link(key, contact);
    const columns = createInteractionLog();
    for await (const batch of interactions.readInteractionsUntil(db.sql, { tenantId, until })) {
      signal?.throwIfAborted();
      for (const row of batch) {
        const interaction = engineInteraction(row, people);
        if (interaction !== null) columns.add(interaction);
      }
    }
    return columns.finish();
  }

  async function readItems(tenantId: string): Promise<CatalogItem[]> {
    const items: CatalogItem[] = [PLACEHOLDER];
    for await (const batch of catalog.changes(tenantId, 0))
      items.push(...batch.filter(({ removed }) => !removed).map(engineItem));
    return items;
  }

  async function build(
    tenantId: string,
    { tune, complete = false, onProgress, signal }: Parameters<Builds['build']>[1] = {},
  ) {
    const started = performance.now();
    const now = clock.now();
    const cut = complete ? now : now - interactions.LATE_MS;
    // Read before the interactions, so that theirs are gone by then.
    const erased = (await readForgotten(db.sql, tenantId)).map(({ visitor }) => visitor);
    const before = await models.findModel(db.sql, tenantId);
    // Read before the items: what changes meanwhile is newer than this and comes again.
    const [state] = await catalog.revisions([tenantId]);
    const items = await readItems(tenantId);
    const columns = await readLog(tenantId, cut, signal);
    const decided = await settings(tenantId);
    const { isStale, ...tuned } = tuningOf({ before, decidedAt: decided.updatedAt, now });
    const tunes = tune ?? (isStale && columns.count >= ENOUGH_TO_TUNE);
    const base = await buildInBackground(
      { catalog: items, log: columns, ...tuned, preferences: preferencesOf(decided) },
      {
        tune: tunes ? { budgetMs: TUNING_MS } : null,
        ...(onProgress === undefined ? {} : { onProgress }),
        ...(signal === undefined ? {} : { signal }),
      },
    );
    const snapshot = writeSnapshot(base);
    const model: models.Model = {
      tenantId,
      buildId: newId('build'),
      cut,
      catalogRevision: state?.revision ?? 0,
      interactions: columns.count,
      items: items.filter(({ listed }) => listed).length,
      bytes: snapshot.length,
      seconds: (performance.now() - started) / 1000,
      knobs: base.knobs,
      tunedAt: tunes ? new Date(now) : (before?.tunedAt ?? null),
      builtAt: new Date(now),
    };
    const saved = await save({ model, snapshot, erased });
    await built(tenantId);
    const { interactions: count, bytes, seconds } = model;
    log.info(
      { tenant: tenantId, interactions: count, items: model.items, bytes, seconds },
      saved ? 'recommendations built' : 'recommendations built meanwhile by another',
    );
    return saved ? model : (await models.findModel(db.sql, tenantId))!;
  }

  /** False when what another build has stored is newer. Those who were erased before are told of no more. */
  function save(input: { model: models.Model; snapshot: Uint8Array; erased: string[] }): Promise<boolean> {
    const { model, snapshot, erased } = input;
    return db.transaction(async ({ sql }) => {
      if (!(await models.saveModel(sql, { model, snapshot, now: clock.now() }))) return false;
      await deleteForgotten(sql, { tenantId: model.tenantId, visitors: erased, until: model.cut });
      return true;
    });
  }

  /** Whether enough has happened since the last build. */
  async function isWorthIt(tenantId: string): Promise<boolean> {
    const model = await models.findModel(db.sql, tenantId);
    if (model === undefined) return true;
    const newInteractions = await interactions.countInteractionsAfter(db.sql, tenantId, model.cut);
    const changedItems = await catalog.countChanges(tenantId, model.catalogRevision);
    if (newInteractions + changedItems === 0) return false;
    if (clock.now() - model.builtAt.getTime() > WORTH_MS) return true;
    return (
      newInteractions > WORTH_SHARE * (model.interactions + 1) ||
      changedItems > WORTH_SHARE * (model.items + 1)
    );
  }

  /**
   * Whether a model has what was asked for at a time: of many settings in a row, the build after the last has them all. As with
   * interactions, what is not older than its cut may have been committed behind its back, however early the build ended. A cut
   * in the future is of a clock that was wrong, and says nothing.
   */
  async function isBuilt(tenantId: string, askedAt: number): Promise<boolean> {
    const model = await models.findModel(db.sql, tenantId);
    return model !== undefined && askedAt <= model.cut && model.cut <= clock.now();
  }

  /** Of many who are erased together, the first build forgets all. */
  const hasErased = async (tenantId: string) => (await readForgotten(db.sql, tenantId)).length > 0;

  return {
    build,
    async schedule(tx, tenantId) {
      if (scheduled.has(tenantId)) return;
      if (await models.claimSchedule(tx.sql, tenantId))
        await lanes.enqueue(tx, QUEUE, [{ key: tenantId, payload: {}, dueAt: clock.now() + FIRST_MS }]);
      tx.afterCommit(() => scheduled.add(tenantId));
    },
    async buildNow(tx, tenantId) {
      await lanes.enqueue(tx, QUEUE, [{ key: tenantId, payload: { once: true, askedAt: clock.now() } }]);
    },
    async buildAfterErasure(tx, tenantId) {
      const dueAt = clock.now() + FORGET_MS;
      await lanes.enqueue(tx, QUEUE, [{ key: tenantId, payload: { once: true, forgets: true }, dueAt }]);
    },
    work: () =>
      lanes.work({
        queue: QUEUE,
        concurrency: 1,
        async run({ key: tenantId, payload }, { signal }) {
          const wish = payload as Payload;
          if (wish.once) {
            const isNeeded =
              'forgets' in wish ? await hasErased(tenantId) : !(await isBuilt(tenantId, wish.askedAt));
            if (isNeeded) await build(tenantId, { signal });
            return { outcome: { kind: 'done' } };
          }
          try {
            if (await isWorthIt(tenantId)) await build(tenantId, { signal });
          } catch (err) {
            // The timer must outlive whatever is wrong now: given up by the queue, it would never come again.
            if (!signal.aborted) log.error({ err, tenant: tenantId }, 'recommendations not built');
          }
          return { outcome: { kind: 'hold', dueAt: clock.now() + EVERY_MS } };
        },
      }),
  };
}

/** The knobs that a build starts from, and whether it is time to look for better ones. */
function tuningOf(input: { before: models.Model | undefined; decidedAt: Date | null; now: number }): {
  knobs?: models.Model['knobs'];
  isStale: boolean;
} {
  const { before, decidedAt, now } = input;
  if (before === undefined) return { isStale: true };
  // What was tuned to other settings is no place to start from.
  if (decidedAt !== null && decidedAt >= before.builtAt) return { isStale: true };
  const { knobs, tunedAt } = before;
  // Those that came with a later release than the model's are not among what was stored.
  return {
    knobs: { ...DEFAULT_KNOBS, ...knobs },
    isStale: tunedAt === null || now - tunedAt.getTime() > TUNE_EVERY_MS,
  };
}
