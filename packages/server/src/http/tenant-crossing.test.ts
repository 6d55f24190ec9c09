/**
 * A tenant sees, changes and learns nothing of another, in every operation that is described: ids of another are unknown ids.
 * A new operation with a parameter or a body that this file does not know fails here until it is told.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Tenant } from '../accounts/index.ts';
import { type DescribedOperation, describedOperations } from '../testing/operations.ts';
import { startTestServer } from '../testing/server.ts';
import { until } from '../testing/wait.ts';
import { writeLetters } from '../webhooks/fixtures/letters.ts';
import { startReceiver } from '../webhooks/fixtures/receiver.ts';

const server = await startTestServer();
const { accounts, db, clock } = server.modules;
const receiver = await startReceiver();
const operations = await describedOperations(server.origin);

type Credentials = Record<NonNullable<DescribedOperation['scheme']>, Record<string, string>>;

async function credentialsOf(
  tenant: Tenant,
  limits: { scopes?: string[]; operations?: string[] } = {},
): Promise<Credentials> {
  const { client, secret } = await accounts.createOauthClient(tenant, { name: 'crossing', ...limits });
  const account = await accounts.createServiceAccount(tenant, { name: 'crossing', ...limits });
  const sdkKey = await accounts.createSdkKey(tenant, { name: 'crossing' });
  const answer = await fetch(`${server.origin}/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      grant_type: 'client_credentials',
      client_id: client.clientId,
      client_secret: secret,
      audience: server.origin,
      account_id: tenant.id,
    }),
  });
  const { access_token } = (await answer.json()) as { access_token: string };
  return {
    oauth: { authorization: `Bearer ${access_token}` },
    apiKey: { 'x-apikey': `${account.account.key}:${account.secret}` },
    sdkKey: { 'x-api-key': sdkKey.key },
  };
}

const item = { item_url: 'https://other.example/1', fields: { title: 'Boots' } };
const subscription = { target_url: receiver.url, filters: ['nothing.that.happens'] };
const feed = { name: 'feed', url: `${receiver.url}feed.csv`, enabled: false };
const universe = { name: 'site', domain: 'other.example' };
const range = { from: '2020-01-01T00:00:00Z', until: '2100-01-01T00:00:00Z' };
/** A good body for each operation that takes one and has an id in its path. */
const BODIES: Record<string, unknown> = {
  updateSubscription: subscription,
  testSubscription: {},
  rescheduleDeadLetters: range,
  updateSdk: {},
  putCatalogItem: item,
  patchCatalogItem: { available: false },
  importCatalog: [{ id: 'p', link: 'https://other.example/p' }],
  createCatalogFeed: feed,
  updateCatalogFeed: feed,
  createUniverse: universe,
  updateUniverse: universe,
  updateProfile: { do_not_track: true },
  createWidget: { name: 'mine' },
  updateWidget: { name: 'taken over' },
  previewWidget: {},
  updateRecommendationSettings: {},
};

type Ids = Record<string, string>;

interface Asked {
  credentials?: Partial<Credentials>;
  ids?: Ids;
  query?: Record<string, string>;
  body?: unknown;
}

async function ask(operationId: string, { credentials = {}, ids = {}, query = {}, body }: Asked) {
  const { method, path, scheme, ...described } = operations.find((one) => one.operationId === operationId)!;
  const address = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    assert.ok(ids[name], `${operationId}: this file has no id for {${name}}`);
    return encodeURIComponent(ids[name]);
  });
  const given = body ?? (described.body && BODIES[operationId]);
  const search = new URLSearchParams(query).toString();
  const answer = await fetch(`${server.origin}${address}${search && `?${search}`}`, {
    method,
    redirect: 'manual',
    headers: {
      accept: 'application/json',
      ...(scheme === undefined ? {} : credentials[scheme]),
      ...(given === undefined ? {} : { 'content-type': described.body!.type }),
    },
    ...(given === undefined ? {} : { body: JSON.stringify(given) }),
  });
  const text = await answer.text();
  return { status: answer.status, text, location: answer.headers.get('location') };
}

/** A tenant that has one of everything. */
async function furnish(tenant: Tenant, organization: string) {
  const credentials = await credentialsOf(tenant);
  const own: Ids = { organization, customerId: tenant.id, item_pid: `pid-${tenant.name}` };
  const make = async (operationId: string, asked: Partial<Asked> = {}) => {
    const { status, text, location } = await ask(operationId, { credentials, ids: own, ...asked });
    assert.ok(status < 300, `${operationId}: ${text}`);
    return { ...(JSON.parse(text) as { id: string }), location };
  };
  await make('putCatalogItem', { body: { ...item, fields: { title: `Boots of ${tenant.name}` } } });
  own.subscriptionId = (await make('createSubscription', { body: subscription })).id;
  const about = { tenantId: tenant.id, subscriptionId: own.subscriptionId };
  const letters = await writeLetters(
    db,
    about,
    [-3000, -2000, -1000].map((ago) => clock.now() + ago),
  );
  const early = { from: range.from, until: new Date(clock.now() - 2500).toISOString() };
  const { location } = await make('rescheduleDeadLetters', { body: early });
  own.id = location!.split('/').at(-1)!;
  own.deadLetterId = letters[1]!.id;
  const read = async (operationId: string) => (await ask(operationId, { credentials, ids: own })).text;
  await until(async () => (await read('getReschedule')).includes('"completed"'));
  await until(async () => (await read('getSubscriptionStats')).includes('"delivered":1'));
  own.feed = (await make('createCatalogFeed')).id;
  own.import = (await make('importCatalog')).id;
  own.universe = (await make('createUniverse')).id;
  own.widget = (await make('createWidget')).id;
  const visitor = `visitor of ${tenant.name}`;
  await make('track', { body: { universeId: own.universe, customIdentifier: visitor } });
  own.identifier = visitor;
  return { tenant, credentials, ids: own };
}

const ours = await furnish(server.tenant, server.organization);
const otherTenant = await accounts.createTenant({ name: 'other-tenant' });
await accounts.createOrganization(otherTenant, { name: 'elsewhere' });
const theirs = await furnish(otherTenant, 'elsewhere');

const inPath = (operation: DescribedOperation) =>
  operation.parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
/** Those whose path names something that belongs to a tenant, beside the organization. */
const withIds = operations.filter(
  (operation) => operation.scheme !== undefined && inPath(operation).some((name) => name !== 'organization'),
);
const inOrganizations = operations.filter((operation) => inPath(operation).includes('organization'));

/** Everything that the other tenant can read, but for what time alone changes. */
async function inventory(): Promise<Record<string, string>> {
  const { credentials, ids } = theirs;
  const reading = operations.filter(({ method, scheme }) => method === 'GET' && scheme !== undefined);
  const answers = await Promise.all(
    reading.map(async ({ operationId }) => {
      const { status, text } = await ask(operationId, { credentials, ids });
      assert.equal(status, 200, `${operationId} with the ids of its own tenant: ${text}`);
      return [operationId, text] as const;
    }),
  );
  return Object.fromEntries(answers);
}

/** The answer without the ids that it repeats, and without its trace. */
const shapeOf = ({ status, text }: { status: number; text: string }, ids: Ids) => {
  const known = Object.values(ids).reduce((rest, id) => rest.replaceAll(id, '…'), text);
  return [status, known.replace(/"traceId":"\w+"/, '')];
};

test("another tenant's ids are answered as ids that nobody has, and nothing of theirs changes", async () => {
  const before = await inventory();
  const { credentials } = ours;
  for (const operation of withIds) {
    const { operationId } = operation;
    // An item of this name is ours to create.
    if (operationId === 'putCatalogItem') continue;
    const foreign = { ...theirs.ids, organization: ours.ids.organization! };
    const unknown = { ...Object.fromEntries(inPath(operation).map((name) => [name, `no-such-${name}`])) };
    unknown.organization = ours.ids.organization!;
    const answer = await ask(operationId, { credentials, ids: foreign });
    const { organization: _, ...foreignIds } = foreign;
    const { organization: __, ...unknownIds } = unknown;
    assert.deepEqual(
      shapeOf(answer, foreignIds),
      shapeOf(await ask(operationId, { credentials, ids: unknown }), unknownIds),
      operationId,
    );
    assert.equal(answer.status, 404, `${operationId}: ${answer.text}`);
  }
  for (const { operationId } of inOrganizations) {
    const answer = await ask(operationId, { credentials, ids: theirs.ids });
    assert.equal(answer.status, 404, `${operationId} in the other's organization: ${answer.text}`);
  }
  assert.deepEqual(await inventory(), before);
});

test("another tenant's ids in queries and bodies open nothing", async () => {
  const before = await inventory();
  const { credentials, ids } = ours;
  const { subscriptionId, widget, universe: site, item_pid, deadLetterId } = theirs.ids as Required<Ids>;
  const page = await ask('listDeadLetters', { credentials: theirs.credentials, query: { limit: '1' } });
  const listed = JSON.parse(page.text) as { iterator: string };
  const shown = await ask('getTopItems', { ids: theirs.ids, query: { widgetid: widget!, lang: 'en' } });
  const [{ tracking_url }] = JSON.parse(shown.text) as [{ tracking_url: string }];
  const token = tracking_url.split('/').at(-1)!;
  const asked = { widgetid: widget!, lang: 'en' };
  const table: [operationId: string, status: number, request: Asked][] = [
    ['replaceSubscriptions', 400, { body: [{ ...subscription, id: subscriptionId }] }],
    ['createSubscription', 400, { body: { ...subscription, id: subscriptionId } }],
    ['listDeadLetters', 200, { query: { subscriptionId: subscriptionId! } }],
    ['listDeadLetters', 200, { query: { iterator: listed.iterator } }],
    ['createWidget', 400, { body: { name: 'a', experiment: { widget, share: 50 } } }],
    ['updateWidget', 400, { body: { name: 'a', experiment: { widget, share: 50 } } }],
    ['createUniverse', 409, { body: { ...universe, id: site } }],
    ['getTopItems', 404, { query: asked }],
    ['followTrackingUrl', 404, { ids: { ...ids, token } }],
    ['previewWidget', 200, { body: { item_pid } }],
  ];
  for (const [operationId, status, request] of table) {
    const answer = await ask(operationId, { credentials, ids, ...request });
    assert.equal(answer.status, status, `${operationId}: ${answer.text}`);
    assert.doesNotMatch(answer.text, /other-tenant|elsewhere/, operationId);
    assert.ok(!answer.text.includes(deadLetterId!), operationId);
  }
  assert.deepEqual(await inventory(), before);
});

test('no operation lets in whoever has no credentials, wrong ones, or those of other operations', async () => {
  const narrow = await credentialsOf(server.tenant, { scopes: ['archive:read'], operations: ['nothing'] });
  const wrong: Credentials = {
    oauth: { authorization: `${ours.credentials.oauth.authorization!.slice(0, -4)}AAAA` },
    apiKey: { 'x-apikey': `${ours.credentials.apiKey['x-apikey']!.slice(0, -4)}AAAA` },
    sdkKey: { 'x-api-key': `${ours.credentials.sdkKey['x-api-key']!.slice(0, -4)}AAAA` },
  };
  const before = await inventory();
  for (const { operationId, scheme } of operations) {
    if (scheme === undefined) continue;
    const refused = scheme === 'sdkKey' ? [{}, wrong] : [{}, wrong, narrow];
    for (const credentials of refused) {
      const answer = await ask(operationId, {
        credentials,
        ids: ours.ids,
        ...(scheme === 'sdkKey' ? { body: { events: [] } } : {}),
      });
      assert.equal(answer.status, 401, `${operationId}: ${answer.text}`);
    }
  }
  assert.deepEqual(await inventory(), before);
});
