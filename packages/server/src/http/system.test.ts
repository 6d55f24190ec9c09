/** Probes, figures, security headers, preflights and deadlines: what holds for the server as a whole. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import Type from 'typebox';
import { openDatabase } from '../kernel/db/database.ts';
import { ERRORS } from '../kernel/errors.ts';
import { createRouter } from '../kernel/http/routes.ts';
import { createManualClock, DAY, MINUTE } from '../kernel/time/clock.ts';
import { maintain } from '../maintenance.ts';
import { createTestDatabaseUrl } from '../testing/database.ts';
import { metricFaults } from '../testing/metric-faults.ts';
import { serveTestRoutes, startTestServer } from '../testing/server.ts';
import { until } from '../testing/wait.ts';
import { startWay } from '../testing/way.ts';

const server = await startTestServer();

const Body = Type.Object({ name: Type.String() });
const patience = Promise.withResolvers<void>();
const kit = await serveTestRoutes({ config: { requestTimeoutMs: 200 } }, (app) => {
  const slow = () => patience.promise.then(() => ({ body: {} }));
  const common = { summary: 'For this test', responses: {}, cors: true };
  for (const [family, base] of [
    ['signals', '/signals/v1'],
    ['platform', '/v2'],
    ['recommendations', '/api'],
  ] as const) {
    const { route } = createRouter(app, { family });
    route({ ...common, method: 'GET', url: `${base}/slow`, operationId: `get-${family}`, handler: slow });
    route({
      ...common,
      method: 'POST',
      url: `${base}/slow`,
      operationId: `post-${family}`,
      body: Body,
      handler: slow,
    });
    const patient = { ...common, deadlineMs: 60_000, handler: async () => ({ body: {} }) };
    route({
      ...patient,
      method: 'POST',
      url: `${base}/patient`,
      operationId: `patient-${family}`,
      body: Body,
    });
  }
});

test('the probes answer, also to HEAD and with a slash', async () => {
  for (const [path, status] of [
    ['/healthz', 'ok'],
    ['/readyz', 'ready'],
    ['/readyz/', 'ready'],
  ]) {
    const answer = await fetch(server.origin + path);
    assert.deepEqual([answer.status, await answer.json()], [200, { status }]);
    assert.equal((await fetch(server.origin + path, { method: 'HEAD' })).status, 200);
  }
});

test('without its database a process lives but is not ready, says 503 in the shape of the API, and recovers', async () => {
  const road = await startWay(await createTestDatabaseUrl());
  const cut = await startTestServer({ databaseUrl: road.url });
  const state = async (path: string, headers = {}) => (await fetch(cut.origin + path, { headers })).status;
  assert.equal(await state('/readyz'), 200);
  road.close();
  await until(async () => (await state('/readyz')) === 503);
  assert.equal(await state('/healthz'), 200);
  const answer = await fetch(`${cut.origin}/v2/ping`, { headers: { 'x-apikey': 'key_unseen:x' } });
  assert.equal(answer.status, 503);
  assert.equal(answer.headers.get('retry-after'), '1');
  assert.equal(((await answer.json()) as { result_code: string }).result_code, 'ServiceUnavailable');
  road.open();
  await until(async () => (await state('/readyz')) === 200);
  assert.equal(await state('/v2/ping', { 'x-apikey': cut.apiKey }), 200);
  await cut.stop();
});

test('a process is no longer ready once a newer release has migrated its database', async () => {
  const url = await createTestDatabaseUrl();
  const old = await startTestServer({ databaseUrl: url });
  const newer = openDatabase({ url, connections: 1 });
  await newer.sql`insert into schema_migrations values (9999, 'of-tomorrow', 'x', now())`;
  const answer = await fetch(`${old.origin}/readyz`);
  assert.equal(answer.status, 503);
  assert.match(await answer.text(), /A newer release has migrated the database/);
  assert.equal((await fetch(`${old.origin}/healthz`)).status, 200);
  await newer.close();
  await old.stop();
});

test('without its database a process refuses no token: that the keys cannot be read says nothing against it', async () => {
  const road = await startWay(await createTestDatabaseUrl());
  const clock = createManualClock(Date.now());
  const cut = await startTestServer({ databaseUrl: road.url, clock, config: { roles: ['api'] } });
  const headers = { authorization: `Bearer ${await cut.token()}` };
  clock.advance(2 * MINUTE);
  const list = async () =>
    (await fetch(`${cut.origin}/api/webhooks/v1/admin/subscriptions`, { headers })).status;
  road.close();
  await until(async () => (await fetch(`${cut.origin}/readyz`)).status === 503);
  assert.equal(await list(), 503);
  road.open();
  await until(async () => (await list()) === 200);
  await cut.stop();
});

test('the figures count requests by operation and queues by depth', async () => {
  await fetch(`${server.origin}/v2/ping`, { headers: { 'x-apikey': server.apiKey } });
  const answer = await fetch(`${server.origin}/metrics`);
  assert.match(answer.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
  const text = await answer.text();
  assert.match(
    text,
    /^signalbox_http_request_seconds_count\{method="GET",route="\/v2\/ping",status="200"\} 1$/m,
  );
  assert.match(text, /^# TYPE signalbox_queue_waiting gauge$/m);
  assert.deepEqual(metricFaults(text), []);
  const page = await readFile(new URL('../../../../docs/operations.md', import.meta.url), 'utf8');
  const undocumented = [...text.matchAll(/^# TYPE (signalbox_\w+)/gm)].filter(
    ([, name]) => !page.includes(`\`${name}\``),
  );
  assert.deepEqual(
    undocumented.map(([, name]) => name),
    [],
    'docs/operations.md lists every figure of ours',
  );
});

test('the bare address leads to the API reference', async () => {
  const answer = await fetch(server.origin, { redirect: 'manual' });
  assert.deepEqual([answer.status, answer.headers.get('location')], [302, '/docs']);
});

test('every kind of error can be looked up at the address that problems name', async () => {
  for (const [code, { status, title }] of Object.entries(ERRORS)) {
    const answer = await fetch(`${server.origin}/errors/${code}`);
    assert.deepEqual([answer.status, await answer.json()], [200, { code, status, title }]);
  }
  assert.equal((await fetch(`${server.origin}/errors/toString`)).status, 404);
});

test('every answer carries the security headers, good or bad', async () => {
  for (const path of ['/healthz', '/docs', '/openapi.json', '/nowhere', '/v2/ping', '/v2/%zz']) {
    const { headers } = await fetch(server.origin + path);
    assert.equal(headers.get('x-content-type-options'), 'nosniff', path);
    assert.equal(headers.get('x-frame-options'), 'SAMEORIGIN', path);
    assert.equal(headers.get('referrer-policy'), 'strict-origin-when-cross-origin', path);
    assert.equal(headers.get('strict-transport-security'), null, path);
    assert.equal(headers.get('x-powered-by'), null, path);
  }
  const secure = await startTestServer({ config: { publicUrl: 'https://signalbox.example' } });
  const { headers } = await fetch(`http://127.0.0.1:${secure.modules.config.port}/healthz`);
  assert.equal(headers.get('strict-transport-security'), 'max-age=31536000');
});

test('a body over the limit is 413 however it is sent, and the connection stays in order', async () => {
  const chunk = new Uint8Array(300_000).fill(0x20);
  const stream = new ReadableStream({
    start(controller) {
      for (let sent = 0; sent < 5; sent++) controller.enqueue(chunk);
      controller.close();
    },
  });
  const headers = { 'content-type': 'application/json' };
  const bodies: RequestInit[] = [
    { body: new Uint8Array(1_500_000) },
    { body: stream, duplex: 'half' } as RequestInit,
  ];
  for (const body of bodies) {
    const answer = await fetch(`${server.origin}/oauth/token`, { method: 'POST', headers, ...body });
    assert.equal(answer.status, 413);
    assert.deepEqual(await answer.json(), {
      error: 'invalid_request',
      error_description: ERRORS.tooLarge.title,
    });
  }
});

test('what cannot be read as a request is refused in the shape of unknown paths, without a word about the inside', async () => {
  const request = 'POST /v2/ping HTTP/1.1\r\nHost: x\r\n';
  const table: [name: string, text: string, status: number][] = [
    ['no HTTP', 'HELLO\r\n\r\n', 400],
    ['two lengths', `${request}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`, 400],
    ['headers that are too large', `${request}X-Long: ${'a'.repeat(65_600)}\r\n\r\n`, 431],
  ];
  for (const [name, given, status] of table) {
    const socket = connect(server.modules.config.port, '127.0.0.1');
    socket.end(given);
    let text = '';
    for await (const chunk of socket) text += chunk;
    const [head, body] = text.split('\r\n\r\n') as [string, string];
    assert.match(head, new RegExp(`^HTTP/1\\.1 ${status} `), name);
    assert.deepEqual(Object.keys(JSON.parse(body)), ['message'], name);
    assert.doesNotMatch(text, /node|fastify|stack/i, name);
  }
});

const post = {
  method: 'POST',
  headers: { 'content-type': 'application/json', origin: 'https://shop.example' },
};

test('a request that takes too long is answered 408 in the shape of its API, with or without a body', async () => {
  const title = ERRORS.timeout.title;
  const shapes: [string, unknown][] = [
    ['/signals/v1/slow', { error: { code: 'server', message: title, details: [] } }],
    ['/api/slow', { message: title }],
    [
      '/v2/slow',
      { result_code: 'Failed', message: title, errors: [{ error_code: 'ERR_TIMEOUT', description: title }] },
    ],
  ];
  for (const [path, shape] of shapes) {
    for (const request of [{}, { ...post, body: '{"name":"x"}' }]) {
      const answer = await fetch(kit + path, request);
      assert.deepEqual([answer.status, await answer.json()], [408, shape], path);
    }
  }
  assert.equal((await fetch(`${kit}/api/patient`, { ...post, body: '{"name":"x"}' })).status, 200);
});

test('pages of any origin may call where a browser calls, and can read the errors', async () => {
  const origin = 'https://shop.example';
  const preflightTo = (path: string) =>
    fetch(kit + path, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,x-api-key',
      },
    });
  const preflight = await preflightTo('/signals/v1/patient');
  assert.equal(preflight.status, 204);
  assert.equal(preflight.headers.get('access-control-allow-origin'), origin);
  assert.deepEqual(preflight.headers.get('access-control-allow-methods')?.split(', '), ['POST', 'OPTIONS']);
  assert.equal(preflight.headers.get('access-control-allow-headers'), 'content-type, x-api-key');
  assert.equal(preflight.headers.get('vary'), 'Origin');
  const unknown = await preflightTo('/signals/v1/nobody');
  assert.equal(unknown.status, 204, 'the request itself is told what is wrong');
  assert.equal(unknown.headers.get('access-control-allow-origin'), origin);
  assert.equal(unknown.headers.get('access-control-allow-methods'), 'POST');
  assert.equal((await preflightTo('/v2/nobody')).status, 404);

  const table: [number, string, RequestInit][] = [
    [200, '/signals/v1/patient', { ...post, body: '{"name":"x"}' }],
    [400, '/signals/v1/patient', { ...post, body: '{' }],
    [400, '/signals/v1/patient', { ...post, body: '{}' }],
    [404, '/signals/v1/nobody', { ...post, body: '{"name":"x"}' }],
    [404, '/signals/v1/nobody', { method: 'POST', headers: { origin }, body: 'text' }],
    [404, '/signals/v1/nobody/at/home', { headers: { origin } }],
    [405, '/signals/v1/patient', { method: 'DELETE', headers: { origin } }],
    [408, '/signals/v1/slow', { headers: { origin } }],
    [413, '/signals/v1/patient', { ...post, body: new Uint8Array(1_100_000) }],
    [415, '/signals/v1/patient', { ...post, headers: { origin, 'content-type': 'text/css' }, body: 'x' }],
  ];
  for (const [status, path, request] of table) {
    const answer = await fetch(kit + path, request);
    assert.equal(answer.status, status);
    assert.equal(answer.headers.get('access-control-allow-origin'), origin, String(status));
    assert.equal(answer.headers.get('access-control-expose-headers'), 'Retry-After', String(status));
  }
  patience.resolve();
  const closed = await fetch(`${server.origin}/v2/ping`, { headers: { origin, 'x-apikey': server.apiKey } });
  assert.equal(
    closed.headers.get('access-control-allow-origin'),
    null,
    'servers call the platform API, pages do not',
  );
});

test('the absolute form of an address is the same address', async () => {
  const origin = await serveTestRoutes({}, (app) => {
    const { route } = createRouter(app, { family: 'platform' });
    const common = { method: 'GET', summary: 'For this test', responses: {} } as const;
    route({ ...common, url: '/v2/here', operationId: 'here', handler: () => ({ body: { here: true } }) });
  });
  const { host, hostname, port } = new URL(origin);
  const ask = async (target: string) => {
    const request = get({ hostname, port, path: target, headers: { host } });
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    return [answer.statusCode, JSON.parse(await text(answer))];
  };
  for (const target of ['/v2/here', `${origin}/v2/here`, `HTTP://${host}/v2/here/`])
    assert.deepEqual(await ask(target), [200, { here: true }], target);
  const [status, body] = await ask(`${origin}/v2/nowhere`);
  assert.deepEqual([status, body.result_code], [404, 'NotFound'], 'in the shape of its family');
  assert.equal((await ask(`http://${host}`))[0], 404);
});

test('what cannot be stored because the clock has leapt over a week is put off, and taken after the next chores', async () => {
  const clock = createManualClock(Date.now());
  const leaping = await startTestServer({ clock, config: { roles: ['api'] } });
  const event = { id: 'e-1', source: '/shop', type: 'com.shop.paid', specversion: '1.0', data: {} };
  const signal = (id: string) =>
    fetch(`${leaping.origin}/signals/v1/browse`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-api-key': leaping.sdkKey,
        'idempotency-key': id,
      },
      body: JSON.stringify({ sections: [['shoes']] }),
    });
  const publish = async () =>
    fetch(`${leaping.origin}/api/webhooks/v1/events/send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${await leaping.token()}` },
      body: JSON.stringify(event),
    });
  clock.advance(30 * DAY);
  for (const answer of [await signal('s-1'), await publish()]) {
    assert.equal(answer.status, 503);
    assert.equal(answer.headers.get('retry-after'), '1');
  }
  await maintain(leaping.modules);
  assert.deepEqual([(await signal('s-1')).status, (await publish()).status], [200, 202]);
});
