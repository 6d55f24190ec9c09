/**
 * `/docs`: the API reference, rendered in the browser from `/openapi.json`, and what problems refer to. Everything comes from
 * this server.
 */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import Type from 'typebox';
import { apiError, ERRORS, type ErrorCode } from '../kernel/errors.ts';
import type { HttpApp } from '../kernel/http/app.ts';
import { compressText, sendCompressed } from '../kernel/http/compressed.ts';
import { createRouter } from '../kernel/http/routes.ts';
import { madeOnce } from '../kernel/memory/made-once.ts';

/** Operations are listed, and drawn when one is opened: drawing all hundred at once takes the browser seconds and 300 MB. */
const SETTINGS = {
  layout: 'classic',
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
};

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Signalbox API reference</title>
<link rel="icon" href="data:,">
</head>
<body>
<script id="api-reference" data-url="/openapi.json" data-configuration='${JSON.stringify(SETTINGS)}'></script>
<script src="/docs/reference.js"></script>
</body>
</html>
`;

/** The reference page evaluates and inlines styles of its own; nothing may come from elsewhere. */
const POLICY =
  "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; " +
  "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:";

export function registerReferenceRoutes(app: HttpApp): void {
  const { fastify } = app;
  const require = createRequire(import.meta.url);
  const folder = dirname(require.resolve('@scalar/fastify-api-reference'));
  const page = madeOnce(() => compressText(PAGE));
  const script = madeOnce(async () => compressText(await readFile(join(folder, 'js/standalone.js'))));

  // The address that the start prints is the first that people open.
  fastify.get('/', { schema: { hide: true } }, async (_request, reply) => reply.redirect('/docs'));
  fastify.get('/docs', { schema: { hide: true } }, async (request, reply) =>
    sendCompressed(request, reply, await page(), {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': POLICY,
    }),
  );
  fastify.get('/docs/reference.js', { schema: { hide: true } }, async (request, reply) =>
    sendCompressed(request, reply, await script(), {
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=86400',
    }),
  );
  createRouter(app, { family: 'system', limited: false }).route({
    method: 'GET',
    url: '/errors/:code',
    operationId: 'getErrorKind',
    summary: 'What the `type` of a problem means',
    params: Type.Object({ code: Type.String() }),
    responses: { 200: Type.Object({ code: Type.String(), status: Type.Integer(), title: Type.String() }) },
    async handler({ params }) {
      if (!Object.hasOwn(ERRORS, params.code))
        throw apiError('notFound', `There is no error ${params.code}.`);
      return { body: { code: params.code, ...ERRORS[params.code as ErrorCode] } };
    },
  });
}
