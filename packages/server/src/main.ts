/**
 * The composition of Signalbox, from the bottom up: configuration, database, modules, server. Reads like a table of
 * contents; whatever a lower floor needs from a higher one is handed down here.
 */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Accounts, createAccounts } from './accounts/index.ts';
import { type Catalog, createCatalog } from './catalog/index.ts';
import { startChores } from './kernel/chores.ts';
import { type Clock, systemClock } from './kernel/clock.ts';
import type { Config } from './kernel/config.ts';
import { type Database, openDatabase } from './kernel/db/database.ts';
import { forgetExpiredKeys } from './kernel/db/dedupe.ts';
import { requireFitness } from './kernel/db/fitness.ts';
import { migrate } from './kernel/db/migrations.ts';
import { createPartitions, dropPartitions, type TimeTable } from './kernel/db/partitions.ts';
import { requireSameTime } from './kernel/db/same-time.ts';
import { checkSessions } from './kernel/db/sessions.ts';
import { ensureHome, installationSecret } from './kernel/home.ts';
import type { HttpApp } from './kernel/http/app.ts';
import { createLanes, type Lanes } from './kernel/lanes/index.ts';
import type { Log } from './kernel/log.ts';
import type { Metrics } from './kernel/metrics.ts';
import {
  HomeInUseError,
  isHomeHeld,
  joinRunningPostgres,
  startEmbeddedPostgres,
} from './kernel/postgres/index.ts';
import { createProfiles, type Profiles } from './profiles/index.ts';
import {
  createRecommendations,
  RECOMMENDATION_TABLES,
  type Recommendations,
} from './recommendations/index.ts';
import { createSignals, SESSION_SETTINGS, type Signals, signalTables } from './signals/index.ts';
import { createScripts, type Scripts } from './signals/scripts/index.ts';
import { createSite, type Site } from './site/index.ts';
import { createWebhooks, WEBHOOK_TABLES, type Webhooks } from './webhooks/index.ts';

/** Where the data is: the embedded PostgreSQL or one of the operator's own. Same code for both. */
export interface Store {
  url: string;
  /** True when no other server can be working on this database. */
  exclusive: boolean;
  close(): Promise<void>;
}

interface StoreWatcher {
  onProgress?: (text: string) => void;
  onTrouble?: (text: string) => void;
  /** Ends the wait for others. */
  stopping?: AbortSignal;
}

/** Opens the data of this installation for a server. Refused while another one works on it; a command is waited for. */
export async function openStore(config: Config, watcher: StoreWatcher = {}): Promise<Store> {
  if (config.databaseUrl !== undefined) return givenStore(config.databaseUrl);
  await ensureHome(config.home);
  let told = false;
  for (const since = performance.now(); ; await delay(TRY_AGAIN_MS)) {
    try {
      const postgres = await startEmbeddedPostgres({ directory: directoryOf(config), ...watcher });
      return { url: postgres.url, exclusive: true, close: () => postgres.stop() };
    } catch (error) {
      const mayWait = error instanceof HomeInUseError && error.byCommand && !watcher.stopping?.aborted;
      if (!mayWait || performance.now() - since > MOST_WAIT_MS) throw error;
      if (!told) watcher.onProgress?.(`Waiting for a command (process ${error.pid}) to end…`);
      told = true;
    }
  }
}

/** A server recovers from a crash, or a command ends and stops PostgreSQL, before one can join or take its place. */
const MOST_WAIT_MS = 60_000;
const TRY_AGAIN_MS = 100;

/** Opens the data of this installation for a command: beside a server, beside other commands, or alone. */
export async function joinStore(config: Config, watcher: StoreWatcher = {}): Promise<Store> {
  if (config.databaseUrl !== undefined) return givenStore(config.databaseUrl);
  await ensureHome(config.home);
  const directory = directoryOf(config);
  for (const since = performance.now(); ; await delay(TRY_AGAIN_MS)) {
    // As a rule there is a server. Whoever tried to take its place first would wait a quarter of a second to learn of it.
    const joined = isHomeHeld({ directory }) ? await joinRunningPostgres({ directory }) : null;
    if (joined !== null && 'guest' in joined)
      return { url: joined.guest.url, exclusive: false, close: () => joined.guest.leave() };
    try {
      const postgres = await startEmbeddedPostgres({ directory, forCommand: true, ...watcher });
      return { url: postgres.url, exclusive: true, close: () => postgres.leave() };
    } catch (error) {
      if (!(error instanceof HomeInUseError)) throw error;
      if (performance.now() - since > MOST_WAIT_MS) throw joined?.notYet ?? error;
    }
  }
}

const directoryOf = ({ home }: Config) => join(home, 'postgres');

async function givenStore(url: string): Promise<Store> {
  await checkSessions({ url, settings: SESSION_SETTINGS });
  return { url, exclusive: false, close: async () => undefined };
}

/** Tables that grow with time, and how long their rows are kept. */
const timeTables = (config: Pick<Config, 'signalDays'>): TimeTable[] => [
  { table: 'dead_jobs', keepDays: 14 },
  ...WEBHOOK_TABLES,
  ...signalTables(config),
  ...RECOMMENDATION_TABLES,
];

/** Whoever only prepares a database drops nothing, so the keep that is a setting does not matter. */
const KEEP_ALL = { signalDays: 36_500 };

/** Brings the schema up to date. Safe in any number of processes at once. */
export async function prepareDatabase(db: Database, clock: Clock = systemClock): Promise<number> {
  await requireFitness(db.sql);
  const applied = await migrate(db);
  await createPartitions(db.sql, timeTables(KEEP_ALL), clock.now());
  return applied;
}

/**
 * What time asks of the tables. Each by itself: what fails is tried again next time, and holds up nothing else. Answers whether
 * there are partitions for what comes: without them nothing can be stored, so that cannot wait for an hour.
 */
export async function maintain(modules: Modules, stopping?: AbortSignal): Promise<boolean> {
  const { db, clock, config, log, profiles, signals, recommendations } = modules;
  const { sql } = db;
  const tables = timeTables(config);
  const ifTimeIsRight = (run: () => Promise<unknown>) => async () => {
    await requireSameTime(sql, clock.now());
    await run();
  };
  let ahead = false;
  const chores: Record<string, () => Promise<unknown>> = {
    'partitions ahead': async () => {
      await createPartitions(sql, tables, clock.now());
      ahead = true;
    },
    'partitions behind': ifTimeIsRight(() => dropPartitions({ sql, tables, now: clock.now(), log })),
    'expired keys': ifTimeIsRight(() => forgetExpiredKeys(sql, clock.now())),
    'ids of signals': ifTimeIsRight(() => signals.maintain()),
    'old clicks': ifTimeIsRight(() => recommendations.maintain()),
    'persons to forget': () => profiles.maintain(),
  };
  for (const [chore, run] of Object.entries(chores)) {
    if (stopping?.aborted) break;
    await run().catch((err) => log.error({ err, chore }, 'tables not maintained'));
  }
  return ahead;
}

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
  catalog: Catalog;
  site: Site;
  recommendations: Recommendations;
  signals: Signals;
  scripts: Scripts;
  close(): Promise<void>;
}

/** @example const modules = await createModules({ config, log, metrics, url: store.url }); ... await modules.close(); */
export async function createModules(input: {
  config: Config;
  log: Log;
  url: string;
  metrics: Metrics;
  clock?: Clock;
}): Promise<Modules> {
  const { config, log, url, metrics, clock = systemClock } = input;
  const secret = config.secret ?? (await installationSecret(config.home));
  const db = openDatabase({ url, connections: config.databaseConnections, log });
  const lanes = createLanes({ db, clock, log, metrics });
  const accounts = await createAccounts({ db, clock, config, secret });
  const webhooks = await createWebhooks({ db, clock, lanes, metrics, config, secret });
  const profiles = createProfiles({ db, clock, log });
  const catalog = createCatalog({ db, clock, log, lanes, config });
  const site = await createSite({ db, clock, profiles });
  const recommendations = await createRecommendations({
    db,
    clock,
    log,
    lanes,
    config,
    secret,
    accounts,
    catalog,
    profiles,
  });
  site.ports.pageVisited = recommendations.pageVisited;
  site.ports.offersOf = recommendations.offersOf;
  const signals = createSignals({
    db,
    clock,
    metrics,
    profiles,
    inTransaction: [recommendations.signalPort],
  });
  const scripts = await createScripts({ db, clock, config, accounts, site });
  return {
    config,
    clock,
    log,
    metrics,
    db,
    lanes,
    accounts,
    webhooks,
    profiles,
    catalog,
    site,
    recommendations,
    signals,
    scripts,
    async close() {
      await scripts.close();
      await signals.close();
      await recommendations.close();
      await site.close();
      await catalog.close();
      await webhooks.close();
      await accounts.close();
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
    addRoutes?: (app: HttpApp) => void;
    /** Ends what takes long at the start. */
    stopping?: AbortSignal;
  } = {},
): Promise<Signalbox> {
  const { config } = modules;
  const stops: ((deadlineMs: number) => Promise<void>)[] = [];
  const state = { stopping: false };
  // The last started is the first to stop: no new work comes in while the rest finishes. The deadline is that of all
  // together: the process ends soon after it, and must not leave lanes or PostgreSQL behind.
  const stop = async (deadlineMs = config.shutdownTimeoutMs) => {
    state.stopping = true;
    const end = performance.now() + deadlineMs;
    // Whatever the first take of it, a push that is nearly done may end: cut off, it would be repeated.
    const least = deadlineMs / 20;
    for (const stop of stops.splice(0).reverse()) await stop(Math.max(end - performance.now(), least));
  };
  let address: string | null = null;
  try {
    if (config.roles.includes('worker')) {
      stops.push(await modules.webhooks.work());
      stops.push(await modules.catalog.work());
      stops.push(await modules.recommendations.work());
    }
    if (config.roles.includes('scheduler')) {
      const { clock } = modules;
      stops.push(startChores({ clock, run: (stopping) => maintain(modules, stopping) }));
    }
    if (config.roles.includes('api')) {
      await modules.recommendations.warm(stopping);
      // Loaded only where it is needed: a command that serves nothing starts in half the time.
      const { createHttpServer } = await import('./http/server.ts');
      const server = await createHttpServer({ ...modules, readMetrics, state, addRoutes });
      address = await server.listen();
      stops.push(server.close);
    }
    if (config.probePort !== undefined) {
      const { listenForProbes } = await import('./http/probes.ts');
      const probes = await listenForProbes({ ...modules, readMetrics, state, port: config.probePort });
      // The last to stop: whoever looks on sees the rest finish.
      stops.unshift(probes.close);
    }
  } catch (error) {
    // Whoever cannot serve gives back the lanes that it took, and whoever looks on is told at once.
    await stop(0);
    throw error;
  }
  return { address, stop: () => stop() };
}
