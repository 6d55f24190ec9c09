/** Rate limits on a real server: per credential, per address, and who counts as which address. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { sourceOf } from '../kernel/http/rate-limit.ts';
import { createRouter } from '../kernel/http/routes.ts';
import { createManualClock } from '../kernel/time/clock.ts';
import type { Config } from '../manifests.ts';
import { serveTestRoutes, startTestServer, type TestServer } from '../testing/server.ts';

/** Time stands still, so that a bucket holds exactly its rate. */
const limits: Partial<Config> = {
  rateLimitLoopback: true,
  rateLimitPerAddress: 4,
  rateLimitPerCredential: 3,
};

const clock = createManualClock(Date.now());
const start = (config: Partial<Config>) =>
  startTestServer({ clock, config: { roles: ['api'], ...limits, ...config } });
const server = await start({});

/** Whatever a test used up is there again for the next. */
beforeEach(() => clock.advance(10_000));

const ping = (server: TestServer, headers: Record<string, string> = {}) =>
  fetch(`${server.origin}/v2/ping`, { headers: { 'x-apikey': server.apiKey, ...headers } });
const KEY_SET = '/.well-known/jwks.json';
const keySet = ({ origin }: { origin: string }, headers: Record<string, string> = {}) =>
  fetch(origin + KEY_SET, { headers });

/** A public route alone, for what is decided before any module is asked. */
async function servePublicRoute(config: Partial<Config>): Promise<{ origin: string }> {
  const origin = await serveTestRoutes({ clock, config: { ...limits, ...config } }, (app) =>
    createRouter(app, { family: 'system' }).route({
      method: 'GET',
      url: KEY_SET,
      operationId: 'publicRoute',
      summary: 'For this test',
      responses: {},
      handler: () => ({ body: {} }),
    }),
  );
  return { origin };
}

async function statuses(count: number, ask: () => Promise<Response>): Promise<number[]> {
  const found: number[] = [];
  for (let sent = 0; sent < count; sent++) found.push((await ask()).status);
  return found;
}

test('a credential may burst up to its rate, is then told to wait, and goes on after the wait', async () => {
  assert.deepEqual(await statuses(4, () => ping(server)), [200, 200, 200, 429]);
  const refused = await ping(server);
  assert.equal(refused.headers.get('retry-after'), '1');
  assert.deepEqual(await refused.json(), {
    result_code: 'Failed',
    message: 'Too many requests in a short time',
    errors: [{ error_code: 'ERR_TOO_MANY_REQUESTS', description: 'Too many requests in a short time' }],
  });
  clock.advance(1000);
  assert.deepEqual(await statuses(4, () => ping(server)), [200, 200, 200, 429]);
});

test('a clock that is set back locks no one out', async () => {
  const clock = createManualClock(Date.now());
  const server = await startTestServer({ clock, config: { roles: ['api'], ...limits } });
  assert.equal((await ping(server)).status, 200);
  clock.advance(-3_600_000);
  assert.deepEqual(await statuses(3, () => ping(server)), [200, 200, 429]);
  clock.advance(1000);
  assert.equal((await ping(server)).status, 200);
});

test('one credential does not use up what another may, nor what the public routes may', async () => {
  await statuses(4, () => ping(server));
  const { account, secret } = await server.modules.accounts.createServiceAccount(server.tenant, {
    name: 'second',
  });
  assert.equal((await ping(server, { 'x-apikey': `${account.key}:${secret}` })).status, 200);
  assert.equal((await keySet(server)).status, 200);
});

test('whoever presents bad credentials at the rate of an address is told to wait, and no one else is', async () => {
  const server = await start({ trustProxy: true });
  const from = (address: string) => ({ 'x-forwarded-for': address });
  const guess = () => ping(server, { 'x-apikey': 'guessed:secret', ...from('203.0.113.1') });
  assert.deepEqual(await statuses(6, guess), [401, 401, 401, 401, 429, 429]);
  assert.equal((await ping(server, from('203.0.113.1'))).status, 429, 'nor is a lucky guess of any use');
  assert.equal((await ping(server, from('203.0.113.2'))).status, 200);
  clock.advance(1000);
  assert.equal((await ping(server, from('203.0.113.1'))).status, 200);
});

test('public routes are limited by address, and a page of another origin can read how long to wait', async () => {
  assert.deepEqual(await statuses(5, () => keySet(server)), [200, 200, 200, 200, 429]);
  const refused = await keySet(server, { origin: 'https://shop.example' });
  assert.equal(refused.status, 429);
  assert.equal(refused.headers.get('retry-after'), '1');
  assert.equal(refused.headers.get('access-control-allow-origin'), 'https://shop.example');
  assert.equal(refused.headers.get('access-control-expose-headers'), 'Retry-After');
});

const sources: [from: string, alsoFrom: string, counts: 'together' | 'apart'][] = [
  ['203.0.113.1', '203.0.113.2', 'apart'],
  ['203.0.113.1', '::ffff:203.0.113.1', 'together'],
  ['203.0.113.1', '::ffff:cb00:7101', 'together'],
  ['2001:db8:1:2::1', '2001:DB8:1:2:ffff:ffff:ffff:ffff', 'together'],
  ['2001:db8:1:2::1', '2001:db8:1:3::1', 'apart'],
  ['2001:db8::1', '2001:db8:0:0:1::', 'together'],
  ['fe80::1%eth0', 'fe80::2%eth1', 'together'],
  ['no address', 'another one', 'apart'],
  [`${'x'.repeat(100)}1`, `${'x'.repeat(100)}2`, 'together'],
];
for (const [from, alsoFrom, counts] of sources)
  test(`requests from ${from.slice(0, 40)} and ${alsoFrom.slice(0, 40)} count ${counts}`, () => {
    assert.equal(sourceOf(from) === sourceOf(alsoFrom), counts === 'together');
  });

test('whoever has a network of IPv6 has the rate of one address', async () => {
  const server = await servePublicRoute({ trustProxy: true });
  const from = (address: string) => keySet(server, { 'x-forwarded-for': address });
  let host = 0;
  assert.deepEqual(await statuses(5, () => from(`2001:db8::${++host}`)), [200, 200, 200, 200, 429]);
  assert.equal((await from('2001:db8:0:1::1')).status, 200);
});

test('behind a trusted proxy the caller is who the proxy says, otherwise whoever connects', async () => {
  const from = (address: string) => ({ 'x-forwarded-for': address });
  const table: [Config['trustProxy'], number][] = [
    [false, 429],
    [true, 200],
    [1, 200],
    [['127.0.0.1'], 200],
    [['192.0.2.1'], 429],
  ];
  for (const [trustProxy, expected] of table) {
    const server = await servePublicRoute({ trustProxy });
    await statuses(4, () => keySet(server, from('203.0.113.1')));
    assert.equal(
      (await keySet(server, from('203.0.113.1'))).status,
      429,
      `trust ${trustProxy}: the same address`,
    );
    assert.equal(
      (await keySet(server, from('203.0.113.2'))).status,
      expected,
      `trust ${trustProxy}: another address`,
    );
  }
});

test('with one trusted hop, what a caller claims beyond it does not count', async () => {
  const server = await servePublicRoute({ trustProxy: 1 });
  const ask = (claimed: number) =>
    keySet(server, { 'x-forwarded-for': `203.0.113.${claimed}, 198.51.100.1` });
  let claimed = 0;
  assert.deepEqual(await statuses(5, () => ask(++claimed)), [200, 200, 200, 200, 429]);
});

test('this very machine is not limited unless it is asked for, and no one is when limits are off', async () => {
  for (const config of [{ rateLimitLoopback: false }, { rateLimit: false }]) {
    const unlimited = await start(config);
    assert.deepEqual(new Set(await statuses(8, () => keySet(unlimited))), new Set([200]));
    assert.deepEqual(new Set(await statuses(8, () => ping(unlimited))), new Set([200]));
  }
});

test('the probes of the machine are never limited', async () => {
  for (const path of ['/healthz', '/readyz', '/metrics']) {
    assert.deepEqual(new Set(await statuses(8, () => fetch(server.origin + path))), new Set([200]), path);
  }
});
