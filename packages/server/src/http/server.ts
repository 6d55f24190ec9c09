/** The assembled server: every module's routes, the pages about them, and the probes of whoever operates it. */
import type { Accounts } from '../accounts/index.ts';
import { registerAccountRoutes } from '../accounts/routes.ts';
import type { Catalog } from '../catalog/index.ts';
import { registerCatalogRoutes } from '../catalog/routes.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Config } from '../kernel/config.ts';
import { watchRoutes } from '../kernel/http/allowed-methods.ts';
import { createHttpApp, type HttpApp } from '../kernel/http/app.ts';
import { type Listener, startListening } from '../kernel/http/listener.ts';
import { collectOpenApi, serveOpenApi } from '../kernel/http/openapi.ts';
import type { Log } from '../kernel/log.ts';
import type { Metrics } from '../kernel/metrics.ts';
import { VERSION } from '../kernel/version.ts';
import type { Profiles } from '../profiles/index.ts';
import { registerProfileRoutes } from '../profiles/routes.ts';
import { registerWidgetRoutes } from '../recommendations/admin-routes.ts';
import { registerCollectRoutes } from '../recommendations/collect-routes.ts';
import type { Recommendations } from '../recommendations/index.ts';
import { registerRecommendationRoutes } from '../recommendations/routes.ts';
import type { Signals } from '../signals/index.ts';
import { registerSignalRoutes } from '../signals/routes.ts';
import type { Scripts } from '../signals/scripts/index.ts';
import { registerScriptRoutes } from '../signals/scripts/routes.ts';
import type { Site } from '../site/index.ts';
import { registerSiteRoutes } from '../site/routes.ts';
import type { Webhooks } from '../webhooks/index.ts';
import { registerWebhookRoutes } from '../webhooks/routes.ts';
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
    webhooks: Webhooks;
    profiles: Profiles;
    signals: Signals;
    catalog: Catalog;
    site: Site;
    recommendations: Recommendations;
    scripts: Scripts;
    /** Routes of whoever stands above: the demo's receiver page. */
    addRoutes?: (app: HttpApp) => void;
  },
): Promise<HttpServer> {
  const { config, clock, db, accounts, webhooks, profiles, signals, scripts } = dependencies;
  const { catalog, site, recommendations } = dependencies;
  const app = createHttpApp(dependencies);
  await collectOpenApi(app, VERSION);
  const routes = watchRoutes(app);

  registerAccountRoutes(app, accounts);
  registerWebhookRoutes(app, { accounts, webhooks, db });
  registerProfileRoutes(app, { accounts, profiles });
  await registerSignalRoutes(app, { accounts, signals, clock });
  registerScriptRoutes(app, { accounts, scripts });
  dependencies.addRoutes?.(app);
  await registerCatalogRoutes(app, { accounts, catalog });
  registerSiteRoutes(app, { accounts, site });
  registerWidgetRoutes(app, { accounts, recommendations, clock });
  registerCollectRoutes(app, { site, recommendations });
  registerRecommendationRoutes(app, { accounts, recommendations, clock });
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
