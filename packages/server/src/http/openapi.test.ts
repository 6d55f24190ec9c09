/** The OpenAPI documents: valid, complete, one per family, the same in JSON and YAML. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileErrors, validate } from '@readme/openapi-parser';
import { parse } from 'yaml';
import { serveOpenApi, toOpenApi30 } from '../kernel/http/openapi/documents.ts';
import { serveTestRoutes, startTestServer } from '../testing/server.ts';

interface Operation {
  operationId: string;
  summary: string;
  tags: string[];
  security: Record<string, string[]>[];
  parameters?: { name: string; schema: object }[];
}
interface Document {
  openapi: string;
  info: { title: string; version: string };
  servers: { url: string }[];
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
}

const FAMILIES = ['recommendations', 'site', 'webhooks', 'platform', 'delivery', 'signals'];
const server = await startTestServer({ config: { roles: ['api'] } });
const read = async (path: string) => (await (await fetch(server.origin + path)).json()) as Document;
const operationsOf = ({ paths }: Document) =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, ...operation })),
  );

for (const path of ['/openapi', ...FAMILIES.map((family) => `/openapi/${family}`)]) {
  test(`${path} is a valid OpenAPI 3.0.3 document, in JSON and in YAML`, async () => {
    const answer = await fetch(`${server.origin}${path}.json`);
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
    const document = (await answer.json()) as Document;
    assert.equal(document.openapi, '3.0.3');
    assert.deepEqual(document.servers, [{ url: server.origin }]);
    const yaml = await fetch(`${server.origin}${path}.yaml`);
    assert.match(yaml.headers.get('content-type') ?? '', /^application\/yaml/);
    assert.deepEqual(parse(await yaml.text()), document);
    const result = await validate(structuredClone(document) as never);
    assert.ok(result.valid, result.valid ? '' : compileErrors(result));
  });
}

test('the families share out the operations: each stands in the whole and in one family at most', async () => {
  const whole = operationsOf(await read('/openapi.json'));
  const ids = whole.map(({ operationId }) => operationId);
  assert.ok(['createToken', 'getKeySet', 'ping'].every((id) => ids.includes(id)));
  assert.equal(new Set(ids).size, ids.length, 'operation ids are unique');
  for (const { path, method, summary } of whole)
    assert.ok(summary.length > 0, `${method} ${path} has a summary`);
  const shared = new Map<string, string>();
  for (const family of FAMILIES) {
    for (const { operationId, tags } of operationsOf(await read(`/openapi/${family}.json`))) {
      assert.deepEqual(tags, [family]);
      assert.equal(shared.get(operationId), undefined, `${operationId} stands in one family`);
      assert.ok(ids.includes(operationId));
      shared.set(operationId, family);
    }
  }
  assert.equal(shared.get('ping'), 'platform');
});

test('the whole has the groups that hold an operation, and no other', async () => {
  const whole = await read('/openapi.json');
  const used = new Set(operationsOf(whole).flatMap(({ tags }) => tags));
  assert.deepEqual(whole.tags.map(({ name }) => name).sort(), [...used].sort());
});

test('the documents say what a caller must prove, and leave out what is not for callers', async () => {
  const { paths } = await read('/openapi.json');
  assert.deepEqual(paths['/v2/ping']?.get?.security, [{ apiKey: [] }]);
  assert.deepEqual(paths['/oauth/token']?.post?.security, []);
  for (const path of ['/healthz', '/metrics', '/docs', '/openapi.json'])
    assert.equal(paths[path], undefined, path);
});

test('the parameters of recommendations have the types of the specification', async () => {
  const operations = operationsOf(await read('/openapi/recommendations.json'));
  const asking = operations.filter(({ path }) => /^\/api\/\{customerId\}\/rp?(\/|$)/.test(path));
  assert.equal(asking.length, 6);
  const tpid = { type: 'integer', format: 'int32', minimum: -2_147_483_648, maximum: 2_147_483_647 };
  for (const { path, parameters } of asking) {
    const schemaOf = (wanted: string) => parameters!.find(({ name }) => name === wanted)?.schema;
    assert.deepEqual(schemaOf('customerId'), { type: 'string', format: 'uuid' }, path);
    assert.deepEqual(schemaOf('tpid'), path.endsWith('/') ? tpid : undefined, path);
  }
});

test('a page of any origin can read the documents, and an unknown family is 404', async () => {
  const answer = await fetch(`${server.origin}/openapi/webhooks.json`, {
    headers: { origin: 'https://tools.example' },
  });
  assert.equal(answer.headers.get('access-control-allow-origin'), '*');
  assert.equal((await fetch(`${server.origin}/openapi/nothing.json`)).status, 404);
});

test('a document is written once, however often it is asked for', async () => {
  let written = 0;
  const origin = await serveTestRoutes({}, (app) => {
    app.fastify.decorate('swagger', (() => {
      written += 1;
      return { openapi: '3.0.3', tags: [], paths: {} };
    }) as never);
    serveOpenApi(app);
  });
  for (const path of ['/openapi.yaml', '/openapi/webhooks.json']) {
    written = 0;
    const texts = await Promise.all([1, 2, 3].map(async () => (await fetch(origin + path)).text()));
    assert.ok(texts.every((text) => text.includes('3.0.3') && text === texts[0]));
    assert.equal(written, 1, path);
  }
});

test('schemas are said in the words of OpenAPI 3.0', () => {
  const table: [name: string, schema: object, expected: object][] = [
    ['a constant', { const: 'a' }, { enum: ['a'], type: 'string' }],
    [
      'constants to choose from',
      { anyOf: [{ const: 'a' }, { const: 'b' }] },
      { type: 'string', enum: ['a', 'b'] },
    ],
    ['a type or null', { anyOf: [{ type: 'string' }, { type: 'null' }] }, { type: 'string', nullable: true }],
    [
      'constants or null',
      { anyOf: [{ const: 1 }, { type: 'null' }] },
      { type: 'number', enum: [1, null], nullable: true },
    ],
    ['types in a list', { type: ['integer', 'null'] }, { type: 'integer', nullable: true }],
    [
      'several types',
      { anyOf: [{ type: 'string' }, { type: 'number' }] },
      { anyOf: [{ type: 'string' }, { type: 'number' }] },
    ],
    [
      'bounds that are left out',
      { type: 'number', exclusiveMinimum: 0 },
      { type: 'number', minimum: 0, exclusiveMinimum: true },
    ],
    ['examples', { type: 'string', examples: ['a', 'b'] }, { type: 'string', example: 'a' }],
    [
      'a map',
      { type: 'object', patternProperties: { '^.*$': { const: 1 } } },
      { type: 'object', additionalProperties: { enum: [1], type: 'number' } },
    ],
    [
      'members within',
      { items: { properties: { a: { const: 1 } } } },
      { items: { properties: { a: { enum: [1], type: 'number' } } } },
    ],
    [
      'members that are called like words of the schema',
      {
        properties: {
          const: { type: 'string' },
          examples: { const: 'x' },
          example: { const: 1 },
          $id: { type: 'string' },
        },
      },
      {
        properties: {
          const: { type: 'string' },
          examples: { enum: ['x'], type: 'string' },
          example: { enum: [1], type: 'number' },
          $id: { type: 'string' },
        },
      },
    ],
    ['an object that may hold more', { type: 'object', additionalProperties: true }, { type: 'object' }],
    [
      'an object that may not',
      { type: 'object', additionalProperties: false },
      { type: 'object', additionalProperties: false },
    ],
    ['a default that looks like a schema', { default: { const: 1 } }, { default: { const: 1 } }],
  ];
  for (const [name, schema, expected] of table) assert.deepEqual(toOpenApi30(schema), expected, name);
});
