/** Probes and figures for whoever operates the server: among its other routes, and on a port of their own where one is set. */
import Type from 'typebox';
import type { KernelConfig } from '../kernel/config/config.ts';
import type { Database } from '../kernel/db/database.ts';
import { allNodesAnswer } from '../kernel/db/nodes.ts';
import { appliedMigrations, readMigrations } from '../kernel/db/schema/migrations.ts';
import { apiError } from '../kernel/errors.ts';
import { watchRoutes } from '../kernel/http/allowed-methods.ts';
import { createHttpApp, type HttpApp } from '../kernel/http/app.ts';
import { type Listener, startListening } from '../kernel/http/listener.ts';
import { createRouter } from '../kernel/http/routes.ts';
import type { Log } from '../kernel/telemetry/log.ts';
import { silentMetrics } from '../kernel/telemetry/no-op.ts';
import type { Clock } from '../kernel/time/clock.ts';

const State = Type.Object({ status: Type.String() });

export interface Probed {
  db: Database;
  /** The text of `/metrics`; the processes of one machine answer together. */
  readMetrics: () => Promise<{ type: string; body: string }>;
  state: { stopping: boolean };
}

export async function registerProbeRoutes(app: HttpApp, { db, readMetrics, state }: Probed): Promise<void> {
  // Counted now: an upgrade replaces the files of a process that still runs.
  const migrations = (await readMigrations()).length;
  const { route } = createRouter(app, { family: 'system', limited: false });

  route({
    method: 'GET',
    url: '/healthz',
    quiet: true,
    operationId: 'getHealth',
    summary: 'Whether the process lives',
    responses: { 200: State },
    handler: async () => ({ body: { status: 'ok' } }),
  });

  route({
    method: 'GET',
    url: '/readyz',
    quiet: true,
    operationId: 'getReadiness',
    summary: 'Whether the process can take requests',
    responses: { 200: State },
    async handler() {
      if (state.stopping) throw apiError('unavailable', 'The server is stopping.');
      if ((await appliedMigrations(db)) > migrations)
        throw apiError(
          'unavailable',
          'A newer release has migrated the database: this process must be stopped.',
        );
      if (!(await allNodesAnswer(db)))
        throw apiError('unavailable', 'A machine of the database does not answer.');
      return { body: { status: 'ready' } };
    },
  });

  route({
    method: 'GET',
    url: '/metrics',
    quiet: true,
    operationId: 'getMetrics',
    summary: 'Figures in the Prometheus format',
    responses: { 200: Type.String() },
    async handler() {
      const { type, body } = await readMetrics();
      return { headers: { 'content-type': type }, body };
    },
  });
}

/** Answers nothing but the probes. Its own requests are not among the figures: they would be there twice. */
export async function listenForProbes(
  dependencies: Probed & { config: KernelConfig; clock: Clock; log: Log; port: number },
): Promise<Listener> {
  const { config, port } = dependencies;
  const app = createHttpApp({ ...dependencies, families: [], metrics: silentMetrics });
  const routes = watchRoutes(app);
  await registerProbeRoutes(app, dependencies);
  routes.finish();
  await app.fastify.ready();
  return startListening(app.fastify, { host: config.host, port });
}
