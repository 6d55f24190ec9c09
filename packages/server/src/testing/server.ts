/**
 * A real server for tests: all modules on a database of its own, listening on a free port, with a tenant and its
 * credentials. It stops by itself when the test file ends.
 */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@signalbox/embedded-postgres/free-port';
import type { Tenant } from '../accounts/index.ts';
import { loadConfig } from '../kernel/config/config.ts';
import { watchRoutes } from '../kernel/http/allowed-methods.ts';
import { createHttpApp, type HttpApp } from '../kernel/http/app.ts';
import { startListening } from '../kernel/http/listener.ts';
import { newId } from '../kernel/ids.ts';
import type { Manifest } from '../kernel/module.ts';
import { randomSecret } from '../kernel/security/crypto.ts';
import type { Log } from '../kernel/telemetry/log.ts';
import { createMetrics } from '../kernel/telemetry/metrics.ts';
import { silentLog } from '../kernel/telemetry/no-op.ts';
import { type Clock, systemClock } from '../kernel/time/clock.ts';
import { createModules, type ExtraModule, type Modules, runRoles } from '../main.ts';
import { type Config, MANIFESTS } from '../manifests.ts';
import { atEnd } from './at-end.ts';
import { createTestDatabaseUrl } from './database.ts';

export interface TestServer {
  origin: string;
  databaseUrl: string;
  modules: Modules;
  tenant: Tenant;
  organization: string;
  oauth: { client_id: string; client_secret: string; audience: string; account_id: string };
  /** The value of `X-ApiKey`. */
  apiKey: string;
  sdkKey: string;
  /** A bearer token with every scope, got from `/oauth/token`. */
  token(): Promise<string>;
  stop(): Promise<void>;
}

interface TestServerOptions {
  config?: Partial<Config>;
  clock?: Clock;
  log?: Log;
  /** An address instead of a new database. */
  databaseUrl?: string;
  /** Modules beside those of the product. */
  extra?: readonly ExtraModule[];
}

/**
 * @example
 * const server = await startTestServer({ config: { requestTimeoutMs: 200 } });
 * await fetch(`${server.origin}/v2/ping`, { headers: { 'x-apikey': server.apiKey } });
 */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const url = options.databaseUrl ?? (await createTestDatabaseUrl());
  const config = await testConfig(options.config);
  const modules = await createModules({
    config,
    log: options.log ?? silentLog,
    metrics: createMetrics(),
    url,
    clock: options.clock,
    extra: options.extra,
  });
  const running = await runRoles(modules);
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= running.stop().finally(() => modules.close());
    return stopped;
  };
  atEnd(stop);
  return {
    origin: config.publicUrl,
    databaseUrl: url,
    modules,
    ...(await createCredentials(modules)),
    stop,
  };
}

async function createCredentials({ accounts, config }: Modules) {
  const tenant = await accounts.createTenant({
    name: `test-${randomSecret(6).toLowerCase().replaceAll('_', '-')}`,
  });
  const organization = await accounts.createOrganization(tenant, {
    name: 'default',
    languages: ['en', 'nl'],
  });
  const { client, secret } = await accounts.createOauthClient(tenant, { name: 'test' });
  const service = await accounts.createServiceAccount(tenant, { name: 'test' });
  const sdk = await accounts.createSdkKey(tenant, { name: 'test' });
  const oauth = {
    client_id: client.clientId,
    client_secret: secret,
    audience: config.publicUrl,
    account_id: tenant.id,
  };
  return {
    tenant,
    organization: organization.name,
    oauth,
    apiKey: `${service.account.key}:${service.secret}`,
    sdkKey: sdk.key,
    async token() {
      const answer = await fetch(`${config.publicUrl}/oauth/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ grant_type: 'client_credentials', ...oauth }),
      });
      return ((await answer.json()) as { access_token: string }).access_token;
    },
  };
}

/**
 * The HTTP kit alone, with the routes that a test needs. Answers the origin.
 *
 * @example
 * const origin = await serveTestRoutes({}, (app) => createRouter(app, { family: 'system' }).route({ ... }));
 */
export async function serveTestRoutes(
  options: Omit<TestServerOptions, 'databaseUrl' | 'extra'>,
  register: (app: HttpApp) => void | Promise<void>,
): Promise<string> {
  const config = await testConfig(options.config);
  const { clock = systemClock, log = silentLog } = options;
  const families = MANIFESTS.flatMap(({ errorFamilies }: Manifest) => errorFamilies ?? []);
  const app = createHttpApp({ config, families, clock, log, metrics: createMetrics() });
  const routes = watchRoutes(app);
  await register(app);
  routes.finish();
  await app.fastify.ready();
  const listener = await startListening(app.fastify, config);
  atEnd(() => listener.close(0));
  return config.publicUrl;
}

/** As for the real program: the time that an answer takes is none of what most tests are about. */
const UNHURRIED = { requestTimeoutMs: 120_000, signalTimeoutMs: 120_000, recommendationTimeoutMs: 120_000 };

/** A development configuration on a free port, with the rate limit as users have it: off for this machine. */
async function testConfig(overrides: Partial<Config> = {}): Promise<Config> {
  const port = await freePort();
  return {
    ...loadConfig({ manifests: MANIFESTS, mode: 'development', env: {} }),
    host: '127.0.0.1',
    port,
    publicUrl: `http://127.0.0.1:${port}`,
    home: join(tmpdir(), newId('signalbox')),
    secret: randomSecret(),
    databaseConnections: 6,
    ...UNHURRIED,
    ...overrides,
  };
}
