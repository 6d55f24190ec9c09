/**
 * Recommendations: ranked items for any page and any person, answered from memory (D7, D9-D17). Widgets decide what is
 * answered, interactions teach the engine, and a report tells what came of it. Limits: a process keeps the catalog and
 * the model of every tenant that it answers for.
 */
import type { Accounts } from '../accounts/index.ts';
import { type Catalog, urlKey } from '../catalog/index.ts';
import type { KernelConfig } from '../kernel/config/config.ts';
import type { Database } from '../kernel/db/database.ts';
import type { Lanes } from '../kernel/lanes/index.ts';
import type { Follow, Module, PersonalData } from '../kernel/module.ts';
import { deriveKey } from '../kernel/security/crypto.ts';
import type { Log } from '../kernel/telemetry/log.ts';
import { type Clock, DAY } from '../kernel/time/clock.ts';
import type { Profiles } from '../profiles/index.ts';
import type { PageVisit, Site } from '../site/index.ts';
import { createDirectClicks, type DirectClicks } from './attribution/direct-clicks.ts';
import { createStatistics, type Statistics } from './attribution/statistics.ts';
import { createTrackingTokens, type TrackingTokens } from './attribution/tracking-token.ts';
import { type Answers, createAnswers } from './http/answers.ts';
import { type Collection, createCollection } from './interactions/collection.ts';
import { interactionsOf, tellsOfItems } from './interactions/from-signals.ts';
import { createHistory, type History } from './interactions/history/index.ts';
import { visitorKey } from './interactions/people.ts';
import { createPersonalData } from './interactions/personal-data.ts';
import { ATTRIBUTION_MS, createInteractions, type Interactions } from './interactions/record.ts';
import { createTenantEngines, type TenantEngines } from './live/tenant-engines.ts';
import { KEEP_DAYS, type RecommendationConfig } from './manifest.ts';
import { type Builds, createBuilds } from './models/builds.ts';
import { createSettings, type Settings } from './models/settings/index.ts';
import { deleteOldClicks, type Link } from './store/interactions.ts';
import { tenantsWithWidgets } from './store/widgets.ts';
import { createDefaultLanguages, type DefaultLanguages } from './widgets/default-languages.ts';
import { createWidgets, type Widgets } from './widgets/index.ts';
import { createOffers, type Offers } from './widgets/offers.ts';
import { createPreview, type Preview } from './widgets/preview.ts';

export { ALGORITHMS, type Algorithm } from '@signalbox/recommendation-engine/models/model';
export type { NewInteraction } from './interactions/record.ts';
export { DEFAULT_SETTINGS, type SettingsInput, showSettings } from './models/settings/settings.ts';
export { inputOf, type WidgetInput } from './widgets/index.ts';
export { showWidget, type Widget } from './widgets/widget.ts';

export interface Recommendations extends Module<Accounts> {
  widgets: Widgets;
  settings: Settings;
  engines: TenantEngines;
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
  /** The interactions that signals tell of. */
  follows: Follow;
  personalData: PersonalData;
  /** The port of the site: a contact looked at a page. */
  pageVisited(visit: PageVisit): Promise<void>;
  /** The port of the site: what suits a person. */
  offersOf: Offers;
  /**
   * Opens the shops of all tenants that have widgets, so that the first request finds them open. One that cannot be opened
   * is tried again by its own requests and does not keep the server from the others. Ends early when the process is to stop.
   */
  warm(stopping?: AbortSignal): Promise<void>;
  work(): Promise<(deadlineMs: number) => Promise<void>>;
  close(): Promise<void>;
}

export async function createRecommendations(dependencies: {
  db: Database;
  clock: Clock;
  log: Log;
  lanes: Lanes;
  config: Pick<KernelConfig, 'publicUrl'> & RecommendationConfig;
  secret: string;
  accounts: Pick<Accounts, 'listOrganizations'>;
  catalog: Catalog;
  profiles: Profiles;
  site: Site;
}): Promise<Recommendations> {
  const { db, clock, log, lanes, config, secret, accounts, catalog, profiles, site } = dependencies;
  const widgets = await createWidgets({ db, clock });
  const statistics = createStatistics({ db, clock, log });
  const tokens = createTrackingTokens(deriveKey(secret, 'tracking-tokens'));
  const answers = createAnswers({ origin: config.publicUrl, tokens });
  /** What cannot be asked for now is asked for again by whoever finds that it is still missing. */
  async function requestBuild(tenantId: string): Promise<boolean> {
    try {
      await db.transaction((tx) => builds.buildNow(tx, tenantId));
      return true;
    } catch (err) {
      log.warn({ err, tenant: tenantId }, 'build not asked for');
      return false;
    }
  }
  const shops = await createTenantEngines({ db, clock, log, catalog, requestBuild: requestBuild });
  const settings = createSettings({ db, clock, changed: (tx, tenantId) => builds.buildNow(tx, tenantId) });
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
  const interactions = createInteractions({ clock, shops, statistics, learns: builds.schedule, profiles });
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

  const forgetClicks = () => deleteOldClicks(db.sql, { before: clock.now() - ATTRIBUTION_MS - DAY });

  const recommendations: Recommendations = {
    async routes(app, accounts) {
      const [{ registerWidgetRoutes }, { registerCollectRoutes }, { registerRecommendationRoutes }] =
        await Promise.all([
          import('./http/admin-routes.ts'),
          import('./http/collect-routes.ts'),
          import('./http/routes.ts'),
        ]);
      registerWidgetRoutes(app, { accounts, recommendations, clock });
      registerCollectRoutes(app, { site, recommendations });
      registerRecommendationRoutes(app, { accounts, recommendations, clock, config });
    },
    widgets,
    settings,
    engines: shops,
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
    follows: {
      name: 'interactions',
      wants: tellsOfItems,
      async take(tx, signals) {
        const byTenant = [...Map.groupBy(signals, ({ tenantId }) => tenantId)];
        // Ordered, so that two transactions with several tenants cannot wait for each other in a circle.
        for (const [tenantId, own] of byTenant.sort(([one], [other]) => (one < other ? -1 : 1))) {
          const told = own.map((signal) => ({ profile: signal.profile, rows: interactionsOf(signal) }));
          const telling = told.filter(({ rows }) => rows.length > 0);
          if (telling.length === 0) continue;
          const persons = telling.map(({ profile }) => profile);
          const rows = telling.flatMap((one) => one.rows);
          await interactions.record(tx, tenantId, rows, linksOf(tenantId, persons));
        }
      },
    },
    personalData: createPersonalData({ clock, shops, builds }),
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
    chores: [{ name: 'old clicks', deletesByAge: true, run: forgetClicks }],
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
  site.ports.pageVisited = recommendations.pageVisited;
  site.ports.offersOf = recommendations.offersOf;
  return recommendations;
}
