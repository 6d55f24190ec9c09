import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { chooseEncoding } from '../kernel/http/compressed.ts';
import { createTestDatabaseUrl } from '../testing/database.ts';
import { startTestServer } from '../testing/server.ts';
import { settingsViolations } from './settings.ts';

const databaseUrl = await createTestDatabaseUrl();
const server = await startTestServer({ databaseUrl, config: { roles: ['api'] } });
const { tenant } = server;
const base = `${server.origin}/sdk/eu/${tenant.name}`;

/** Plain HTTP: `fetch` would unpack, and ask for encodings of its own. */
function get(url: string, headers: Record<string, string> = {}, method = 'GET') {
  return new Promise<{ status: number; headers: Record<string, unknown>; body: Buffer }>(
    (resolve, reject) => {
      request(url, { method, headers }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk) => chunks.push(chunk));
        answer.on('end', () =>
          resolve({ status: answer.statusCode!, headers: answer.headers, body: Buffer.concat(chunks) }),
        );
      })
        .on('error', reject)
        .end();
    },
  );
}

interface Addresses {
  url: string;
  versioned_url: string;
  integrity: string;
}

interface Sdk {
  settings: unknown;
  version: string;
  scripts: Record<'tracker' | 'stub', Addresses> & { site: Addresses | null };
}

async function platform(method: string, body?: unknown, organization = server.organization) {
  const answer = await fetch(`${server.origin}/v2/organizations/${organization}/sdk`, {
    method,
    headers: { 'x-apikey': server.apiKey, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return {
    status: answer.status,
    body: (await answer.json()) as { result_code: string; errors: unknown[]; sdk: Sdk },
  };
}

const integrityOf = (text: Buffer) => `sha384-${createHash('sha384').update(text).digest('base64')}`;

test('an account has its script, by name and by customer id, with its settings in it and its key not', async () => {
  const byName = await get(`${base}/tracker.js`);
  assert.equal(byName.status, 200);
  assert.equal(byName.headers['content-type'], 'text/javascript; charset=utf-8');
  assert.equal(byName.headers['cache-control'], 'public, max-age=300');
  assert.equal(byName.headers['access-control-allow-origin'], '*');
  assert.equal(byName.headers['cross-origin-resource-policy'], 'cross-origin');
  const text = byName.body.toString();
  assert.ok(text.includes(JSON.stringify(server.origin)));
  assert.ok(!text.includes(server.sdkKey));
  assert.deepEqual((await get(`${server.origin}/sdk/eu/${tenant.id}/tracker.js`)).body, byName.body);
  assert.equal((await get(`${base}/stub.js`)).status, 200);
});

test('the site tag is told of once there is a universe, and its version outlives the universe', async () => {
  assert.equal((await platform('GET')).body.sdk.scripts.site, null);
  const universe = await server.modules.site.createUniverse(tenant, { name: 'shop', domain: 'shop.example' });
  const { url, versioned_url, integrity } = (await platform('GET')).body.sdk.scripts.site!;
  assert.equal(url, `${base}/site.js`);
  const current = await get(url);
  assert.equal(integrityOf(current.body), integrity);
  assert.ok(current.body.toString().includes(universe.id));
  await server.modules.site.deleteUniverse(tenant.id, universe.id);
  assert.equal((await get(url)).status, 404);
  assert.deepEqual((await get(versioned_url)).body, current.body);
});

test('another region, another account and another version are not found', async () => {
  const table = [
    `/sdk/us/${tenant.name}/tracker.js`,
    `/sdk/EU/${tenant.name}/tracker.js`,
    '/sdk/eu/nobody/tracker.js',
    '/sdk/eu/%00/tracker.js',
    `/sdk/eu/${tenant.name}/0.0.0-0000000000/tracker.js`,
    `/sdk/eu/${tenant.name}/%00/tracker.js`,
    `/sdk/eu/${tenant.name}/other.js`,
  ];
  for (const path of table) assert.equal((await get(server.origin + path)).status, 404, path);
});

test('the versioned address never changes and matches its SRI hash, whatever becomes of the settings', async () => {
  const before = await platform('GET');
  assert.equal(before.status, 200);
  const { versioned_url, integrity, url } = before.body.sdk.scripts.tracker;
  assert.equal(url, `${base}/tracker.js`);
  const first = await get(versioned_url);
  assert.equal(first.headers['cache-control'], 'public, max-age=31536000, immutable');
  assert.equal(integrityOf(first.body), integrity);

  const settings = {
    host: 'https://signals.shop.example',
    options: { logLevel: 'error', performSignInAlways: true },
  };
  const after = await platform('PUT', settings);
  assert.equal(after.status, 200);
  assert.deepEqual(after.body.sdk.settings, settings);
  assert.notEqual(after.body.sdk.version, before.body.sdk.version);
  assert.notEqual(after.body.sdk.scripts.tracker.integrity, integrity);

  const current = await get(url);
  assert.ok(current.body.toString().includes('https://signals.shop.example'));
  assert.equal(integrityOf(current.body), after.body.sdk.scripts.tracker.integrity);
  assert.deepEqual((await get(versioned_url)).body, first.body, 'the old one is still there');
  assert.deepEqual((await get(after.body.sdk.scripts.tracker.versioned_url)).body, current.body);

  await server.stop();
  const upgraded = await startTestServer({ databaseUrl, config: { roles: ['api'] } });
  const old = await get(versioned_url.replace(server.origin, upgraded.origin));
  assert.deepEqual(old.body, first.body, 'another process has it too');
  await upgraded.stop();
});

test('scripts are compressed once and answered in what the client takes', async () => {
  const own = await startTestServer({ databaseUrl, config: { roles: ['api'] } });
  const url = `${own.origin}/sdk/eu/${tenant.name}/tracker.js`;
  const plain = await get(url);
  const table: [string, string | undefined, (body: Buffer) => Buffer][] = [
    ['br, gzip', 'br', (body) => brotliDecompressSync(body)],
    ['gzip', 'gzip', (body) => gunzipSync(body)],
    ['identity', undefined, (body) => body],
  ];
  const tags = new Set([plain.headers.etag]);
  for (const [accepted, encoding, unpack] of table) {
    const answer = await get(url, { 'accept-encoding': accepted });
    assert.equal(answer.headers['content-encoding'], encoding);
    assert.deepEqual(unpack(answer.body), plain.body);
    assert.match(String(answer.headers.vary), /Accept-Encoding/i);
    tags.add(answer.headers.etag);
    const again = await get(url, {
      'accept-encoding': accepted,
      'if-none-match': `"x", W/${answer.headers.etag}`,
    });
    assert.deepEqual([again.status, again.body.length, again.headers.etag], [304, 0, answer.headers.etag]);
    const head = await get(url, { 'accept-encoding': accepted }, 'HEAD');
    assert.deepEqual([head.status, head.body.length, head.headers.etag], [200, 0, answer.headers.etag]);
  }
  assert.equal(tags.size, 3, 'each representation has its own tag');
  const packed = (await get(url, { 'accept-encoding': 'gzip' })).body.length;
  assert.ok(packed <= 5632, `the budget of the script, with the settings of this account: ${packed}`);
});

test('an encoding is chosen by what is accepted and not refused', () => {
  const table: [string | undefined, string][] = [
    [undefined, 'identity'],
    ['', 'identity'],
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip;q=1.0, br;q=0', 'gzip'],
    ['GZIP', 'gzip'],
    ['br;q=0.1', 'br'],
    ['*', 'identity'],
    ['gzip;q=0', 'identity'],
  ];
  for (const [accepted, wanted] of table) assert.equal(chooseEncoding(accepted), wanted, String(accepted));
});

test('settings are checked, every violation is named, and only the own organization has them', async () => {
  const own = await startTestServer({ databaseUrl, config: { roles: ['api'] } });
  const put = async (body: unknown) => {
    const answer = await fetch(`${own.origin}/v2/organizations/${own.organization}/sdk`, {
      method: 'PUT',
      headers: { 'x-apikey': own.apiKey, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return {
      status: answer.status,
      body: (await answer.json()) as { result_code: string; errors: { description: string }[] },
    };
  };
  const bad = await put({ host: 'http://shop.example', options: { logLevel: 'loud', colour: 'red' } });
  assert.deepEqual([bad.status, bad.body.result_code], [400, 'ValidationFailed']);
  const text = JSON.stringify(bad.body.errors);
  for (const member of ['host', 'options.logLevel', 'options.colour']) assert.ok(text.includes(member), text);
  assert.equal((await put({ host: 'http://localhost:8400' })).status, 200);
  const nowhere = await fetch(`${own.origin}/v2/organizations/nowhere/sdk`, {
    headers: { 'x-apikey': own.apiKey },
  });
  assert.equal(nowhere.status, 404);
});

test('a host is https, or this machine', () => {
  const table: [string | null | undefined, boolean][] = [
    [undefined, true],
    [null, true],
    ['https://signals.shop.example', true],
    ['https://shop.example/path', true],
    ['http://localhost', true],
    ['http://127.0.0.1:8400', true],
    ['http://localhost.evil.example', false],
    ['https://user:secret@signals.example', false],
    ['http://shop.example', false],
    ['ftp://shop.example', false],
    ['shop.example', false],
    ['https://', false],
    ['https://a b', false],
  ];
  for (const [host, good] of table)
    assert.equal(settingsViolations({ host }).length === 0, good, String(host));
});
