/** The catalog at `/v2/organizations/{organization}/catalog`: items, imports and feeds (D16, in the style of D35). */
import type { IncomingMessage } from 'node:http';
import Type from 'typebox';
import type { Accounts } from '../accounts/index.ts';
import { createPlatform } from '../accounts/platform.ts';
import { ResultEnvelope, SUCCEEDED } from '../accounts/schemas.ts';
import { apiError, invalid } from '../kernel/errors.ts';
import type { HttpApp } from '../kernel/http/app.ts';
import { refusalOfCoding } from '../kernel/http/bodies/parsers.ts';
import { schemaViolations } from '../kernel/http/routes.ts';
import { firstOfEach } from '../kernel/http/validation.ts';
import { charsetIn } from '../kernel/tables/index.ts';
import { HOUR } from '../kernel/time/clock.ts';
import { scopeViolations } from './imports.ts';
import { type Catalog, type FeedInput, type Format, formatOf, itemOf } from './index.ts';
import { bodyViolations, changeOf, type ItemBody } from './item.ts';
import * as schemas from './schemas.ts';

const BASE = '/v2/organizations/:organization/catalog';
const UPLOADS = [
  'text/csv',
  'text/tab-separated-values',
  'application/json',
  'application/x-ndjson',
  'application/ndjson',
  'application/xml',
  'text/xml',
  'application/rss+xml',
  'application/atom+xml',
  'application/gzip',
  'application/octet-stream',
];

export async function registerCatalogRoutes(
  app: HttpApp,
  { accounts, catalog }: { accounts: Accounts; catalog: Catalog },
): Promise<void> {
  const { route, tenantOf } = createPlatform(app, accounts);

  const feedViolations = (body: unknown) => catalog.feedViolations((body ?? {}) as object);

  route({
    method: 'GET',
    url: `${BASE}/items`,
    operationId: 'listCatalogItems',
    summary: 'List or search items',
    params: Type.Object(schemas.OrganizationPath),
    query: schemas.ItemQuery,
    responses: { 200: Type.Array(schemas.ItemAnswer) },
    async handler({ caller, params, query }) {
      const items = await catalog.list(await tenantOf(caller, params), query);
      return { body: items.map(schemas.showItem) };
    },
  });

  route({
    method: 'GET',
    url: BASE,
    operationId: 'getCatalog',
    summary: 'How many items there are',
    params: Type.Object(schemas.OrganizationPath),
    responses: { 200: schemas.CountAnswer },
    handler: async ({ caller, params }) => ({ body: await catalog.count(await tenantOf(caller, params)) }),
  });

  route({
    method: 'GET',
    url: `${BASE}/items/:item_pid`,
    operationId: 'getCatalogItem',
    summary: 'Get one item',
    params: schemas.ItemPath,
    responses: { 200: schemas.ItemAnswer },
    handler: async ({ caller, params }) => ({
      body: schemas.showItem(await catalog.get(await tenantOf(caller, params), params.item_pid)),
    }),
  });

  route({
    method: 'PUT',
    url: `${BASE}/items/:item_pid`,
    operationId: 'putCatalogItem',
    summary: 'Create or replace one item',
    params: schemas.ItemPath,
    body: schemas.ItemBodySchema,
    rules: (body, { item_pid }) => bodyViolations(body, item_pid),
    responses: { 200: schemas.ItemAnswer, 201: schemas.ItemAnswer },
    async handler({ caller, params, body }) {
      const tenantId = await tenantOf(caller, params);
      const created = await catalog.put(tenantId, itemOf({ ...body, item_pid: params.item_pid }));
      return {
        status: created ? 201 : 200,
        body: schemas.showItem(await catalog.get(tenantId, params.item_pid)),
      };
    },
  });

  route({
    method: 'PATCH',
    url: `${BASE}/items/:item_pid`,
    operationId: 'patchCatalogItem',
    summary: 'Change members of one item, such as its availability',
    params: schemas.ItemPath,
    body: schemas.ItemPatch,
    rules: (body, { item_pid }) => bodyViolations(body, item_pid),
    responses: { 200: schemas.ItemAnswer },
    async handler({ caller, params, body }) {
      const change = changeOf(body as Partial<ItemBody>);
      const item = await catalog.patch(await tenantOf(caller, params), params.item_pid, change);
      return { body: schemas.showItem(item) };
    },
  });

  route({
    method: 'DELETE',
    url: `${BASE}/items/:item_pid`,
    operationId: 'deleteCatalogItem',
    summary: 'Remove one item',
    params: schemas.ItemPath,
    responses: { 200: ResultEnvelope },
    async handler({ caller, params }) {
      await catalog.remove(await tenantOf(caller, params), params.item_pid);
      return { body: SUCCEEDED };
    },
  });

  route({
    method: 'GET',
    url: `${BASE}/imports`,
    operationId: 'listCatalogImports',
    summary: 'List the latest imports, newest first, each with the first ten of its refused rows',
    params: Type.Object(schemas.OrganizationPath),
    responses: { 200: Type.Array(schemas.ImportAnswer) },
    handler: async ({ caller, params }) => ({
      body: (await catalog.imports.list(await tenantOf(caller, params))).map(schemas.showImport),
    }),
  });

  route({
    method: 'GET',
    url: `${BASE}/imports/:import`,
    operationId: 'getCatalogImport',
    summary: 'Get one import with its refused rows',
    params: schemas.ImportPath,
    responses: { 200: schemas.ImportAnswer },
    handler: async ({ caller, params }) => ({
      body: schemas.showImport(await catalog.imports.get(await tenantOf(caller, params), params.import)),
    }),
  });

  for (const action of ['confirm', 'cancel'] as const) {
    route({
      method: 'POST',
      url: `${BASE}/imports/:import/${action}`,
      operationId: `${action}CatalogImport`,
      summary: action === 'confirm' ? 'Apply a held import' : 'Drop a held import',
      params: schemas.ImportPath,
      deadlineMs: HOUR,
      responses: { 200: schemas.ImportAnswer },
      refusals: ['conflict'],
      handler: async ({ caller, params }) => ({
        body: schemas.showImport(
          await catalog.imports[action](await tenantOf(caller, params), params.import),
        ),
      }),
    });
  }

  route({
    method: 'GET',
    url: `${BASE}/feeds`,
    operationId: 'listCatalogFeeds',
    summary: 'List the feeds that are fetched on a schedule',
    params: Type.Object(schemas.OrganizationPath),
    responses: { 200: Type.Array(schemas.FeedAnswer) },
    handler: async ({ caller, params }) => ({
      body: (await catalog.listFeeds(await tenantOf(caller, params))).map(schemas.showFeed),
    }),
  });

  route({
    method: 'POST',
    url: `${BASE}/feeds`,
    operationId: 'createCatalogFeed',
    summary: 'Fetch a feed from an address, now and on a schedule',
    params: Type.Object(schemas.OrganizationPath),
    body: schemas.FeedBody,
    rules: feedViolations,
    responses: { 201: schemas.FeedAnswer },
    async handler({ caller, params, body }) {
      const feed = await catalog.createFeed(await tenantOf(caller, params), feedInput(body));
      return { status: 201, body: schemas.showFeed(feed) };
    },
  });

  route({
    method: 'GET',
    url: `${BASE}/feeds/:feed`,
    operationId: 'getCatalogFeed',
    summary: 'Get one feed',
    params: schemas.FeedPath,
    responses: { 200: schemas.FeedAnswer },
    handler: async ({ caller, params }) => ({
      body: schemas.showFeed(await catalog.getFeed(await tenantOf(caller, params), params.feed)),
    }),
  });

  route({
    method: 'PUT',
    url: `${BASE}/feeds/:feed`,
    operationId: 'updateCatalogFeed',
    summary: 'Replace one feed',
    params: schemas.FeedPath,
    body: schemas.FeedBody,
    rules: feedViolations,
    responses: { 200: schemas.FeedAnswer },
    async handler({ caller, params, body }) {
      const feed = await catalog.updateFeed(await tenantOf(caller, params), params.feed, feedInput(body));
      return { body: schemas.showFeed(feed) };
    },
  });

  route({
    method: 'DELETE',
    url: `${BASE}/feeds/:feed`,
    operationId: 'deleteCatalogFeed',
    summary: 'Delete one feed; its items stay',
    params: schemas.FeedPath,
    responses: { 200: ResultEnvelope },
    async handler({ caller, params }) {
      await catalog.deleteFeed(await tenantOf(caller, params), params.feed);
      return { body: SUCCEEDED };
    },
  });

  route({
    method: 'POST',
    url: `${BASE}/feeds/:feed/run`,
    operationId: 'runCatalogFeed',
    summary: 'Fetch a feed now',
    params: schemas.FeedPath,
    deadlineMs: HOUR,
    responses: { 200: schemas.ImportAnswer },
    handler: async ({ caller, params }) => ({
      body: schemas.showImport(await catalog.runFeed(await tenantOf(caller, params), params.feed)),
    }),
  });

  // Uploads are streamed (D3): in a scope of their own the body is handed on as it comes.
  await app.fastify.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
    createPlatform({ ...app, fastify: scope as unknown as HttpApp['fastify'] }, accounts).route({
      method: 'POST',
      url: `${BASE}/imports`,
      operationId: 'importCatalog',
      summary: 'Upload a feed: CSV, JSON, NDJSON, RSS or Atom',
      description: 'Streamed, of any size. A feed that would drop more than half of the items is held.',
      params: Type.Object(schemas.OrganizationPath),
      query: schemas.ImportQuery,
      body: Type.Unsafe<unknown>({}),
      consumes: UPLOADS,
      deadlineMs: HOUR,
      bodyLimit: Number.MAX_SAFE_INTEGER,
      reportsViolations: true,
      responses: { 200: schemas.ImportAnswer, 202: schemas.ImportAnswer },
      refusals: ['unprocessable'],
      async handler({ caller, params, query, body, request }) {
        const violations = [...schemaViolations(request), ...scopeViolations(query)];
        if (violations.length > 0) throw invalid(firstOfEach(violations));
        const { mode = 'delta', language, country, confirmed } = query;
        const tenantId = await tenantOf(caller, params);
        if (body === undefined || body === null) throw apiError('invalid', 'A feed is required as the body.');
        const wrong = refusalOfCoding(request.headers['content-encoding'], ['identity', 'gzip']);
        if (wrong !== null) throw wrong;
        const given = await catalog.imports.run({
          tenantId,
          source: 'upload',
          content: uploadOf(body as IncomingMessage),
          charset: () => charsetIn(request.headers['content-type']),
          format: (query.format as Format | undefined) ?? formatOf(request.headers['content-type'] ?? ''),
          mode: mode as 'full' | 'delta',
          language,
          country,
          confirmed,
        });
        if (given.state === 'failed')
          throw apiError('unprocessable', `The feed cannot be read: ${given.message}`);
        return { status: given.state === 'held' ? 202 : 200, body: schemas.showImport(given) };
      },
    });
  });
}

/**
 * An upload, whose connection outlives it: what nobody reads of a feed that is given up is let go by. Otherwise the next
 * request on the connection would wait behind it for ever.
 */
async function* uploadOf(body: IncomingMessage): AsyncGenerator<Uint8Array> {
  try {
    yield* body.iterator({ destroyOnReturn: false });
  } finally {
    body.resume();
  }
}

function feedInput(body: {
  name: string;
  url: string;
  format?: string | null;
  mode?: string;
  language?: string | null;
  country?: string | null;
  every_minutes?: number;
  enabled?: boolean;
}): FeedInput {
  const { every_minutes, ...rest } = body;
  return { ...(rest as Omit<FeedInput, 'everyMinutes'>), everyMinutes: every_minutes };
}
