/** What the server answers, success or refusal, stands in its OpenAPI document: status, content type, and a schema that it fits. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { startTestShop } from '../recommendations/demo-shop.fixture.ts';

type Schema = Record<string, unknown>;
interface Operation {
  operationId: string;
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
}

const shop = await startTestShop();
const { server, universeId } = shop;
const { origin, tenant, organization } = server;
const widget = await shop.widget({ size: 3 });
const document = (await (await fetch(`${origin}/openapi.json`)).json()) as {
  paths: Record<string, Record<string, Operation>>;
};
const ajv = new Ajv({ strict: false });
addFormats.default(ajv);

/** References resolved, and `nullable` in the words of JSON Schema. */
function resolved(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(resolved);
  if (typeof node !== 'object' || node === null) return node;
  const { $ref, nullable, ...rest } = node as { $ref?: string; nullable?: boolean };
  if ($ref !== undefined) {
    const found = $ref
      .slice(2)
      .split('/')
      .reduce((part: unknown, name) => (part as Record<string, unknown>)[name], document);
    return resolved(found);
  }
  const plain = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, resolved(value)]));
  return nullable === true ? { anyOf: [plain, { type: 'null' }] } : plain;
}

const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ path, method, ...operation })),
);

interface Call {
  params?: Record<string, string>;
  query?: string;
  headers?: Record<string, string>;
  /** JSON, unless the content type says otherwise. */
  body?: unknown;
  type?: string;
}

async function call(operationId: string, { params = {}, query = '', headers, body, type }: Call) {
  const operation = operations.find((one) => one.operationId === operationId);
  assert.ok(operation, operationId);
  const known: Record<string, string> = { organization, customerId: tenant.id, ...params };
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(known[name]!));
  const answer = await fetch(`${origin}${path}${query}`, {
    method: operation.method.toUpperCase(),
    redirect: 'manual',
    headers: { ...(body === undefined ? {} : { 'content-type': type ?? 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return { operation, answer, text: await answer.text() };
}

const key = { 'x-apikey': server.apiKey };
const sdkKey = { 'x-api-key': server.sdkKey };
const asked = `?widgetid=${widget}&lang=en`;
const page = Buffer.from('https://shop.example/p/a').toString('base64url');
const script = { region: 'eu', account: tenant.name };
const json = { accept: 'application/json' };
const large = { text: 'x'.repeat(1_100_000) };
const first = (await (await fetch(`${shop.api}/r${asked}`, { headers: json })).json()) as {
  tracking_url: string;
}[];
const token = first[0]!.tracking_url.split('/').at(-1)!;
const known = { universeId, customIdentifier: 'somebody' };
const person = { idType: 'external', customerId: 'c-1' };
const stranger = { origin: 'https://stranger.example' };
const xml = { body: '<a/>', type: 'text/xml' };

const CALLS: [operationId: string, status: number, call: Call][] = [
  ['getTopItems', 200, { query: asked, headers: json }],
  ['getTopItems', 200, { query: asked, headers: { accept: 'text/html' } }],
  ['getTopItems', 400, {}],
  ['getTopItems', 404, { query: '?widgetid=nothing&lang=en' }],
  ['getRelatedItemsForContact', 400, { params: { itemPid: 'a', item: page }, query: asked }],
  ['getContextItems', 400, { params: { item: '!' }, query: asked }],
  ['followTrackingUrl', 302, { params: { token } }],
  ['followTrackingUrl', 200, { params: { token: `${token}.gif` } }],
  ['followTrackingUrl', 404, { params: { token: 'forged' } }],
  ['followTrackingUrl', 404, { params: { token: 'a\0b' } }],
  ['followTrackingUrl', 400, { params: { customerId: 'acme', token } }],
  ['track', 200, { body: known }],
  ['track', 400, { body: {} }],
  ['track', 401, { body: known, headers: stranger }],
  ['track', 404, { body: { ...known, universeId: 'nothing' } }],
  ['track', 413, { body: large }],
  ['track', 415, xml],
  ['collectInteractions', 202, { body: { universeId, visitor: 'v', events: [] } }],
  ['collectInteractions', 400, { body: {} }],
  ['collectInteractions', 401, { body: { universeId, visitor: 'v', events: [] }, headers: stranger }],
  ['collectInteractions', 404, { body: { universeId: 'nothing', visitor: 'v', events: [] } }],
  ['createToken', 400, { body: {} }],
  ['createToken', 401, { body: { ...server.oauth, grant_type: 'client_credentials', client_secret: 'no' } }],
  ['createToken', 413, { body: large }],
  ['createToken', 415, xml],
  ['ping', 200, { headers: key }],
  ['ping', 400, { headers: key, query: '?no=1' }],
  ['ping', 401, {}],
  ['getWidget', 404, { headers: key, params: { widget: 'nothing' } }],
  ['createWidget', 400, { headers: key, body: {} }],
  ['createWidget', 400, { headers: key, body: '{' }],
  ['createWidget', 409, { headers: key, body: { id: widget, name: 'again' } }],
  ['createWidget', 413, { headers: key, body: large }],
  ['createWidget', 415, { headers: key, ...xml }],
  ['createUniverse', 409, { headers: key, body: { id: universeId, name: 'a', domain: 'a.example' } }],
  ['importCatalog', 415, { headers: key, body: 'x', type: 'image/png' }],
  ['importCatalog', 422, { headers: key, body: '{' }],
  ['confirmCatalogImport', 404, { headers: key, params: { import: 'nothing' } }],
  ['getSiteTag', 200, { params: script }],
  ['getSiteTag', 304, { params: script, headers: { 'if-none-match': '*' } }],
  ['getSiteTag', 404, { params: { ...script, region: 'us' } }],
  ['getTrackerVersion', 404, { params: { ...script, version: 'nothing' } }],
  ['sendSignals', 400, { headers: sdkKey, body: '{' }],
  ['sendSignals', 413, { headers: sdkKey, body: large }],
  ['sendSignals', 415, { headers: sdkKey, ...xml }],
  ['sendBrowse', 200, { headers: sdkKey, body: { sections: [['a']] } }],
  ['sendBrowse', 200, { headers: sdkKey, body: { sections: [['a']], ...person } }],
  ['listProfileSignals', 200, { headers: key, params: { identifier: person.customerId } }],
  ['listProfileSignals', 400, { headers: key, params: { identifier: 'x' }, query: '?iterator=x' }],
  ['listProfileSignals', 404, { headers: key, params: { identifier: 'nobody' } }],
  ['sendBrowse', 400, { headers: sdkKey, body: {} }],
  ['sendBrowse', 400, { headers: sdkKey, body: '{' }],
  ['sendBrowse', 401, { body: {} }],
  ['sendBrowse', 415, { headers: sdkKey, ...xml }],
];

test('every answer stands in the document, in its content type, and fits its schema', async () => {
  for (const [operationId, status, request] of CALLS) {
    const { operation, answer, text } = await call(operationId, request);
    const name = `${operationId} ${status}`;
    assert.equal(answer.status, status, `${name}: ${text.slice(0, 200)}`);
    const described = resolved(operation.responses[status]) as Operation['responses'][string] | undefined;
    assert.ok(described, `${name} is described`);
    if (described.content === undefined) {
      assert.equal(text, '', name);
      continue;
    }
    const type = (answer.headers.get('content-type') ?? '').split(';')[0]!;
    const schema = described.content[type]?.schema;
    assert.ok(schema, `${name} is described as ${type}, not only as ${Object.keys(described.content)}`);
    const fits = ajv.validate(schema, type === 'application/json' ? JSON.parse(text) : text);
    assert.ok(fits, `${name}: ${ajv.errorsText()}: ${text.slice(0, 200)}`);
  }
});

test('an operation of each family says what it refuses', () => {
  for (const { operationId, responses } of operations) {
    if (operationId === 'getKeySet') continue;
    assert.ok('429' in responses, `${operationId} says that there may be too many requests`);
  }
});
