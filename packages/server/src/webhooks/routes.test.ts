/** The admin API as a client sees it: every operation, on the real server and database. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validate } from '@readme/openapi-parser';
import { newId } from '../kernel/ids.ts';
import { startTestServer } from '../testing/server.ts';
import { createApi } from './fixtures/api.ts';
import { startReceiver } from './fixtures/receiver.ts';

const server = await startTestServer();
const { accounts } = server.modules;
const api = await createApi(server);
const receiver = await startReceiver();
const least = { target_url: receiver.url, filters: ['nothing.that.happens'] };
const ADMIN = '/admin/subscriptions';

async function create(more: object = {}, call = api) {
  const { status, body } = await call('POST', ADMIN, { ...least, ...more });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

const without = ({ signing_secret: _, ...rest }: Record<string, unknown>) => rest;

test('a created subscription is answered with its defaults, its secret and its address', async () => {
  const { status, headers, body } = await api('POST', ADMIN, least);
  assert.equal(status, 201);
  assert.match(body.id, /^sub_[0-9a-z]{26}$/);
  assert.match(body.signing_secret, /^whsec_/);
  assert.equal(headers.get('location'), `/api/webhooks/v1${ADMIN}/${body.id}`);
  const { id, signing_secret, created_at, updated_at, ...rest } = body;
  assert.equal(new Date(created_at).toISOString(), created_at);
  assert.equal(updated_at, created_at);
  assert.deepEqual(rest, {
    ...least,
    name: null,
    advanced_filters: [],
    headers: [],
    enabled: true,
    rate_limit: null,
    status: 'active',
    status_reason: null,
  });
  assert.deepEqual((await api('GET', headers.get('location')!)).body, without(body));
});

test('everything that a subscription can have comes back as it was given, and the secret never again', async () => {
  const full = {
    name: 'failed mail',
    filters: ['*.failed', 'svc.bounces.*'],
    advanced_filters: [
      { key: 'data.recipient', operator: 'stringEndsWith', value: '@example.com' },
      { key: 'data.context.tags', operator: 'stringIn', values: ['a', 'b'] },
    ],
    headers: [{ name: 'X-Team', value: 'crm' }],
    enabled: false,
    rate_limit: 50,
  };
  const created = await create(full);
  const { body } = await api('GET', `${ADMIN}/${created.id}`);
  assert.deepEqual(body, without(created));
  for (const [member, value] of Object.entries(full)) assert.deepEqual(body[member], value, member);
  assert.deepEqual([body.status, body.status_reason], ['disabled', 'enabled is false']);
  const listed = (await api('GET', ADMIN)).body.find((item: { id: string }) => item.id === created.id);
  assert.deepEqual(listed, body);
});

test('a wrong body is 400 and names every wrong member at once', async () => {
  const wrong = {
    id: 'sub_1',
    target_url: 'no url',
    filters: [],
    advanced_filters: [{ key: 'data.a', operator: 'like', value: 'x' }],
    headers: [{ name: 'bad name', value: 'a\nb' }, { name: 'X' }],
    enabled: 'yes',
    rate_limit: 0,
    traget_url: 'typing error',
  };
  const { status, body } = await api('POST', ADMIN, wrong);
  assert.equal(status, 400);
  assert.deepEqual(Object.keys(body).sort(), ['errors', 'status', 'title', 'traceId', 'type']);
  assert.equal(body.status, 400);
  assert.deepEqual(Object.keys(body.errors).sort(), [
    'advanced_filters[0].operator',
    'enabled',
    'filters',
    'headers[0].name',
    'headers[0].value',
    'headers[1].value',
    'id',
    'rate_limit',
    'target_url',
    'traget_url',
  ]);
  for (const messages of Object.values(body.errors))
    assert.ok(Array.isArray(messages) && messages.length > 0);
});

test('bodies of the wrong form are 400', async () => {
  const table: [body: unknown, member: string][] = [
    [undefined, 'body'],
    [[], 'body'],
    ['"text"', 'body'],
    ['{ not json', 'body'],
    [{}, 'target_url'],
    [{ ...least, filters: 'svc.*' }, 'filters'],
    [{ ...least, filters: [3] }, 'filters[0]'],
    [{ ...least, filters: [''] }, 'filters[0]'],
    [{ ...least, name: 'nul\u0000' }, 'name'],
    [{ ...least, headers: [{ name: 'X', value: 'x', extra: 1 }] }, 'headers[0].extra'],
    [
      { ...least, advanced_filters: Array.from({ length: 26 }, () => ({ key: 'a', operator: 'isNotNull' })) },
      'advanced_filters',
    ],
  ];
  for (const [body, member] of table) {
    const answer = await api('POST', ADMIN, body);
    assert.equal(answer.status, 400, JSON.stringify(body));
    assert.ok(member in answer.body.errors, `${member} of ${JSON.stringify(answer.body.errors)}`);
  }
});

test('a target that the egress guard refuses is 422, in every operation that sets one', async () => {
  const { id } = await create();
  const refused = [
    'ftp://example.com/x',
    'http://10.0.0.8/hook',
    'http://169.254.169.254/latest',
    'http://a:b@example.com/',
  ];
  for (const target_url of refused) {
    const body = { ...least, target_url };
    const answers = [
      await api('POST', ADMIN, body),
      await api('PUT', `${ADMIN}/${id}`, body),
      await api('PUT', ADMIN, [{ ...least, id }, body]),
    ];
    assert.deepEqual(
      answers.map(({ status }) => status),
      [422, 422, 422],
      target_url,
    );
    assert.deepEqual(Object.keys(answers[0]!.body.errors), ['target_url']);
    assert.deepEqual(Object.keys(answers[2]!.body.errors), ['[1].target_url']);
  }
});

test('production demands https and no loopback', async () => {
  const production = await startTestServer({ config: { mode: 'production' } });
  const call = await createApi(production);
  for (const target_url of ['http://example.com/', 'https://127.0.0.1/', 'https://localhost/']) {
    assert.equal((await call('POST', ADMIN, { ...least, target_url })).status, 422, target_url);
  }
  assert.equal((await call('POST', ADMIN, { ...least, target_url: 'https://example.com/' })).status, 201);
  await production.stop();
});

test('PUT replaces: what is omitted takes its default, read-only members are ignored, the secret stays', async () => {
  const created = await create({
    name: 'first',
    rate_limit: 5,
    headers: [{ name: 'X', value: 'y' }],
    enabled: false,
  });
  const ignored = {
    status: 'held',
    status_reason: 'x',
    created_at: 'x',
    updated_at: 7,
    signing_secret: 'whsec_mine',
  };
  const { status, body } = await api('PUT', `${ADMIN}/${created.id}`, {
    ...least,
    ...ignored,
    id: created.id,
  });
  assert.equal(status, 200);
  assert.deepEqual(
    { ...body, updated_at: '' },
    {
      ...without(created),
      name: null,
      rate_limit: null,
      headers: [],
      enabled: true,
      status: 'active',
      status_reason: null,
      updated_at: '',
    },
  );
  assert.ok(body.updated_at >= created.updated_at);
  const elsewhere = await api('PUT', `${ADMIN}/${created.id}`, { ...least, id: newId('sub') });
  assert.equal(elsewhere.status, 400);
  assert.deepEqual(Object.keys(elsewhere.body.errors), ['id']);
});

test('what names no subscription of the tenant is 404 without errors', async () => {
  const other = await createApi(server, await accounts.createTenant({ name: 'other' }));
  const { id: foreign } = await create({}, other);
  const ids = [foreign, newId('sub'), newId('dl'), 'nonsense', '%00', 'x'.repeat(3000)];
  const range = { from: '2026-01-01T00:00:00Z', until: '2027-01-01T00:00:00Z' };
  for (const id of ids) {
    const calls: [method: string, path: string, body?: unknown][] = [
      ['GET', `${ADMIN}/${id}`],
      ['PUT', `${ADMIN}/${id}`, least],
      ['DELETE', `${ADMIN}/${id}`],
      ['POST', `${ADMIN}/${id}/secret/rotate`],
      ['POST', `${ADMIN}/${id}/test`],
      ['GET', `${ADMIN}/${id}/attempts`],
      ['GET', `${ADMIN}/${id}/stats`],
      ['POST', `/admin/deadletters/${id}`, range],
      ['POST', `/admin/deadletters/${id}?dryRun=true`, range],
      ['GET', `/admin/deadletters/${id}/${newId('dl')}`],
      ['DELETE', `/admin/deadletters/${id}/${newId('dl')}`],
      ['GET', `/admin/reschedules/${id}`],
      ['DELETE', `/admin/reschedules/${id}`],
    ];
    for (const [method, path, body] of calls) {
      const answer = await api(method, path, body);
      assert.equal(answer.status, 404, `${method} ${path}`);
      assert.deepEqual(Object.keys(answer.body).sort(), ['status', 'title', 'traceId', 'type']);
    }
  }
  assert.equal((await other('GET', `${ADMIN}/${foreign}`)).status, 200);
  assert.equal(
    (await api('GET', ADMIN)).body.some(({ id }: { id: string }) => id === foreign),
    false,
  );
});

test('PUT on the collection makes the array the whole configuration', async () => {
  const call = await createApi(server, await accounts.createTenant({ name: 'collection' }));
  const [one, two, three] = [
    await create({ name: 'one' }, call),
    await create({ name: 'two' }, call),
    await create({}, call),
  ];
  const { status, body } = await call('PUT', ADMIN, [
    { ...least, name: 'new' },
    { ...least, id: three.id, name: 'three' },
    { ...without(one), name: 'uno' },
  ]);
  assert.equal(status, 200);
  const names = (list: { name: string }[]) => list.map(({ name }) => name);
  assert.deepEqual(names(body), ['uno', 'three', 'new']);
  assert.equal(body[0].id, one.id);
  assert.equal(body[1].id, three.id);
  assert.ok(body.every((item: object) => !('signing_secret' in item)));
  assert.deepEqual((await call('GET', ADMIN)).body, body);
  assert.equal((await call('GET', `${ADMIN}/${two.id}`)).status, 404);
});

test('PUT on the collection is all or nothing', async () => {
  const call = await createApi(server, await accounts.createTenant({ name: 'atomic' }));
  const other = await createApi(server, await accounts.createTenant({ name: 'atomic-other' }));
  const kept = await create({ name: 'kept' }, call);
  const foreign = await create({}, other);
  const before = (await call('GET', ADMIN)).body;
  const changed = { ...least, id: kept.id, name: 'changed' };
  const table: [body: unknown, status: number, member: string][] = [
    [[changed, { ...least, id: newId('sub') }], 400, '[1].id'],
    [[changed, { ...least, id: foreign.id }], 400, '[1].id'],
    [[changed, { ...changed }], 400, '[1].id'],
    [[changed, { target_url: 'x', filter: ['a'] }], 400, '[1].filter'],
    [[changed, { ...least, target_url: 'http://10.0.0.1/' }], 422, '[1].target_url'],
    [{ ...least }, 400, 'body'],
  ];
  for (const [body, status, member] of table) {
    const answer = await call('PUT', ADMIN, body);
    assert.equal(answer.status, status, JSON.stringify(body));
    assert.ok(member in answer.body.errors, JSON.stringify(answer.body.errors));
    assert.deepEqual((await call('GET', ADMIN)).body, before);
  }
  assert.equal((await other('GET', `${ADMIN}/${foreign.id}`)).status, 200);
});

test('concurrent changes of a tenant follow each other', async () => {
  const call = await createApi(server, await accounts.createTenant({ name: 'concurrent' }));
  const created = await Promise.all(
    Array.from({ length: 20 }, (_, index) => create({ name: `n${index}` }, call)),
  );
  const lists = [created.slice(0, 10), created.slice(5, 15)].map((some) =>
    some.map((item) => ({ ...least, id: item.id })),
  );
  const answers = await Promise.all(lists.map((list) => call('PUT', ADMIN, list)));
  const left = (await call('GET', ADMIN)).body.length;
  // Whoever comes second names subscriptions that are gone, or finds all of its own.
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400]);
  assert.equal(left, 10);
});

test('deleting is 204, a second time 404; deleting all is 204 always', async () => {
  const call = await createApi(server, await accounts.createTenant({ name: 'deleting' }));
  const [one] = [await create({}, call), await create({}, call)];
  assert.deepEqual(await statusAndBody(call('DELETE', `${ADMIN}/${one.id}`)), [204, undefined]);
  assert.equal((await call('DELETE', `${ADMIN}/${one.id}`)).status, 404);
  assert.equal((await call('GET', ADMIN)).body.length, 1);
  assert.deepEqual(await statusAndBody(call('DELETE', ADMIN)), [204, undefined]);
  assert.deepEqual(await statusAndBody(call('DELETE', ADMIN)), [204, undefined]);
  assert.deepEqual((await call('GET', ADMIN)).body, []);
});

async function statusAndBody(answer: ReturnType<typeof api>): Promise<[number, unknown]> {
  const { status, body } = await answer;
  return [status, body];
}

test('addresses without the version are version 1, and a trailing slash is tolerated', async () => {
  const { headers, body } = await api('POST', '/api/webhooks/admin/subscriptions', least);
  assert.equal(headers.get('location'), `/api/webhooks/v1${ADMIN}/${body.id}`);
  const paths = [
    `/admin/subscriptions/${body.id}`,
    '/admin/subscriptions',
    '/admin/deadletters',
    '/admin/events/types',
  ];
  for (const path of paths) {
    for (const address of [`/api/webhooks${path}`, `/api/webhooks/v1${path}/`, `/api/webhooks${path}/`]) {
      assert.equal((await api('GET', address)).status, 200, address);
    }
  }
  const event = { specversion: '1.0', id: 'alias', source: '/test', type: 'com.example.alias' };
  assert.equal((await api('POST', '/api/webhooks/events/send', event)).status, 202);
});

test('a request without a token, or with one that lacks the scope, is 401', async () => {
  const { client, secret } = await accounts.createOauthClient(server.tenant, {
    name: 'x',
    scopes: ['archive:read'],
  });
  const answer = await fetch(`${server.origin}/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      ...server.oauth,
      grant_type: 'client_credentials',
      client_id: client.clientId,
      client_secret: secret,
    }),
  });
  const { access_token } = (await answer.json()) as { access_token: string };
  for (const authorization of ['', 'Bearer nonsense', `Bearer ${access_token}`]) {
    const { status, headers, body } = await api('GET', ADMIN, undefined, { authorization });
    assert.equal(status, 401);
    assert.ok(headers.get('www-authenticate'));
    assert.equal(body.status, 401);
  }
});

test('a wrong method is 405 with the right ones, a wrong type 415, too much 413', async () => {
  const { status, headers } = await api('PATCH', ADMIN, {});
  assert.equal(status, 405);
  assert.deepEqual(headers.get('allow')?.split(', ').sort(), ['DELETE', 'GET', 'HEAD', 'POST', 'PUT']);
  assert.equal(
    (await api('POST', ADMIN, 'a=b', { 'content-type': 'application/x-www-form-urlencoded' })).status,
    415,
  );
  assert.equal((await api('POST', ADMIN, { ...least, name: 'x'.repeat(1024 * 1024) })).status, 413);
});

test('rotation shows a new secret, and says how long the old one stays good', async () => {
  const created = await create();
  const { status, body } = await api('POST', `${ADMIN}/${created.id}/secret/rotate`);
  assert.equal(status, 200);
  assert.match(body.signing_secret, /^whsec_/);
  assert.notEqual(body.signing_secret, created.signing_secret);
  const hours = (Date.parse(body.previous_valid_until) - Date.now()) / 3_600_000;
  assert.ok(hours > 23.9 && hours <= 24, `${hours} hours`);
});

test('a test push sends a sample now, answers what happened, and is in the log but not in the figures', async () => {
  const target = await startReceiver((_request, response, count) =>
    response.writeHead(count < 3 ? 200 : 500).end('words'),
  );
  const { id } = await create({ target_url: target.url, filters: ['svc.bounces.*'], enabled: false });
  const { status, body } = await api('POST', `${ADMIN}/${id}/test`);
  assert.equal(status, 200);
  const { event, latency_ms, ...report } = body;
  assert.deepEqual(report, { delivered: true, status: 200, response: 'words', error: null });
  assert.equal(event.type, 'com.svc.bounces.email.hard', 'the first that its filters match');
  assert.deepEqual(JSON.parse(target.received[0]!.body), event);
  assert.equal(event.tenant, server.tenant.name);
  const chosen = await api('POST', `${ADMIN}/${id}/test`, { type: 'com.svc.deliveries.email.sent' });
  assert.equal(chosen.body.event.type, 'com.svc.deliveries.email.sent');
  assert.equal((await api('POST', `${ADMIN}/${id}/test`, {})).body.delivered, false);
  for (const wrong of [{ type: 'com.unknown' }, { type: 3 }, { tpye: 'x' }]) {
    assert.equal((await api('POST', `${ADMIN}/${id}/test`, wrong)).status, 400);
  }
  const { items } = (await api('GET', `${ADMIN}/${id}/attempts?limit=2`)).body;
  assert.deepEqual(
    items.map((item: Record<string, unknown>) => [item.status, item.outcome, item.attempt]),
    [
      [500, 'test', 1],
      [200, 'test', 1],
    ],
  );
  const stats = (await api('GET', `${ADMIN}/${id}/stats`)).body;
  assert.deepEqual(stats, {
    period_hours: 24,
    attempts: 0,
    delivered: 0,
    retried: 0,
    dead_lettered: 0,
    latency_ms: { p50: null, p95: null, p99: null },
    last_delivered_at: null,
  });
});

test('a test push to a target that is not there says why', async () => {
  const gone = await startReceiver();
  await gone.close();
  const { id } = await create({ target_url: gone.url });
  const { status, body } = await api('POST', `${ADMIN}/${id}/test`);
  assert.deepEqual([status, body.delivered, body.status, body.response], [200, false, null, null]);
  assert.match(body.error, /ECONNREFUSED/);
});

test('the catalogue of event types has an example of each', async () => {
  const { status, body } = await api('GET', '/admin/events/types');
  assert.equal(status, 200);
  const types = body.map(({ type }: { type: string }) => type);
  const ofTheSpecification = ['deliveries.email.sent', 'deliveries.email.failed', 'archive.email.archived'];
  for (const type of ofTheSpecification) assert.ok(types.includes(`com.svc.${type}`), type);
  for (const kind of ['hard', 'soft', 'block', 'admin', 'autoreply', 'complaint', 'undetermined']) {
    assert.ok(types.includes(`com.svc.bounces.email.${kind}`), kind);
  }
  for (const { type, description, example } of body) {
    assert.equal(example.type, type);
    assert.equal(example.tenant, server.tenant.name);
    assert.ok(description);
  }
});

test('the OpenAPI document of the webhooks is valid and complete', async () => {
  const document = (await (await fetch(`${server.origin}/openapi/webhooks.json`)).json()) as {
    paths: Record<string, Record<string, { operationId: string; summary: string }>>;
  };
  const verdict = await validate(structuredClone(document) as never);
  assert.deepEqual(verdict.valid, true, JSON.stringify(verdict));
  const operations = Object.values(document.paths).flatMap((operations) => Object.values(operations));
  assert.deepEqual(operations.map(({ operationId }) => operationId).sort(), [
    'cancelReschedule',
    'createSubscription',
    'deleteDeadLetter',
    'deleteSubscription',
    'deleteSubscriptions',
    'getDeadLetter',
    'getReschedule',
    'getSubscription',
    'getSubscriptionStats',
    'listAttempts',
    'listDeadLetters',
    'listEventTypes',
    'listSubscriptions',
    'replaceSubscriptions',
    'rescheduleDeadLetters',
    'rotateSigningSecret',
    'sendEvents',
    'testSubscription',
    'updateSubscription',
  ]);
  assert.ok(operations.every(({ summary }) => summary.length > 10));
  assert.ok(Object.keys(document.paths).every((path) => path.startsWith('/api/webhooks/v1/')));
});
