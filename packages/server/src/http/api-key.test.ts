/** `X-ApiKey` on the platform API: whom it lets in, and how it refuses (D6). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServiceAccount } from '../accounts/index.ts';
import { createRouter } from '../kernel/http/routes.ts';
import { createManualClock, HOUR } from '../kernel/time/clock.ts';
import { serveTestRoutes, startTestServer } from '../testing/server.ts';

const clock = createManualClock(Date.now());
const server = await startTestServer({ clock, config: { roles: ['api'] } });
const { accounts } = server.modules;
const { tenant } = server;

/** A route within an organization, behind a proxy that this very machine is trusted to be. */
const inOrganizations = await serveTestRoutes({ clock, config: { trustProxy: ['127.0.0.1'] } }, (app) => {
  createRouter(app, { family: 'platform', authenticate: accounts.requireApiKey }).route({
    method: 'GET',
    url: '/v2/organizations/:organization/content',
    operationId: 'listContent',
    summary: 'For this test',
    responses: {},
    handler: async ({ caller }) => ({ body: { tenant: caller.tenant.name, credential: caller.credential } }),
  });
});

const ping = (apiKey: string | undefined) =>
  fetch(`${server.origin}/v2/ping`, { headers: apiKey === undefined ? {} : { 'x-apikey': apiKey } });

const listContent = (apiKey: string, { organization = 'default', from = '203.0.113.9' } = {}) =>
  fetch(`${inOrganizations}/v2/organizations/${organization}/content`, {
    headers: { 'x-apikey': apiKey, 'x-forwarded-for': from },
  });

async function createKey(limits: Partial<ServiceAccount> = {}): Promise<{ key: string; apiKey: string }> {
  const { account, secret } = await accounts.createServiceAccount(tenant, { name: 'test', ...limits });
  return { key: account.key, apiKey: `${account.key}:${secret}` };
}

async function assertRefused(answer: Response, name: string): Promise<string> {
  const content = (await answer.json()) as { result_code: string; message: string; errors: object[] };
  assert.equal(answer.status, 401, `${name}: ${JSON.stringify(content)}`);
  assert.deepEqual(Object.keys(content).sort(), ['errors', 'message', 'result_code'], name);
  assert.equal(content.result_code, 'Failed', name);
  assert.deepEqual(content.errors, [{ error_code: 'ERR_UNAUTHORIZED', description: content.message }], name);
  return content.message;
}

test('a good key pings', async () => {
  const answer = await ping(server.apiKey);
  assert.equal(answer.status, 200);
  assert.deepEqual(await answer.json(), { result_code: 'Succeeded', message: null, errors: [] });
  const head = await fetch(`${server.origin}/v2/ping/`, {
    method: 'HEAD',
    headers: { 'x-apikey': server.apiKey },
  });
  assert.equal(head.status, 200);
});

test('a key that is missing or wrong in any way gets one and the same answer', async () => {
  const [key, secret] = server.apiKey.split(':') as [string, string];
  const table: [string, string | undefined][] = [
    ['no header', undefined],
    ['an empty header', ''],
    ['a key alone', key],
    ['a key without a secret', `${key}:`],
    ['a secret without a key', `:${secret}`],
    ['an unknown key', `key_nobody:${secret}`],
    ['a wrong secret', `${key}:${secret}x`],
    ['another account’s secret', `${(await createKey()).key}:${secret}`],
    ['the parts the other way round', `${secret}:${key}`],
    ['an SDK key', `${server.sdkKey}:x`],
    ['a very long one', `${key}:${'x'.repeat(10_000)}`],
  ];
  const messages = new Set<string>();
  for (const [name, apiKey] of table) messages.add(await assertRefused(await ping(apiKey), name));
  assert.deepEqual([...messages], ['X-ApiKey must be a valid <key>:<secret>.']);
});

test('a key that has expired before it is made is refused', async () => {
  for (const expiresAt of [new Date(clock.now()), new Date('2020-01-01')])
    await assert.rejects(createKey({ expiresAt }), /expiresAt must be in the future, not 20/);
});

test('a key is good until the moment at which it expires', async () => {
  const { apiKey } = await createKey({ expiresAt: new Date(clock.now() + HOUR) });
  clock.advance(HOUR - 1);
  assert.equal((await ping(apiKey)).status, 200);
  clock.advance(1);
  assert.match(await assertRefused(await ping(apiKey), 'expired'), /has expired/);
});

test('a revoked key is refused at once and cannot be rotated', async () => {
  const { key, apiKey } = await createKey();
  assert.equal((await ping(apiKey)).status, 200);
  await accounts.revoke(tenant, 'apikey', key);
  assert.match(await assertRefused(await ping(apiKey), 'revoked'), /was revoked/);
  await assert.rejects(accounts.rotateSecret(tenant, 'apikey', key), { code: 'conflict' });
});

test('after a rotation the old secret is good for the grace, or not at all', async () => {
  for (const grace of [HOUR, 0]) {
    const { key, apiKey } = await createKey();
    const { secret } = await accounts.rotateSecret(tenant, 'apikey', key, grace);
    assert.equal((await ping(`${key}:${secret}`)).status, 200);
    if (grace > 0) assert.equal((await ping(apiKey)).status, 200);
    clock.advance(grace);
    await assertRefused(await ping(apiKey), `after ${grace} ms`);
    assert.equal((await ping(`${key}:${secret}`)).status, 200);
  }
});

test('a key opens only the operations that it names', async () => {
  const { apiKey } = await createKey({ operations: ['listContent', 'getContent'] });
  assert.equal((await listContent(apiKey)).status, 200);
  assert.match(await assertRefused(await ping(apiKey), 'ping'), /may not call ping/);
  const { apiKey: none } = await createKey({ operations: [] });
  await assertRefused(await ping(none), 'no operation at all');
});

test('a key with an address filter works from there alone', async () => {
  const { apiKey } = await createKey({ addresses: ['203.0.113.0/28', '2001:db8::/64', '198.51.100.7'] });
  const table: [string, boolean][] = [
    ['203.0.113.9', true],
    ['203.0.113.16', false],
    ['198.51.100.7', true],
    ['198.51.100.8', false],
    ['2001:db8::1', true],
    ['2001:db8:0:1::1', false],
    ['::ffff:203.0.113.9', true],
  ];
  for (const [from, allowed] of table) {
    const answer = await listContent(apiKey, { from });
    if (allowed) assert.equal(answer.status, 200, from);
    else assert.match(await assertRefused(answer, from), /this address/);
  }
  const { apiKey: here } = await createKey({ addresses: ['127.0.0.1'] });
  assert.equal((await ping(here)).status, 200);
});

test('a forwarded address counts only from a proxy that is trusted', async () => {
  const { apiKey } = await createKey({ addresses: ['203.0.113.9'] });
  assert.equal((await listContent(apiKey)).status, 200);
  const untrusted = await fetch(`${server.origin}/v2/ping`, {
    headers: { 'x-apikey': apiKey, 'x-forwarded-for': '203.0.113.9' },
  });
  await assertRefused(untrusted, 'the server that trusts no proxy');
});

test('a key with an organization filter works in those organizations and where there is none', async () => {
  const { apiKey } = await createKey({ organizations: ['default'] });
  assert.equal((await listContent(apiKey)).status, 200);
  assert.equal((await ping(apiKey)).status, 200);
  assert.match(
    await assertRefused(await listContent(apiKey, { organization: 'other' }), 'other'),
    /this organization/,
  );
});

test('only a hash of a secret is stored', async () => {
  const { apiKey } = await createKey();
  const secret = apiKey.split(':')[1]!;
  const rows = await server.modules.db.sql`select to_jsonb(service_accounts) as row from service_accounts`;
  assert.ok(rows.length > 0 && !JSON.stringify(rows).includes(secret));
});
