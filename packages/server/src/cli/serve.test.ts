/** `signalbox serve --dev` on a home of its own, from the first start on, through everything that may happen to it. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { open, readdir, readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePort } from '@signalbox/embedded-postgres/free-port';
import type { Demo } from '../demo/index.ts';
import { createHome, isGone, type RunningServer, run, serve, start, TO_START } from '../testing/signalbox.ts';
import { until } from '../testing/wait.ts';

const home = await createHome();
const env = { SIGNALBOX_HOME: home, LOG_LEVEL: 'info' };
const readDemo = async () => JSON.parse(await readFile(join(home, 'demo.json'), 'utf8')) as Demo;

const ping = async (origin: string, apiKey?: string) =>
  (await fetch(`${origin}/v2/ping`, { headers: apiKey === undefined ? {} : { 'x-apikey': apiKey } })).status;

async function tokenOf({ oauth: { token_url, ...credentials } }: Demo): Promise<string> {
  const answer = await fetch(token_url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ grant_type: 'client_credentials', ...credentials }),
  });
  assert.equal(answer.status, 200);
  return ((await answer.json()) as { access_token: string }).access_token;
}

/** The process of the embedded PostgreSQL. */
const postmasterPid = async () =>
  Number((await readFile(join(home, 'postgres/data/postmaster.pid'), 'utf8')).split('\n')[0]);

test('the first start makes a private home with a demo that works, beside which commands work and no second server does', async () => {
  const server = await serve(['--dev'], env);
  const demo = await readDemo();
  assert.equal((await stat(home)).mode & 0o777, 0o700);
  for (const file of ['demo.json', 'secret'])
    assert.equal((await stat(join(home, file))).mode & 0o777, 0o600, file);
  assert.deepEqual(Object.keys(demo).sort(), [
    'apiKey',
    'audience',
    'console',
    'contactIdentifier',
    'customerId',
    'oauth',
    'organization',
    'origin',
    'region',
    'sdkKey',
    'segment',
    'siteOrigin',
    'tenant',
    'universeId',
    'widgets',
  ]);
  assert.deepEqual(Object.keys(demo.oauth).sort(), [
    'account_id',
    'audience',
    'client_id',
    'client_secret',
    'token_url',
  ]);
  assert.deepEqual(Object.keys(demo.widgets).sort(), ['context', 'personal', 'related', 'top']);
  assert.deepEqual(Object.keys(demo.console).sort(), ['email', 'password', 'url']);
  const texts = JSON.stringify(demo, (_name, value) =>
    value === '' ? assert.fail('an empty member') : value,
  );
  assert.ok(texts.length > 500);
  assert.equal(demo.origin, server.origin);
  assert.equal(demo.siteOrigin, server.origin);
  assert.equal(demo.organization, 'default');
  assert.deepEqual([await ping(demo.origin, demo.apiKey), await ping(demo.origin)], [200, 401]);
  await tokenOf(demo);

  const created = await run(['apikey', 'create', 'beside', '--json'], env);
  assert.deepEqual([created.code, created.stderr], [0, '']);
  const { key, secret } = JSON.parse(created.stdout) as { key: string; secret: string };
  assert.equal(await ping(demo.origin, `${key}:${secret}`), 200);

  const second = await run(['serve', '--dev'], { ...env, PORT: '0' });
  assert.equal(second.code, 1);
  assert.match(
    second.stderr,
    new RegExp(`^Error: Another Signalbox server \\(process ${server.child.pid}\\) is already running on `),
  );

  const postmaster = await postmasterPid();
  assert.equal(await server.end('SIGTERM'), 0);
  assert.ok(isGone(postmaster), 'PostgreSQL stops with the server');
});

test('the next start keeps every credential, and the addresses follow the port', async () => {
  const before = await readDemo();
  const port = await freePort();
  const server = await serve(['--dev', '--port', String(port)], env);
  const origin = `http://localhost:${port}`;
  const demo = await readDemo();
  assert.deepEqual(demo, {
    ...before,
    origin,
    siteOrigin: origin,
    oauth: { ...before.oauth, token_url: `${origin}/oauth/token`, audience: origin },
    console: { ...before.console, url: `${origin}/console` },
  });
  assert.equal(await ping(origin, demo.apiKey), 200);
  await tokenOf(demo);
  // As a terminal and npm do for one Ctrl-C.
  server.child.kill('SIGINT');
  assert.equal(await server.end('SIGINT'), 0);
});

/** What is said of a port that another program has. */
const inUse = (port: number) =>
  new RegExp(
    `^Error: Port ${port} is in use already: stop the other program or choose another with --port \\(or --probe-port\\)\\.`,
  );

test('a port that is in use is refused in a sentence before anything is made', async (t) => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  t.after(() => other.close());
  const { port } = other.address() as { port: number };
  const taken = String(port);
  const own = await createHome();
  const serve = ['serve', '--dev', '--host', '127.0.0.1'];
  const table: [args: string[], port: string][] = [
    [serve, taken],
    [[...serve, '--workers', '2'], taken],
    [[...serve, '--roles', 'worker', '--probe-port', taken], '0'],
  ];
  for (const [args, PORT] of table) {
    const { code, stderr } = await run(args, { SIGNALBOX_HOME: own, PORT });
    assert.equal(code, 1);
    assert.match(stderr, inUse(port));
    assert.deepEqual(await readdir(own), []);
  }
});

test('a port that is taken during the start is refused in the same words, and PostgreSQL does not stay behind', async (t) => {
  for (const workers of ['1', '2']) {
    const own = await createHome();
    const port = await freePort();
    const starting = start(['serve', '--dev', '--host', '127.0.0.1', '--workers', workers], {
      SIGNALBOX_HOME: own,
      PORT: String(port),
    });
    await until(() => starting.output().stdout.includes('Preparing PostgreSQL'), TO_START);
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(port, '127.0.0.1', resolve));
    t.after(() => other.close());
    const isOver = () => starting.child.exitCode !== null && starting.output().stderr !== '';
    await until(isOver, TO_START);
    assert.equal(starting.child.exitCode, 1);
    assert.match(starting.output().stderr, inUse(port));
    await assert.rejects(readFile(join(own, 'postgres/data/postmaster.pid')), { code: 'ENOENT' });
  }
});

test('a start that is told to stop stops in order, and leaves no PostgreSQL behind', async () => {
  const own = await createHome();
  const starting = start(['serve', '--dev'], { SIGNALBOX_HOME: own, PORT: '0' });
  await until(() => starting.output().stdout.includes('Preparing PostgreSQL'), TO_START);
  assert.equal(await starting.end('SIGTERM'), 0, starting.output().stderr);
  assert.match(starting.output().stdout, /"msg":"stopped"/);
  await assert.rejects(readFile(join(own, 'postgres/data/postmaster.pid')), { code: 'ENOENT' });
});

test('a Ctrl-C in a terminal, which initdb gets as well, ends the first start in order and without an error', async () => {
  const own = await createHome();
  const starting = start(['serve', '--dev'], { SIGNALBOX_HOME: own, PORT: '0' }, process.execPath, {
    inTerminal: true,
  });
  const postgres = join(own, 'postgres');
  const isMaking = async () =>
    (await readdir(postgres).catch(() => [])).some((name) => name.startsWith('data.new-'));
  await until(isMaking, TO_START);
  assert.equal(await starting.end('SIGINT'), 0, starting.output().stderr);
  assert.equal(starting.output().stderr, '');
  assert.match(starting.output().stdout, /"msg":"stopped"/);
  assert.equal(existsSync(join(postgres, 'data/postmaster.pid')), false);
});

test('a server that starts while a command works on the home waits for it', async () => {
  const own = { ...env, SIGNALBOX_HOME: await createHome() };
  await run(['tenant', 'create', 'acme'], own);
  const command = start(['webhooks', 'listen'], own);
  await until(() => command.output().stderr.includes('Listening'), TO_START);
  const starting = start(['serve', '--dev'], { ...own, PORT: '0' });
  await until(
    () => starting.output().stdout.includes(`Waiting for a command (process ${command.child.pid})`),
    TO_START,
  );
  assert.equal(await command.end('SIGINT'), 0);
  await until(() => starting.output().stdout.includes('"msg":"ready"'), TO_START);
  assert.equal(await starting.end(), 0);
});

test('a replay that no server could take up is refused, and a dry run counts all the same', async () => {
  const range = ['--from', '2026-01-01T00:00:00Z', '--until', '2026-01-02T00:00:00Z'];
  const { code, stdout, stderr } = await run(['webhooks', 'replay', ...range], env);
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /^Error: No server is running on this home, and none can start while a replay waits/);
  const counted = await run(['webhooks', 'replay', ...range, '--dry-run', '--json'], env);
  assert.deepEqual(JSON.parse(counted.stdout), { matched: 0, rescheduled: 0 });
});

test('a server whose terminal was closed stops in order, though nobody reads its output any more', async () => {
  const server = await serve(['--dev'], env);
  server.child.stdout!.destroy();
  server.child.stderr!.destroy();
  assert.equal(await ping(server.origin), 401);
  assert.equal(await server.end('SIGHUP'), 0);
  await assert.rejects(postmasterPid(), { code: 'ENOENT' });
});

test('a server whose log has no room goes on without it, says so once, and stops in order', {
  skip: !existsSync('/dev/full') && 'there is no full device here',
}, async () => {
  const port = await freePort();
  const full = await open('/dev/full', 'w');
  const server = start(['serve', '--dev'], { ...env, PORT: String(port) }, process.execPath, {
    stdout: full.fd,
  });
  await full.close();
  const answer = () => ping(`http://localhost:${port}`).catch(() => null);
  await until(async () => (await answer()) === 401 || server.child.exitCode !== null, TO_START);
  assert.equal(await answer(), 401, server.output().stderr);
  assert.equal(await server.end(), 0);
  assert.match(server.output().stderr, /^Error: The log cannot be written, [^\n]*ENOSPC[^\n]*\n$/);
  await assert.rejects(postmasterPid(), { code: 'ENOENT' });
});

test('another secret than the one that sealed the keys is refused in a sentence', async () => {
  const { code, stderr } = await run(['serve', '--dev'], {
    ...env,
    PORT: '0',
    SIGNALBOX_SECRET: 'not the secret of this home, for sure',
  });
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^Error: The signing key key_\w+ in the database was sealed with another secret[^\n]*\n$/,
  );
  await assert.rejects(postmasterPid(), { code: 'ENOENT' });
});

/** Writes until it is cut off, and answers the ids of all that was acknowledged. */
async function writeUntilCut(demo: Demo, written: Set<string>): Promise<void> {
  const token = await tokenOf(demo);
  const write = async () => {
    const answer = await fetch(`${demo.origin}/api/webhooks/v1/admin/subscriptions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ target_url: 'http://localhost:9/', filters: ['never.*'] }),
    });
    assert.equal(answer.status, 201);
    written.add(((await answer.json()) as { id: string }).id);
  };
  const writer = async () => {
    for (;;) await write();
  };
  await Promise.allSettled(Array.from({ length: 4 }, writer));
}

async function storedIds(demo: Demo): Promise<Set<string>> {
  const answer = await fetch(`${demo.origin}/api/webhooks/v1/admin/subscriptions`, {
    headers: { authorization: `Bearer ${await tokenOf(demo)}` },
  });
  return new Set(((await answer.json()) as { id: string }[]).map(({ id }) => id));
}

test('after kill -9 in the middle of writes, of the server or of all there is, nothing committed is missing', async () => {
  const written = new Set<string>();
  let server: RunningServer = await serve(['--dev'], env);
  for (const alsoPostgres of [false, true]) {
    const enough = written.size + 20;
    const writing = writeUntilCut(await readDemo(), written);
    await until(() => written.size >= enough);
    if (alsoPostgres) process.kill(await postmasterPid(), 'SIGKILL');
    assert.equal(await server.end('SIGKILL'), null);
    await writing;
    server = await serve(['--dev'], env);
    const stored = await storedIds(await readDemo());
    assert.deepEqual(
      [...written].filter((id) => !stored.has(id)),
      [],
    );
  }
  assert.equal(await server.end(), 0);
});
