/** What all operations of the webhook API have in common, and those beside subscriptions and dead letters (D22). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validate } from '@readme/openapi-parser';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { newId } from '../kernel/ids.ts';
import { startTestServer } from '../testing/server.ts';
import { createApi } from './fixtures/api.ts';
import { startReceiver } from './fixtures/receiver.ts';

const server = await startTestServer({ config: { roles: ['api'] } });
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

test('an address that cannot be read is 400, and it is the path that is wrong', async () => {
  const { status, body } = await api('GET', `${ADMIN}/%ff`);
  assert.deepEqual([status, body.errors], [400, { path: ['is not properly percent-encoded'] }]);
});

test('rotation shows a new secret, and says how long the old one stays good', async () => {
  const created = await create();
  const wrong = await api('POST', `${ADMIN}/${created.id}/secret/rotate`, { grace: 0 });
  assert.deepEqual([wrong.status, Object.keys(wrong.body.errors)], [400, ['grace']]);
  for (const [body, type] of [
    ['', 'application/json'],
    ['{}', 'application/json'],
    ['', 'application/x-www-form-urlencoded'],
    ['', 'text/plain'],
  ] as const) {
    const headers = { 'content-type': type };
    const answer = await api('POST', `${ADMIN}/${created.id}/secret/rotate`, body, headers);
    assert.equal(answer.status, 200, `${type} ${body}`);
  }
  const { status, body } = await api('POST', `${ADMIN}/${created.id}/secret/rotate`);
  assert.equal(status, 200);
  assert.match(body.signing_secret, /^whsec_/);
  assert.notEqual(body.signing_secret, created.signing_secret);
  const hours = (Date.parse(body.previous_valid_until) - Date.now()) / 3_600_000;
  assert.ok(hours > 23.9 && hours <= 24, `${hours} hours`);
});

test('a rotation that would end an older secret before its time is refused, and says from when on it is possible', async () => {
  const { id } = await create();
  const rotate = () => api('POST', `${ADMIN}/${id}/secret/rotate`);
  const first = await rotate();
  // At once: none of them may see the list before another one's change.
  const statuses = await Promise.all(Array.from({ length: 11 }, async () => (await rotate()).status));
  assert.deepEqual(statuses.toSorted(), [...Array(9).fill(200), 409, 409]);
  const { status, body } = await rotate();
  assert.equal(status, 409);
  assert.match(body.title, /^At most 10 replaced secrets sign beside the current one/);
  assert.ok(body.title.includes(first.body.previous_valid_until), body.title);
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

test('a limit is written in decimal digits', async () => {
  const { id } = await create();
  const table: [limit: string, status: number][] = [
    ...['1', '010', '1000'].map((limit): [string, number] => [limit, 200]),
    ...['0x10', '1e2', '%2010', '10%20', '1.0', '+5', '-1', '', 'ten', '1&limit=2'].map(
      (limit): [string, number] => [limit, 400],
    ),
  ];
  for (const [limit, expected] of table) {
    const { status, body } = await api('GET', `${ADMIN}/${id}/attempts?limit=${limit}`);
    assert.equal(status, expected, limit);
    if (status === 400) assert.deepEqual(Object.keys(body.errors), ['limit'], limit);
  }
  const { body } = await api('GET', `${ADMIN}/${id}/attempts?limit=0x10`);
  assert.deepEqual(body.errors, { limit: ['must be an integer'] });
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

test('the OpenAPI document takes and refuses the filters that the server takes and refuses', async () => {
  const document = (await (await fetch(`${server.origin}/openapi/webhooks.json`)).json()) as {
    paths: Record<string, { post: { requestBody: { content: Record<string, { schema: object }> } } }>;
  };
  const { content } = document.paths['/api/webhooks/v1/admin/subscriptions']!.post.requestBody;
  const fits = new Ajv({ strict: false }).compile(content['application/json']!.schema);
  const table: [filter: object, status: number][] = [
    [{ key: 'data.a', operator: 'stringIn', value: 'x' }, 201],
    [{ key: 'data.a', operator: 'stringIn', values: ['x', 'y'] }, 201],
    [{ key: 'data.a', operator: 'numberIn', value: [5, '7'] }, 201],
    [{ key: 'data.a', operator: 'numberInRange', value: [[1, '5']] }, 201],
    [{ key: 'data.a', operator: 'boolEquals', value: true }, 201],
    [{ key: 'data.a', operator: 'isNotNull' }, 201],
    [{ key: 'data.a', operator: 'StringIn', value: 'x' }, 400],
    [{ key: 'data.a', operator: 'stringIn', valeu: 'x', value: 'x' }, 400],
    [{ key: 'data.a', operator: 'stringIn', value: null }, 400],
    [{ key: 'data.a', operator: 'stringIn', value: { x: 1 } }, 400],
    [{ key: 'data.a', operator: 'numberInRange', value: [[1, 5, 9]] }, 400],
    [{ operator: 'isNotNull' }, 400],
  ];
  for (const [filter, expected] of table) {
    const body = { ...least, advanced_filters: [filter] };
    assert.equal((await api('POST', ADMIN, body)).status, expected, JSON.stringify(filter));
    assert.equal(fits(body), expected === 201, JSON.stringify(filter));
  }
});

test('the OpenAPI document takes the events that the server takes, and no version or length that it refuses', async () => {
  const { paths } = await readDocument<{ requestBody: { content: Record<string, { schema: object }> } }>();
  const { content } = paths['/api/webhooks/v1/events/send']!.post!.requestBody;
  const ajv = new Ajv({ strict: false });
  addFormats.default(ajv);
  const event = { specversion: '1.0', source: '/t', type: 'com.example.t' };
  const table: [body: (id: string) => unknown, status: number][] = [
    [(id) => ({ ...event, id }), 202],
    [(id) => [{ ...event, id, data: null }], 202],
    [(id) => ({ ...event, id, time: null, subject: null, dataschema: null, datacontenttype: null }), 202],
    [(id) => ({ ...event, id, data: 'x', data_base64: null, tenant: null, own: null }), 202],
    [(id) => ({ ...event, id, time: '2026-01-15t09:30:00+01:00', data_base64: 'R0lG', own: 5 }), 202],
    [(id) => ({ ...event, id, source: '/Zoë/😀', subject: '😀'.repeat(1024) }), 202],
    [(id) => ({ ...event, id, specversion: '0.3' }), 400],
    [(id) => ({ ...event, id, source: null }), 400],
    [(id) => ({ ...event, id, subject: '' }), 400],
    [(id) => ({ ...event, id: id.repeat(20) }), 400],
    [(id) => ({ ...event, id, data_base64: 'R0l' }), 400],
    [() => [], 400],
  ];
  for (const { schema } of Object.values(content)) {
    const fits = ajv.compile(schema);
    for (const [bodyOf, expected] of table) {
      const body = bodyOf(newId('evt'));
      const { status } = await api('POST', '/api/webhooks/v1/events/send', body);
      assert.equal(status, expected, JSON.stringify(body));
      assert.equal(fits(body), expected === 202, JSON.stringify(body));
    }
  }
});

interface Documented {
  example?: unknown;
  items?: Documented;
  anyOf?: Documented[];
}

async function readDocument<Operation>() {
  const answer = await fetch(`${server.origin}/openapi/webhooks.json`);
  return (await answer.json()) as { paths: Record<string, Record<string, Operation>> };
}

/** The example of a schema, or one made of those of its parts. */
function exampleOf({ example, items, anyOf }: Documented): unknown {
  if (example !== undefined) return example;
  return items === undefined ? anyOf && exampleOf(anyOf[0]!) : [exampleOf(items)];
}

test('every body and every answer in the OpenAPI document has an example that fits it', async () => {
  type Content = Record<string, { schema: Documented & { properties?: object } }>;
  const document = await readDocument<{
    operationId: string;
    requestBody?: { content: Content };
    responses: Record<string, { content?: Content }>;
  }>();
  const ajv = new Ajv({ strict: false, formats: { 'date-time': true } });
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
  for (const { operationId, requestBody, responses } of operations) {
    const answers = Object.entries(responses).filter(([status]) => Number(status) < 300);
    for (const content of [requestBody?.content, ...answers.map(([, answer]) => answer.content)]) {
      for (const { schema } of Object.values(content ?? {})) {
        // A rotation takes no members.
        if (Object.keys(schema.properties ?? { any: 1 }).length === 0) continue;
        const example = exampleOf(schema);
        assert.ok(example !== undefined && JSON.stringify(example) !== '[null]', operationId);
        assert.ok(ajv.validate(schema, example), `${operationId}: ${ajv.errorsText()}`);
      }
    }
  }
});

test('the OpenAPI document of the webhooks is valid and complete', async () => {
  const document = await readDocument<{
    operationId: string;
    summary: string;
    parameters: { name: string; required?: boolean }[];
    requestBody: { required: boolean };
    responses: object;
  }>();
  const operation = (method: string, path: string) =>
    document.paths[`/api/webhooks/v1/admin${path}`]![method]!;
  const statuses: [method: string, path: string, statuses: string[]][] = [
    ['get', '/subscriptions', ['200', '400', '401', '429']],
    ['post', '/subscriptions', ['201', '400', '401', '413', '415', '422', '429']],
    ['put', '/subscriptions/{subscriptionId}', ['200', '400', '401', '404', '413', '415', '422', '429']],
    ['delete', '/subscriptions/{subscriptionId}', ['204', '400', '401', '404', '429']],
  ];
  for (const [method, path, expected] of statuses)
    assert.deepEqual(Object.keys(operation(method, path).responses), expected, `${method} ${path}`);
  const optional: [method: string, path: string, name: string][] = [
    ['get', '/deadletters', 'limit'],
    ['post', '/deadletters/{subscriptionId}', 'dryRun'],
    ['get', '/subscriptions/{subscriptionId}/attempts', 'limit'],
  ];
  for (const [method, path, name] of optional) {
    const parameter = operation(method, path).parameters.find((it) => it.name === name);
    assert.equal(parameter!.required ?? false, false, `${name} of ${path} has a default`);
  }
  assert.equal(operation('post', '/subscriptions/{subscriptionId}/test').requestBody.required, false);
  assert.equal(operation('post', '/subscriptions').requestBody.required, true);
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
