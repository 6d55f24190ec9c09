/** Builds all modules from the bottom up and runs the roles of this process. */
import { type Accounts, createAccounts } from './accounts/index.ts';
import { type Catalog, createCatalog } from './catalog/index.ts';
import { createIngestion, type Ingestion } from './ingestion/index.ts';
import { installationSecret } from './kernel/config/home.ts';
import { type Database, openDatabase } from './kernel/db/database.ts';
import type { HttpApp } from './kernel/http/app.ts';
import { createLanes, type Lanes } from './kernel/lanes/index.ts';
import type { Manifest, Module, Stop } from './kernel/module.ts';
import type { Log } from './kernel/telemetry/log.ts';
import type { Metrics } from './kernel/telemetry/metrics.ts';
import { startChores } from './kernel/time/chores.ts';
import { type Clock, systemClock } from './kernel/time/clock.ts';
import { maintain } from './maintenance.ts';
import { type Config, MANIFESTS } from './manifests.ts';
import { createProfiles, type Profiles } from './profiles/index.ts';
import { createRecommendations, type Recommendations } from './recommendations/index.ts';
import { createScripts, type Scripts } from './sdk-scripts/index.ts';
import { createSignals, type Signals } from './signals/index.ts';
import { createSite, type Site } from './site/index.ts';
import { createWebhooks, type Webhooks } from './webhooks/index.ts';

/** What commands and server share. */
export interface Modules {
  config: Config;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  db: Database;
  lanes: Lanes;
  accounts: Accounts;
  webhooks: Webhooks;
  profiles: Profiles;
  signals: Signals;
  catalog: Catalog;
  site: Site;
  recommendations: Recommendations;
  ingestion: Ingestion;
  scripts: Scripts;
  manifests: readonly Manifest[];
  /** All of them, from the bottom up. */
  all: readonly Module<Accounts>[];
  close(): Promise<void>;
}

/** A module that is not part of the product: tests add one. */
export interface ExtraModule {
  manifest: Manifest;
  create(modules: Omit<Modules, 'all' | 'close'>): Module<Accounts>;
}

/** @example const modules = await createModules({ config, log, metrics, url: store.url }); ... await modules.close(); */
export async function createModules(input: {
  config: Config;
  log: Log;
  url: string;
  metrics: Metrics;
  clock?: Clock;
  extra?: readonly ExtraModule[];
}): Promise<Modules> {
  const { config, log, url, metrics, clock = systemClock, extra = [] } = input;
  const manifests = [...MANIFESTS, ...extra.map(({ manifest }) => manifest)];
  const eventTypes = manifests.flatMap((manifest: Manifest) => manifest.eventTypes ?? []);
  const secret = config.secret ?? (await installationSecret(config.home));
  const db = openDatabase({ url, connections: config.databaseConnections, log });
  const lanes = createLanes({ db, clock, log, metrics });
  const common = { db, clock, log, metrics, lanes, config, secret };
  const accounts = await createAccounts(common);
  const webhooks = await createWebhooks({ ...common, eventTypes });
  const profiles = createProfiles(common);
  const signals = createSignals({ ...common, profiles });
  const catalog = createCatalog(common);
  const site = await createSite({ ...common, profiles, signals });
  const recommendations = await createRecommendations({ ...common, accounts, catalog, profiles, site });
  const ingestion = createIngestion({ ...common, profiles });
  const scripts = await createScripts({ ...common, accounts, site });
  const named = {
    ...common,
    manifests,
    accounts,
    webhooks,
    profiles,
    signals,
    catalog,
    site,
    recommendations,
    ingestion,
    scripts,
  };
  const all: readonly Module<Accounts>[] = [
    accounts,
    webhooks,
    profiles,
    signals,
    catalog,
    site,
    recommendations,
    ingestion,
    scripts,
    ...extra.map(({ create }) => create(named)),
  ];
  for (const { personalData, follows } of all) {
    if (personalData !== undefined) profiles.register(personalData);
    if (follows !== undefined) signals.follow(follows);
  }
  return {
    ...named,
    all,
    async close() {
      for (const module of all.toReversed()) await module.close?.();
      await lanes.close();
      await db.close();
    },
  };
}

export interface Signalbox {
  /** Where it listens; null for a process without the role `api`. */
  address: string | null;
  stop(): Promise<void>;
}

/** Runs the roles of this process until stopped. */
export async function runRoles(
  modules: Modules,
  {
    readMetrics = () => modules.metrics.text(),
    addRoutes,
    stopping,
  }: {
    readMetrics?: () => Promise<{ type: string; body: string }>;
    addRoutes?: (app: HttpApp) => Promise<void>;
    /** Ends what takes long at the start. */
    stopping?: AbortSignal;
  } = {},
): Promise<Signalbox> {
  const { config, all } = modules;
  const stops: Stop[] = [];
  const state = { stopping: false };
  // Parts stop in reverse order of start, within one shared deadline, so that no new work comes in while the rest finishes.
  const stop = async (deadlineMs = config.shutdownTimeoutMs) => {
    state.stopping = true;
    const end = performance.now() + deadlineMs;
    // Each gets at least 5 %, so that a nearly finished push is not repeated.
    const least = deadlineMs / 20;
    for (const stopPart of stops.splice(0).reverse())
      await stopPart(Math.max(end - performance.now(), least));
  };
  let address: string | null = null;
  try {
    if (config.roles.includes('worker'))
      for (const module of all) if (module.work !== undefined) stops.push(await module.work());
    if (config.roles.includes('scheduler')) {
      const { clock } = modules;
      stops.push(startChores({ clock, run: (stopping) => maintain(modules, stopping) }));
    }
    if (config.roles.includes('api')) {
      for (const module of all) await module.warm?.(stopping);
      // Loaded only here, because a command that serves nothing starts in half the time without it.
      const { createHttpServer } = await import('./http/server.ts');
      const server = await createHttpServer({ ...modules, readMetrics, state, addRoutes });
      address = await server.listen();
      stops.push(server.close);
    }
    if (config.probePort !== undefined) {
      const { listenForProbes } = await import('./http/probes.ts');
      const probes = await listenForProbes({ ...modules, readMetrics, state, port: config.probePort });
      // Stopped last, so that probes show the rest stopping.
      stops.unshift(probes.close);
    }
  } catch (error) {
    // A failed start gives its lanes back and reports not ready.
    await stop(0);
    throw error;
  }
  return { address, stop: () => stop() };
}
