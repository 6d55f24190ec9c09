/**
 * Recommendations: ranked items for any page and any person, answered from memory (D7, D9-D17). Widgets decide what is
 * answered, interactions teach the engine, and a report tells what came of it. Limits: a process keeps the catalog and
 * the model of every tenant that it answers for.
 */
import type { Accounts } from '../accounts/index.ts';
import { type Catalog, urlKey } from '../catalog/index.ts';
import { type Clock, DAY } from '../kernel/clock.ts';
import type { Config } from '../kernel/config.ts';
import { deriveKey } from '../kernel/crypto.ts';
import type { Database, Tx } from '../kernel/db/database.ts';
import type { TimeTable } from '../kernel/db/partitions.ts';
import type { Lanes } from '../kernel/lanes/index.ts';
import type { Log } from '../kernel/log.ts';
import type { Profiles } from '../profiles/index.ts';
import type { PageVisit } from '../site/index.ts';
import { type Builds, createBuilds } from './builds.ts';
import { type Collection, createCollection } from './collection.ts';
import { createDefaultLanguages, type DefaultLanguages } from './default-languages.ts';
import { createDirectClicks, type DirectClicks } from './direct-clicks.ts';
import { interactionsOf, type SignalFact, tellsOfItems } from './from-signals.ts';
import { createHistory, type History } from './history/index.ts';
import { type Answers, createAnswers } from './http/answers.ts';
import { ATTRIBUTION_MS, createInteractions, type Interactions } from './interactions.ts';
import { createShops, type Shops } from './live/shops.ts';
import { createOffers, type Offers } from './offers.ts';
import { createPreview, type Preview } from './preview.ts';
import { createSettings, type Settings } from './settings/index.ts';
import { createStatistics, type Statistics } from './statistics.ts';
import { deleteOldClicks, eraseContacts, type Link, upsertLinks } from './store/interactions.ts';
import { tenantsWithWidgets } from './store/widgets.ts';
import { createTrackingTokens, type TrackingTokens } from './tracking-token.ts';
import { contactKey, visitorKey } from './visitor-key.ts';
import { createWidgets, type Widgets } from './widgets/index.ts';

export { ALGORITHMS, type Algorithm } from './engine/models/model.ts';
export type { SignalFact } from './from-signals.ts';
export type { NewInteraction } from './interactions.ts';
export { DEFAULT_SETTINGS, type SettingsInput, showSettings } from './settings/settings.ts';
export { inputOf, type WidgetInput } from './widgets/index.ts';
export { showWidget, type Widget } from './widgets/widget.ts';

/** Models learn from this much of the past. */
const KEEP_DAYS = 180;
export const RECOMMENDATION_TABLES: TimeTable[] = [{ table: 'interactions', keepDays: KEEP_DAYS }];

export interface Recommendations {
  widgets: Widgets;
  settings: Settings;
  shops: Shops;
  interactions: Interactions;
  collection: Collection;
  history: History;
  statistics: Statistics;
  directClicks: DirectClicks;
  answers: Answers;
  defaultLanguages: DefaultLanguages;
  preview: Preview;
  tokens: TrackingTokens;
  build: Builds['build'];
  /** The port of the signals: called in the transaction that commits them. */
  signalPort: {
    wants(signal: Pick<SignalFact, 'signal' | 'payload'>): boolean;
    take(tx: Tx, signals: readonly SignalFact[]): Promise<void>;
  };
  /** The port of the site: a contact looked at a page. */
  pageVisited(visit: PageVisit): Promise<void>;
  /** The port of the site: what suits a person. */
  offersOf: Offers;
  /**
   * Opens the shops of all tenants that have widgets, so that the first request finds them open. One that cannot be opened
   * is tried again by its own requests and does not keep the server from the others. Ends early when the process is to stop.
   */
  warm(stopping?: AbortSignal): Promise<void>;
  /** What the scheduler runs now and then: forgets clicks. */
  maintain(): Promise<void>;
  work(): Promise<(deadlineMs: number) => Promise<void>>;
  close(): Promise<void>;
}

export async function createRecommendations(dependencies: {
  db: Database;
  clock: Clock;
  log: Log;
  lanes: Lanes;
  config: Pick<Config, 'publicUrl'>;
  secret: string;
  accounts: Pick<Accounts, 'listOrganizations'>;
  catalog: Catalog;
  profiles: Profiles;
}): Promise<Recommendations> {
  const { db, clock, log, lanes, config, secret, accounts, catalog, profiles } = dependencies;
  const widgets = await createWidgets({ db, clock });
  const statistics = createStatistics({ db, clock, log });
  const tokens = createTrackingTokens(deriveKey(secret, 'tracking-tokens'));
  const answers = createAnswers({ origin: config.publicUrl, tokens });
  /** What cannot be asked for now is asked for again by whoever finds that it is still missing. */
  async function wantsBuild(tenantId: string): Promise<boolean> {
    try {
      await db.transaction((tx) => builds.hurry(tx, tenantId));
      return true;
    } catch (err) {
      log.warn({ err, tenant: tenantId }, 'build not asked for');
      return false;
    }
  }
  const shops = await createShops({ db, clock, log, catalog, wantsBuild });
  const settings = createSettings({ db, clock, changed: (tx, tenantId) => builds.hurry(tx, tenantId) });
  const builds: Builds = createBuilds({
    db,
    clock,
    log,
    lanes,
    catalog,
    settings: settings.get,
    async built(tenantId) {
      await shops.refresh(tenantId);
      shops.announce(tenantId);
    },
  });
  const interactions = createInteractions({ clock, shops, statistics, learns: builds.schedule });
  const directClicks = createDirectClicks({ db, clock, log, lanes, interactions });
  const collection = createCollection({ db, clock, profiles, shops, interactions, tokens, widgets });
  const defaultLanguages = createDefaultLanguages(accounts);
  const history = createHistory({ db, clock, profiles, interactions, keepDays: KEEP_DAYS });

  /** Pages name a person by the id of the profile as well (`sid`): what the contact did is to be found under both. */
  function linksOf(tenantId: string, persons: readonly { id: string; systemId: number }[]): Link[] {
    const people = shops.peek(tenantId)?.people;
    return persons
      .map(({ id, systemId }) => ({ key: visitorKey(id), contact: systemId }))
      .filter(({ key, contact }) => !people?.isLinked(key, contact));
  }

  // A merged person's past is found under the number that lives on.
  profiles.onMerge(async (tx, { tenantId, into, from }) => {
    const links = from.map(({ systemId }) => ({ key: contactKey(systemId), contact: into.systemId }));
    await upsertLinks(tx.sql, { tenantId, links, now: clock.now() });
    tx.afterCommit(() => {
      const people = shops.peek(tenantId)?.people;
      for (const { key, contact } of links) people?.link(key, contact);
      shops.announce(tenantId);
    });
  });
  // The rows and what is remembered of the person go at once; the models forget with a build, asked for here.
  profiles.addEraser({
    name: 'interactions',
    async erase(tx, { tenantId, systemIds, profileIds }) {
      const subject = { tenantId, contacts: systemIds, visitors: profileIds };
      const { count, keys } = await eraseContacts(tx.sql, subject);
      await shops.forget(tx, tenantId, keys);
      if (count > 0) await builds.hurryAfterErasure(tx, tenantId);
      return count;
    },
  });

  return {
    widgets,
    settings,
    shops,
    interactions,
    collection,
    history,
    statistics,
    directClicks,
    answers,
    defaultLanguages,
    preview: createPreview({ clock, shops, defaultLanguages }),
    tokens,
    build: builds.build,
    signalPort: {
      wants: tellsOfItems,
      async take(tx, signals) {
        for (const [tenantId, own] of Map.groupBy(signals, (signal) => signal.tenantId)) {
          const told = own.map((signal) => ({ profile: signal.profile, rows: interactionsOf(signal) }));
          const telling = told.filter(({ rows }) => rows.length > 0);
          if (telling.length === 0) continue;
          const links = linksOf(
            tenantId,
            telling.map(({ profile }) => profile!),
          );
          await interactions.record(
            tx,
            tenantId,
            telling.flatMap(({ rows }) => rows),
            links,
          );
        }
      },
    },
    async pageVisited({ tenantId, profileId, systemId: contact, url, time: at }) {
      const page = urlKey(url);
      if (page === null) return;
      const itemPid = (await shops.get(tenantId)).findByPage(page)?.itemPid;
      const subject = itemPid === undefined ? { page } : { itemPid };
      const links = linksOf(tenantId, [{ id: profileId, systemId: contact }]);
      await db.transaction((tx) =>
        interactions.record(tx, tenantId, [{ kind: 'view', contact, at, ...subject }], links),
      );
    },
    offersOf: createOffers({ clock, shops }),
    async warm(stopping) {
      for (const tenantId of await tenantsWithWidgets(db.sql)) {
        // A thousand shops take half a minute, and whoever stops a process waits no longer than that.
        if (stopping?.aborted) return;
        await shops
          .get(tenantId)
          .catch((err) => log.error({ err, tenant: tenantId }, 'recommendations not opened ahead'));
      }
    },
    maintain: () => deleteOldClicks(db.sql, { before: clock.now() - ATTRIBUTION_MS - DAY }),
    async work() {
      const building = await builds.work();
      const pairing = await directClicks.work();
      return async (deadlineMs) => {
        // A build takes minutes and begins anew elsewhere, or at the next start: nobody waits for it.
        await Promise.all([building.stop(0), pairing.stop(deadlineMs)]);
      };
    },
    async close() {
      await directClicks.close();
      await statistics.close();
      await shops.close();
      await widgets.close();
    },
  };
}
