/** The log: one wide line per request, with its trace id, and never a secret or the address of a person. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { createRouter } from '../kernel/http/routes.ts';
import { createLog } from '../kernel/telemetry/log.ts';
import { serveTestRoutes, startTestServer } from '../testing/server.ts';
import { until } from '../testing/wait.ts';

interface Line extends Record<string, unknown> {
  msg: string;
  trace?: string;
}

let text = '';
const destination = new Writable({
  write(chunk, _encoding, done) {
    text += chunk;
    done();
  },
});
const log = await createLog({ level: 'trace', format: 'json', destination });
const server = await startTestServer({ log, config: { roles: ['api'] } });

const lines = () =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);
let traces = 0;
/** Sends a request under a trace of its own and answers what the log says about it. */
async function linesOf(path: string, init: RequestInit = {}, origin = server.origin): Promise<Line[]> {
  const trace = (++traces).toString(16).padStart(32, '0');
  await fetch(origin + path, {
    ...init,
    headers: { ...init.headers, traceparent: `00-${trace}-00f067aa0ba902b7-01` },
  });
  await until(() => lines().some((line) => line.trace === trace && line.msg === 'request'));
  return lines().filter((line) => line.trace === trace);
}

test('each request leaves one wide line, whatever becomes of it', async () => {
  const table: [string, RequestInit, Partial<Line>][] = [
    [
      '/v2/ping',
      { headers: { 'x-apikey': server.apiKey } },
      { route: '/v2/ping', status: 200, method: 'GET', operation: 'ping', tenant: server.tenant.name },
    ],
    ['/v2/ping', {}, { route: '/v2/ping', status: 401, operation: 'ping' }],
    ['/v2/ping', { method: 'DELETE' }, { route: '/v2/ping', status: 405, method: 'DELETE' }],
    ['/nowhere/at/all', {}, { route: 'unknown', status: 404 }],
    ['/oauth/token', { method: 'POST' }, { route: '/oauth/token', status: 400, operation: 'createToken' }],
    ['/healthz', {}, { route: '/healthz', status: 200, level: 'debug' }],
    ['/v2/%zz', {}, { status: 400 }],
  ];
  for (const [path, init, expected] of table) {
    const found = await linesOf(path, init);
    assert.equal(found.length, 1, `${path}: ${JSON.stringify(found)}`);
    for (const [name, value] of Object.entries(expected))
      assert.equal(found[0]![name], value, `${path}: ${name}`);
    assert.equal(typeof found[0]!.ms, 'number');
    assert.match(String(found[0]!.time), /^\d{4}-\d\d-\d\dT/);
  }
});

test('a caller that goes away before the answer leaves a line too', async () => {
  const arrived = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const origin = await serveTestRoutes({ log }, (app) => {
    createRouter(app, { family: 'system' }).route({
      method: 'GET',
      url: '/slow',
      operationId: 'slow',
      summary: 'For this test',
      responses: {},
      async handler() {
        arrived.resolve();
        await answered.promise;
        return {};
      },
    });
  });
  const impatient = new AbortController();
  const request = linesOf('/slow', { signal: impatient.signal }, origin);
  await arrived.promise;
  impatient.abort();
  await assert.rejects(request, { name: 'AbortError' });
  await until(() => lines().some(({ operation, status }) => operation === 'slow' && status === 499));
  answered.resolve();
});

test('a caller that goes away within its body leaves its one line, and no failure', async () => {
  const { hostname, port } = new URL(server.origin);
  for (const ending of ['destroy', 'end'] as const) {
    const trace = (++traces).toString(16).padStart(32, '0');
    const socket = connect(Number(port), hostname);
    const head = `POST /oauth/token HTTP/1.1\r\nhost: x\r\ntraceparent: 00-${trace}-00f067aa0ba902b7-01\r\n`;
    socket.write(
      `${head}expect: 100-continue\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`,
    );
    await once(socket, 'data');
    socket[ending]();
    await until(() => lines().some((line) => line.trace === trace));
    // By the answer to another, everything has been written about the first.
    await linesOf('/v2/ping');
    const said = lines().filter((line) => line.trace === trace);
    assert.deepEqual(
      said.map(({ level, msg, status }) => [level, msg, status]),
      [['info', 'request', 499]],
      ending,
    );
  }
});

test('the trace of a caller is kept, a bad one is replaced, and problems carry it', async () => {
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
  const ask = async (traceparent: string) => {
    const answer = await fetch(`${server.origin}/api/webhooks/v1/nothing`, { headers: { traceparent } });
    return ((await answer.json()) as { traceId: string }).traceId;
  };
  assert.equal(await ask(`00-${trace}-00f067aa0ba902b7-01`), trace);
  assert.equal(await ask(`01-${trace}-00f067aa0ba902b7-01-more`), trace);
  const bad = [
    '',
    'hello',
    `00-${trace}`,
    `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
    `00-${trace.toUpperCase()}-00f067aa0ba902b7-01`,
    `ff-${trace}-00f067aa0ba902b7-01`,
    `00-${trace}-${'0'.repeat(16)}-01`,
    `00-${trace}-00f067aa0ba902b7-`,
  ];
  const replaced = await Promise.all(bad.map(ask));
  assert.equal(new Set([trace, ...replaced]).size, bad.length + 1, 'each has a new one');
  for (const id of replaced) assert.match(id, /^[0-9a-f]{32}$/);
});

test('no secret that is sent in any place comes to stand in the log', async () => {
  const [key, secret] = server.apiKey.split(':') as [string, string];
  const { client_secret } = server.oauth;
  const token = await server.token();
  const json = { 'content-type': 'application/json' };
  const secrets = {
    secret,
    client_secret,
    token,
    wrong: 'guessed-secret-1',
    cookie: 'cookie-secret-1',
    query: 'query-secret-1',
    path: 'path-secret-1',
  };
  const grant = { grant_type: 'client_credentials', ...server.oauth };
  await linesOf('/v2/ping', { headers: { 'x-apikey': server.apiKey, cookie: `session=${secrets.cookie}` } });
  await linesOf('/v2/ping', { headers: { 'x-apikey': `${key}:${secrets.wrong}` } });
  await linesOf(`/v2/ping?token=${secrets.query}`, { headers: { authorization: `Bearer ${token}` } });
  await linesOf(`/v2/${secrets.path}`);
  await linesOf('/oauth/token', { method: 'POST', headers: json, body: JSON.stringify(grant) });
  await linesOf('/oauth/token', {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ ...grant, client_secret: secrets.wrong }),
  });
  await linesOf('/oauth/token', {
    method: 'POST',
    headers: json,
    body: `{"client_secret": "${client_secret}"`,
  });
  await linesOf('/oauth/token', {
    method: 'POST',
    headers: { 'content-type': `application/x; p=${secrets.wrong}` },
    body: client_secret,
  });
  for (const [name, value] of Object.entries(secrets))
    assert.ok(!text.includes(value), `${name} stands in the log`);
});

test('a failure is logged once with its cause and stack, but neither with parameters nor with the address of a person', async () => {
  const person = 'jane.doe@example.com';
  const { db, accounts } = server.modules;
  await accounts.createConsoleUser(server.tenant, { email: person, password: 'correct horse battery' });
  const origin = await serveTestRoutes({ log }, (app) => {
    createRouter(app, { family: 'platform' }).route({
      method: 'POST',
      url: '/v2/fail',
      operationId: 'fail',
      summary: 'For this test',
      responses: {},
      handler: async () => ({
        body: await db.sql`
          insert into console_users (id, tenant_id, email, password_hash, created_at)
          values ('usr_x', ${server.tenant.id}, ${person}, 'parameter-secret-1', ${new Date()})`,
      }),
    });
  });
  const found = await linesOf('/v2/fail', { method: 'POST' }, origin);
  assert.deepEqual(found.map(({ msg }) => msg).sort(), ['request', 'request failed']);
  const { err } = found.find(({ msg }) => msg === 'request failed') as unknown as {
    err: { message: string; stack: string };
  };
  assert.match(err.message, /duplicate key value/);
  assert.match(err.stack, /log\.test\.ts/);
  assert.ok(!text.includes(person), 'the address stands in the log');
  assert.ok(!text.includes('parameter-secret-1'), 'a parameter stands in the log');
});

test('what an outage keeps from being answered is a line with the reason and no stack', async () => {
  const origin = await serveTestRoutes({ log }, (app) => {
    createRouter(app, { family: 'platform' }).route({
      method: 'GET',
      url: '/v2/away',
      operationId: 'away',
      summary: 'For this test',
      responses: {},
      handler: async () => {
        throw Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:5432'), { code: 'ECONNREFUSED' });
      },
    });
  });
  const found = await linesOf('/v2/away', {}, origin);
  const warning = found.find(({ msg }) => msg === 'request could not be answered now');
  assert.match(String(warning?.reason), /ECONNREFUSED 127\.0\.0\.1:5432$/);
  assert.ok(!JSON.stringify(found).includes('log.test.ts'), 'a stack stands in the log');
});

/** A log, and what was written to it since one looked last. */
async function openLog() {
  let written = '';
  const sink = new Writable({
    write: (chunk, _encoding, done) => {
      written += chunk;
      done();
    },
  });
  const take = () => {
    const taken = written;
    written = '';
    return taken;
  };
  return { own: await createLog({ level: 'info', format: 'json', destination: sink }), take };
}

test('what is logged under the name of a secret is removed', async () => {
  const { own, take } = await openLog();
  for (const name of [
    'secret',
    'password',
    'authorization',
    'apiKey',
    'client_secret',
    'access_token',
    'token',
    'cookie',
  ]) {
    own.info({ [name]: 'hidden-1', headers: { [name]: 'hidden-2' } }, 'careless');
  }
  const written = take();
  assert.ok(!written.includes('hidden'));
  assert.equal(written.match(/\[removed\]/g)?.length, 16);
});

test('whatever was thrown can be logged, and no part of it quotes a row', async () => {
  const { own, take } = await openLog();
  const ofDatabase = () => Object.assign(new Error('duplicate key'), { detail: 'hidden', where: 'hidden' });
  const table: [unknown, RegExp][] = [
    [null, /^null$/],
    ['a text', /^a text$/],
    [{ status: 5 }, /object/],
    [ofDatabase(), /^duplicate key$/],
    [new AggregateError([ofDatabase()], 'all failed'), /^all failed$/],
    [new Error('outer', { cause: ofDatabase() }), /outer.*duplicate key/],
  ];
  for (const [err, message] of table) {
    own.error({ err }, 'failed');
    const written = take();
    assert.match(JSON.parse(written).err.message, message);
    assert.ok(!written.includes('hidden'), written);
  }
});
