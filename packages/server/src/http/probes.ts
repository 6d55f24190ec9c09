/** Probes and figures for whoever operates the server. */
import Type from 'typebox';
import type { Database } from '../kernel/db/database.ts';
import { appliedMigrations } from '../kernel/db/migrations.ts';
import { ERRORS, type ErrorCode, refuse } from '../kernel/errors.ts';
import type { HttpApp } from '../kernel/http/app.ts';
import { createRouter } from '../kernel/http/routes.ts';

const State = Type.Object({ status: Type.String() });

export function registerSystemRoutes(
  app: HttpApp,
  dependencies: {
    db: Database;
    readMetrics: () => Promise<{ type: string; body: string }>;
    state: { stopping: boolean };
    /** The migrations that this release knows. */
    migrations: number;
  },
): void {
  const { db, readMetrics, state, migrations } = dependencies;
  const system = createRouter(app, { family: 'system', limited: false });

  system.route({
    method: 'GET',
    url: '/healthz',
    quiet: true,
    operationId: 'getHealth',
    summary: 'Whether the process lives',
    responses: { 200: State },
    handler: async () => ({ body: { status: 'ok' } }),
  });

  system.route({
    method: 'GET',
    url: '/readyz',
    quiet: true,
    operationId: 'getReadiness',
    summary: 'Whether the process can take requests',
    responses: { 200: State },
    async handler() {
      if (state.stopping) throw refuse('unavailable', 'The server is stopping.');
      if ((await appliedMigrations(db)) > migrations)
        throw refuse(
          'unavailable',
          'A newer release has migrated the database: this process must be stopped.',
        );
      return { body: { status: 'ready' } };
    },
  });

  system.route({
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

  system.route({
    method: 'GET',
    url: '/errors/:code',
    operationId: 'getErrorKind',
    summary: 'What the `type` of a problem means',
    params: Type.Object({ code: Type.String() }),
    responses: { 200: Type.Object({ code: Type.String(), status: Type.Integer(), title: Type.String() }) },
    async handler({ params }) {
      if (!Object.hasOwn(ERRORS, params.code)) throw refuse('notFound', `There is no error ${params.code}.`);
      return { body: { code: params.code, ...ERRORS[params.code as ErrorCode] } };
    },
  });
}
