/** `signalbox serve`: the server in one process, or one process per worker on this machine. */
import cluster from 'node:cluster';
import { once } from 'node:events';
import { freePort } from '@signalbox/embedded-postgres/free-port';
import { type Demo, ensureDemo } from '../demo/index.ts';
import { demoRoutes } from '../demo/routes.ts';
import { isRefusedByTrackers } from '../kernel/config/config.ts';
import { checkSecret, ensureHome, installationSecret } from '../kernel/config/home.ts';
import { VERSION } from '../kernel/config/version.ts';
import { openDatabase } from '../kernel/db/database.ts';
import { tryToListen } from '../kernel/http/listener.ts';
import { createLog, type Log } from '../kernel/telemetry/log.ts';
import { createMetrics } from '../kernel/telemetry/metrics.ts';
import { silentMetrics } from '../kernel/telemetry/no-op.ts';
import { createModules, runRoles } from '../main.ts';
import { prepareDatabase } from '../maintenance.ts';
import type { Config } from '../manifests.ts';
import { type DatabaseAccess, openStore } from '../open-store.ts';
import { reportReady, startFleet } from './fleet.ts';
import { tellFigures } from './fleet-figures.ts';
import { endHearing, SAME_SIGNAL_MS } from './interruption.ts';
import { isTerminal, withSpinner } from './terminal.ts';
import { welcomeText } from './welcome.ts';

export async function serve(given: Config): Promise<void> {
  const config = await withPort(given);
  const log = await createLog({ level: config.logLevel, format: config.logFormat });
  // From the beginning: whoever is stopped while it starts leaves no PostgreSQL behind.
  const stopping = stopSignal(log, config);
  if (cluster.isWorker) {
    await serveHere({ config, log, url: config.databaseUrl!, stopping });
    return;
  }
  await tryPorts(config);
  // In production on a database of its own nothing is kept there: the file system may be read-only.
  if (config.mode === 'development') await ensureHome(config.home);
  if (config.secret === undefined) await checkSecret(config.home);
  const store = await withSpinner('Starting PostgreSQL', (spinner) =>
    openStore(config, {
      onProgress: (text) => (isTerminal() ? spinner.say(text) : log.info(text)),
      onTrouble: (text, level) => log[level](text),
      stopping,
    }),
  ).catch((error) => {
    // A Ctrl-C reaches initdb as well, which then fails. That is no error of a server that is to stop.
    if (!stopping.aborted) throw error;
  });
  try {
    if (store !== undefined && !stopping.aborted) await serveFrom({ config, log, store, stopping });
  } finally {
    await store?.close();
  }
  log.info('stopped');
}

async function serveFrom(input: {
  config: Config;
  log: Log;
  store: DatabaseAccess;
  stopping: AbortSignal;
}): Promise<void> {
  const { config, log, store, stopping } = input;
  const { url } = store;
  const demo = await prepare({ config, log, store, stopping });
  const ready = () => welcome(config, demo, log);
  if (config.workers === 1) return serveHere({ config, log, url, stopping, ready });
  const secret = config.secret ?? (await installationSecret(config.home));
  await startFleet({ config, log, secret, url, stopping, ready });
}

/** Migrates, and in development makes the demo tenant. Ends early when the process is to stop. */
async function prepare(input: {
  config: Config;
  log: Log;
  store: DatabaseAccess;
  stopping: AbortSignal;
}): Promise<Demo | null> {
  const { config, log, store, stopping } = input;
  const db = openDatabase({ url: store.url, connections: 2, log });
  const applied = await withSpinner('Applying migrations', () => prepareDatabase(db)).finally(db.close);
  if (applied > 0) log.info({ applied }, 'migrations applied');
  if (stopping.aborted) return null;
  const modules = await createModules({
    config: { ...config, databaseConnections: 4 },
    log,
    metrics: silentMetrics,
    url: store.url,
  });
  try {
    // With another secret nothing that was sealed could be opened: tokens, signatures. Better no start than half a server.
    await modules.accounts.tokens.publicKeys();
    if (store.exclusive) await modules.lanes.takeOver();
    return config.mode === 'development' && !stopping.aborted ? await ensureDemo(modules) : null;
  } finally {
    await modules.close();
  }
}

/** Serves in this process until it is told to stop. */
async function serveHere(input: {
  config: Config;
  log: Log;
  url: string;
  stopping: AbortSignal;
  ready?: () => void;
}): Promise<void> {
  const { config, log, url, stopping, ready } = input;
  if (stopping.aborted) return;
  const metrics = createMetrics({ defaults: true });
  const modules = await createModules({ config, log, metrics, url });
  try {
    const readMetrics = cluster.isWorker ? tellFigures(metrics.registry) : undefined;
    const addRoutes = config.mode === 'development' ? await demoRoutes(config) : undefined;
    const running = await runRoles(modules, { readMetrics, addRoutes, stopping });
    if (!stopping.aborted) {
      reportReady();
      ready?.();
      await once(stopping, 'abort');
    }
    await running.stop();
  } finally {
    await modules.close();
    cluster.worker?.disconnect();
  }
}

/** What is still not done this long after the deadline is left; whoever stops others waits for them first. */
const LAST_MS = { alone: 5000, ofOthers: 10_000 };

/** Fires at the first SIGTERM, SIGINT or SIGHUP; another one later, or the deadline, ends the process at once. */
function stopSignal(log: Log, { shutdownTimeoutMs, workers }: Config): AbortSignal {
  const stopping = new AbortController();
  const last = cluster.isPrimary && workers > 1 ? LAST_MS.ofOthers : LAST_MS.alone;
  let since: number | undefined;
  const stop = (signal: NodeJS.Signals) => {
    if (since !== undefined) {
      if (performance.now() - since > SAME_SIGNAL_MS) process.exit(1);
      return;
    }
    since = performance.now();
    endHearing();
    log.info({ signal }, 'stopping: finishing what is in flight');
    setTimeout(() => process.exit(1), shutdownTimeoutMs + last).unref();
    stopping.abort();
  };
  process.on('SIGTERM', stop);
  // Ctrl-C, and a terminal that is closed, reach every process; in a fleet the primary passes on that it is to stop.
  for (const signal of ['SIGINT', 'SIGHUP'] as const)
    process.on(signal, cluster.isWorker ? () => undefined : stop);
  return stopping.signal;
}

/** `PORT=0` asks for a free port; the public address needs to know which, seconds before anybody listens there. */
async function withPort(config: Config): Promise<Config> {
  if (config.port !== 0) return config;
  const port = await freePort();
  const publicUrl = config.publicUrl === 'http://localhost:0' ? `http://localhost:${port}` : config.publicUrl;
  return { ...config, port, publicUrl };
}

/** Before anything is made: a database and a demo take a newcomer seconds. */
async function tryPorts({ host, port, probePort, roles }: Config): Promise<void> {
  const own = roles.includes('api') ? [port] : [];
  for (const each of probePort === undefined ? own : [...own, probePort])
    await tryToListen({ host, port: each });
}

function welcome(config: Config, demo: Demo | null, log: Log): void {
  log.info({ version: VERSION, mode: config.mode, region: config.region, origin: config.publicUrl }, 'ready');
  if (isRefusedByTrackers(config.publicUrl))
    log.warn(
      { origin: config.publicUrl },
      'trackers send to https alone: PUBLIC_URL should be an https address',
    );
  if (demo !== null && isTerminal()) process.stderr.write(welcomeText(config));
}
