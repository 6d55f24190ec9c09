/** Tenants and credentials from the command line, on a database of one's own. */
import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { startTestServer } from '../../testing/server.ts';
import { createHome, run } from '../../testing/signalbox.ts';
import { until } from '../../testing/wait.ts';

const SIGNALBOX_SECRET = 'a secret for this test, long enough';
/** A server on the same database: what the commands make must work there. */
const server = await startTestServer({ config: { secret: SIGNALBOX_SECRET, roles: ['api'] } });
const env = { DATABASE_URL: server.databaseUrl, SIGNALBOX_SECRET, SIGNALBOX_HOME: await createHome() };

/** Runs a command that must succeed in silence, and answers what it printed as JSON. */
async function json<T = Record<string, string>>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await run([...args, '--json'], env);
  assert.equal(code, 0, stderr);
  assert.equal(stderr, '', 'nothing but the result when no one is watching');
  return JSON.parse(stdout) as T;
}

async function failure(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(args, env);
  assert.equal(code, 1, `${args.join(' ')}: ${stdout}`);
  assert.equal(stdout, '');
  assert.doesNotMatch(stderr, /\bat .*\.[jt]s/, 'a sentence, not a stack');
  return stderr;
}

const ping = async (apiKey: string) =>
  (await fetch(`${server.origin}/v2/ping`, { headers: { 'x-apikey': apiKey } })).status;

async function tokenStatus(client_id: string, client_secret: string, account_id: string): Promise<number> {
  const answer = await fetch(`${server.origin}/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      grant_type: 'client_credentials',
      client_id,
      client_secret,
      account_id,
      audience: server.origin,
    }),
  });
  return answer.status;
}

/** The server hears of a change from the database, a moment after the command has ended; after 10 s it would look by itself. */
const becomes = (expected: number, status: () => Promise<number>) =>
  until(async () => (await status()) === expected, { timeoutMs: 9000, what: `${expected} from ${status}` });

test('tenants are created and listed', async () => {
  const acme = await json('tenant', 'create', 'acme');
  assert.match(acme.customerId!, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  assert.equal(acme.region, 'eu');
  const tenants = await json<{ customerId: string; name: string }[]>('tenant', 'list');
  assert.ok(tenants.some(({ customerId, name }) => name === 'acme' && customerId === acme.customerId));
  const { stdout } = await run(['tenant', 'list'], env);
  assert.match(stdout, /^customerId +name +region +createdAt\n/);
  assert.match(await failure('tenant', 'create', 'acme'), /There is a tenant acme already\./);
  assert.match(
    await failure('tenant', 'create', 'mars', '--region', 'moon'),
    /Allowed choices are eu, us, apac/,
  );
});

test('on a database of one’s own a command needs no home: the one that it makes is private', async () => {
  const home = join(await createHome(), 'not', 'there');
  const { code, stderr } = await run(['tenant', 'list'], {
    DATABASE_URL: server.databaseUrl,
    SIGNALBOX_HOME: home,
  });
  assert.deepEqual([code, stderr], [0, '']);
  if (process.platform !== 'win32') assert.equal((await stat(home)).mode & 0o777, 0o700);
});

test('with several tenants one must be named, and it must be there', async () => {
  assert.match(await failure('org', 'list'), /There are several tenants; choose one with --tenant: .*acme/);
  assert.match(await failure('org', 'list', '--tenant', 'nobody'), /There is no tenant nobody\./);
});

// A command takes most of a second, and these do not depend on one another.
suite('for a tenant', { concurrency: true }, () => {
  test('organizations are created with their languages, each once, and listed', async () => {
    const shop = await json<Record<string, unknown>>(
      'org',
      'create',
      'shop',
      '--languages',
      'nl, fr-BE, nl',
      '--tenant',
      'acme',
    );
    assert.deepEqual([shop.name, shop.languages, shop.defaultLanguage], ['shop', ['nl', 'fr-BE'], 'nl']);
    const rows = await json<{ name: string }[]>('org', 'list', '--tenant', 'acme');
    assert.deepEqual(
      rows.map(({ name }) => name),
      ['shop'],
    );
    assert.match(
      await failure('org', 'create', 'shop', '--tenant', 'acme'),
      /There is an organization shop already\./,
    );
  });

  test('an OAuth client is created, rotated with a grace and revoked, and the server follows', async () => {
    const { client_id, client_secret, account_id } = await json(
      'oauth',
      'create',
      'crm',
      '--scopes',
      'webhooks:admin',
      '--tenant',
      'acme',
    );
    assert.equal(await tokenStatus(client_id!, client_secret!, account_id!), 200);
    const rotated = await json('oauth', 'rotate', client_id!, '--grace', '1', '--tenant', 'acme');
    const { client_secret: _second, previousValidUntil: _until, ...same } = rotated;
    assert.deepEqual(same, { client_id, account_id, scopes: ['webhooks:admin'] }, 'as create shows it');
    assert.ok(Date.parse(rotated.previousValidUntil!) > Date.now());
    await becomes(200, () => tokenStatus(client_id!, rotated.client_secret!, account_id!));
    assert.equal(await tokenStatus(client_id!, client_secret!, account_id!), 200);
    await json('oauth', 'rotate', client_id!, '--grace', '0', '--tenant', 'acme');
    await becomes(401, () => tokenStatus(client_id!, rotated.client_secret!, account_id!));
    for (const grace of ['', 'Infinity', '1e300', '0x10', '-1', '99999'])
      assert.match(
        await failure('oauth', 'rotate', client_id!, `--grace=${grace}`, '--tenant', 'acme'),
        /It must be a number of hours/,
        grace,
      );
    assert.deepEqual(await json('oauth', 'revoke', client_id!, '--tenant', 'acme'), { revoked: client_id });
    const [row] = await json<Record<string, unknown>[]>('oauth', 'list', '--tenant', 'acme');
    assert.deepEqual(
      [row!.clientId, row!.scopes, typeof row!.revokedAt],
      [client_id, ['webhooks:admin'], 'string'],
    );
    assert.match(
      await failure('oauth', 'create', 'x', '--scopes', 'all', '--tenant', 'acme'),
      /must be of webhooks:admin.*, not all/,
    );
  });

  test('a service account is created, rotated and revoked, and one tenant cannot touch another’s', async () => {
    const { key, secret, header } = await json(
      'apikey',
      'create',
      'cms',
      '--operations',
      'ping,listWidgets',
      '--addresses',
      '127.0.0.0/8',
      '--expires',
      '2099-01-01',
      '--tenant',
      'acme',
    );
    assert.equal(header, `X-ApiKey: ${key}:${secret}`);
    assert.equal(await ping(`${key}:${secret}`), 200);
    assert.match(
      await failure('apikey', 'revoke', key!, '--tenant', server.tenant.name),
      /There is no service account/,
    );
    const rotated = await json('apikey', 'rotate', key!, '--grace', '0', '--tenant', 'acme');
    assert.deepEqual(rotated, {
      key,
      secret: rotated.secret,
      header: `X-ApiKey: ${key}:${rotated.secret}`,
      previousValidUntil: null,
    });
    await becomes(401, () => ping(`${key}:${secret}`));
    assert.equal(await ping(`${key}:${rotated.secret}`), 200);
    await json('apikey', 'revoke', key!, '--tenant', 'acme');
    await becomes(401, () => ping(`${key}:${rotated.secret}`));
    const [row] = await json<Record<string, unknown>[]>('apikey', 'list', '--tenant', 'acme');
    assert.deepEqual(
      [row!.key, row!.operations, row!.addresses, row!.organizations, row!.expiresAt],
      [key, ['ping', 'listWidgets'], ['127.0.0.0/8'], [], '2099-01-01T00:00:00.000Z'],
    );
    assert.ok(!JSON.stringify(row).includes(rotated.secret!));
    for (const [id, hint] of [
      ['getContnet', ''],
      ['listwidgets', ' (did you mean listWidgets?)'],
      ['sendSignals', ''],
    ] as const)
      assert.equal(
        await failure('apikey', 'create', 'x', '--operations', `ping,${id}`, '--tenant', 'acme'),
        `Error: operations must be * or operation ids of /openapi/platform.json, not ${id}${hint}\n`,
      );
    for (const [option, list] of [
      ['--operations', ''],
      ['--organizations', 'default,'],
      ['--addresses', ','],
    ] as const)
      assert.match(
        await failure('apikey', 'create', 'x', `${option}=${list}`, '--tenant', 'acme'),
        /without an empty part/,
        option,
      );
    assert.match(
      await failure('apikey', 'create', 'x', '--organizations', 'defualt', '--tenant', 'acme'),
      /must be organizations of the tenant, not defualt/,
    );
    for (const date of ['soon', '1', '2027-02-31', '2027-1-1', '2027-01-01T25:00'])
      assert.match(
        await failure('apikey', 'create', 'x', '--expires', date, '--tenant', 'acme'),
        /It must be a date such as/,
        date,
      );
  });

  test('SDK keys are created with their origins, listed and revoked', async () => {
    const { key } = await json(
      'sdkkey',
      'create',
      'shop',
      '--origins',
      'https://shop.example',
      '--tenant',
      'acme',
    );
    assert.match(key!, /^sdk_/);
    await json('sdkkey', 'revoke', key!, '--tenant', 'acme');
    const [row] = await json<Record<string, unknown>[]>('sdkkey', 'list', '--tenant', 'acme');
    assert.deepEqual(
      [row!.key, row!.origins, typeof row!.revokedAt],
      [key, ['https://shop.example'], 'string'],
    );
    const origins = ['--origins', 'https://a.example,https://b.example', '--origins', 'https://c.example'];
    assert.deepEqual(
      (await json<{ origins: string[] }>('sdkkey', 'create', 'more', ...origins, '--tenant', 'acme')).origins,
      ['https://a.example', 'https://b.example', 'https://c.example'],
      'lists add up',
    );
    for (const origin of ['shop.example/path', 'https://*.shop.example'])
      assert.match(
        await failure('sdkkey', 'create', 'x', '--origins', origin, '--tenant', 'acme'),
        /must be origins such as/,
      );
  });
});

test('the signing keys are rotated: the new one signs from now on, and tokens of before stay good', async () => {
  const before = await server.token();
  const { kid } = await json('keys', 'rotate');
  const keys = await server.modules.db
    .sql`select kid, retires_at as "retiresAt" from signing_keys order by created_at`;
  assert.equal(keys.length, 2);
  assert.deepEqual({ ...keys[1] }, { kid, retiresAt: null });
  assert.ok(keys[0]!.retiresAt > new Date());
  const keySet = createRemoteJWKSet(new URL(`${server.origin}/.well-known/jwks.json`));
  await jwtVerify(before, keySet, { issuer: server.origin });
});

test('what would be sealed with another secret than the one of the servers is refused, and nothing changes', async () => {
  const { SIGNALBOX_SECRET: _secret, ...without } = env;
  const kids = () => server.modules.db.sql`select kid, retires_at from signing_keys order by kid`;
  const before = await kids();
  for (const other of [without, { ...env, SIGNALBOX_SECRET: 'another secret, as long as the first' }]) {
    const { code, stderr } = await run(['keys', 'rotate'], other);
    assert.equal(code, 1);
    assert.match(stderr, /^Error: The signing key \S+ in the database was sealed with another secret/);
  }
  const { code, stderr } = await run(['webhooks', 'listen', '--tenant', server.tenant.name], without);
  assert.equal(code, 1);
  assert.match(stderr, /sealed with another secret/);
  assert.deepEqual(await server.modules.webhooks.subscriptions.list(server.tenant), []);
  assert.deepEqual(await kids(), before);
});
