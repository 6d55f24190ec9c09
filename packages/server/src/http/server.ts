/** The assembled server: the routes of all modules, the pages about them, and the probes. */
import type { Accounts } from '../accounts/index.ts';
import { VERSION } from '../kernel/config/version.ts';
import { watchRoutes } from '../kernel/http/allowed-methods.ts';
import { createHttpApp, type HttpApp } from '../kernel/http/app.ts';
import { type Listener, startListening } from '../kernel/http/listener.ts';
import { collectOpenApi, serveOpenApi } from '../kernel/http/openapi/documents.ts';
import type { Manifest, Module } from '../kernel/module.ts';
import type { Log } from '../kernel/telemetry/log.ts';
import type { Metrics } from '../kernel/telemetry/metrics.ts';
import type { Clock } from '../kernel/time/clock.ts';
import type { Config } from '../manifests.ts';
import { type Probed, registerProbeRoutes } from './probes.ts';
import { registerReferenceRoutes } from './reference.ts';

export interface HttpServer {
  /** The address that it listens on. */
  listen(): Promise<string>;
  /** Stops accepting and lets every accepted request end; what is open at the deadline is cut. */
  close(deadlineMs: number): Promise<void>;
}

export async function createHttpServer(
  dependencies: Probed & {
    config: Config;
    clock: Clock;
    log: Log;
    metrics: Metrics;
    accounts: Accounts;
    manifests: readonly Manifest[];
    all: readonly Module<Accounts>[];
    /** Routes that belong to no module: the pages of the demo. */
    addRoutes?: ((app: HttpApp) => Promise<void>) | undefined;
  },
): Promise<HttpServer> {
  const { config, accounts, manifests, all } = dependencies;
  const families = manifests.flatMap(({ errorFamilies }) => errorFamilies ?? []);
  const app = createHttpApp({ ...dependencies, families });
  await collectOpenApi(app, VERSION);
  const routes = watchRoutes(app);

  for (const module of all) await module.routes?.(app, accounts);
  await dependencies.addRoutes?.(app);
  await registerProbeRoutes(app, dependencies);
  registerReferenceRoutes(app);
  serveOpenApi(app);
  routes.finish();

  await app.fastify.ready();
  let listener: Listener | undefined;
  return {
    async listen() {
      listener = await startListening(app.fastify, config);
      return listener.address;
    },
    async close(deadlineMs) {
      await listener?.close(deadlineMs);
    },
  };
}
