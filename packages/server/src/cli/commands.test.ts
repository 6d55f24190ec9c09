/** How the command line speaks: help, errors, settings, and on whichever Node it is started. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { createTestDatabaseUrl } from '../testing/database.ts';
import {
  createHome,
  hasOldNode,
  OLD_NODE,
  PROGRAM,
  run,
  serve,
  start,
  TO_START,
} from '../testing/signalbox.ts';
import { until } from '../testing/wait.ts';
import { startWay } from '../testing/way.ts';

const secret = 'a secret for this test, long enough';

/** On Linux a container decides which of these the kernel says. */
const FORBIDDEN =
  /^Error: Cannot use [^:]*: (?:operation not permitted|permission denied|the file system is read-only|it is not there)[^\n]*\. Choose another home [^\n]*\n$/;

test('the help of every command says what it does, and those that create have examples', async () => {
  const { code, stdout } = await run(['--help']);
  assert.equal(code, 0);
  const commands = ['serve', 'config', 'db', 'tenant', 'org', 'oauth', 'apikey', 'sdkkey', 'keys'];
  for (const command of commands) assert.match(stdout, new RegExp(`^  ${command} .*\\w{3}`, 'm'));
  assert.match(stdout, /Examples:\n {2}\$ signalbox serve --dev/);
  const page = await readFile(new URL('../../../../docs/cli.md', import.meta.url), 'utf8');
  const listed = [...stdout.matchAll(/^ {2}([a-z]+)(?: <\w+>| \[\w+\])* {2,}/gm)].map((match) => match[1]!);
  assert.ok(listed.length > commands.length);
  for (const command of listed.filter((name) => name !== 'help')) {
    assert.match(page, new RegExp(`\`${command}[ \`]`), `docs/cli.md names ${command}`);
  }
  const withExample = [['serve'], ['db', 'migrate'], ['apikey', 'create']];
  const helps = await Promise.all(withExample.map((command) => run([...command, '--help'])));
  for (const [index, help] of helps.entries()) {
    assert.equal(help.code, 0);
    assert.match(help.stdout, /Examples?:\n {2}\$ (?:\w+=\S+ )?signalbox /, withExample[index]!.join(' '));
    assert.match(help.stdout, /--json/, 'flags of all commands are shown too');
  }
});

test('a mistake is answered with a sentence, a hint and the exit code 1', async () => {
  const url = await createTestDatabaseUrl();
  const home = await createHome();
  const withEmptySecret = await createHome();
  await writeFile(join(withEmptySecret, 'secret'), '\n');
  const withFile = await createHome();
  await writeFile(join(withFile, 'postgres'), '');
  const missing = new URL(url);
  missing.pathname = '/no_such_database';
  const readOnly = new URL(await createTestDatabaseUrl());
  readOnly.searchParams.set('default_transaction_read_only', 'on');
  const empty = new URL(await createTestDatabaseUrl({ empty: true }));
  const stranger = new URL(empty);
  stranger.searchParams.set('role', 'pg_monitor');
  const nowhere = new URL(empty);
  nowhere.searchParams.set('search_path', 'nowhere');
  const [frozen, closed] = [await startWay(url), await startWay(url)];
  frozen.freeze();
  closed.close();
  const table: [args: string[], env: Record<string, string>, stderr: RegExp][] = [
    [['tenan'], {}, /unknown command 'tenan'\n\(Did you mean tenant\?\)/],
    [['serve', '--prot', '1'], {}, /unknown option '--prot'\n\(Did you mean --port\?\)/],
    [['tenant', 'create'], {}, /missing required argument 'name'/],
    [
      ['catalog', 'import', 'x.csv', '--full', '--delta'],
      {},
      /'--delta' cannot be used with option '--full'/,
    ],
    [
      ['config', '--dev'],
      { PORT: 'http' },
      /^Error: PORT must be a whole number from 0 to 65535, not "http"\.\n$/,
    ],
    [['config', '--dev', '--port', '99999'], {}, /^Error: --port must be a whole number/],
    [
      ['serve', '--dev'],
      { SIGNALBOX_REGON: 'eu' },
      /SIGNALBOX_REGON is not a setting of Signalbox; did you mean SIGNALBOX_REGION\?/,
    ],
    [['tenant', 'list'], { LOG_LEVEL: 'loud' }, /LOG_LEVEL must be one of trace, debug/],
    [
      ['serve'],
      {},
      /^Error: SIGNALBOX_SECRET is required in production; `openssl rand -base64 32` makes one\.\n$/,
    ],
    [['serve'], { SIGNALBOX_SECRET: 'short' }, /^Error: SIGNALBOX_SECRET must have at least 32 characters/],
    [
      ['tenant', 'list'],
      { DATABASE_URL: 'postgres://127.0.0.1:1/x' },
      /^Error: No database answers at 127\.0\.0\.1:1: is DATABASE_URL right\?\n$/,
    ],
    [
      ['tenant', 'list'],
      { DATABASE_URL: 'postgres://no-such-host.invalid/x' },
      /^Error: There is no host no-such-host\.invalid: is DATABASE_URL right\?\n$/,
    ],
    [
      ['tenant', 'list'],
      { DATABASE_URL: missing.href },
      /^Error: The database refuses: database "no_such_database" does not exist\. Is DATABASE_URL right\?\n$/,
    ],
    [
      ['tenant', 'list'],
      { DATABASE_URL: `${missing.href}&sslmode=require` },
      /^Error: No TLS with the database: the server does not speak TLS\. Is sslmode in DATABASE_URL right/,
    ],
    [
      ['tenant', 'create', 'acme'],
      { DATABASE_URL: readOnly.href },
      /^Error: The database cannot do this now: cannot execute \w+( \w+)? in a read-only transaction\.\n$/,
    ],
    [
      ['tenant', 'list'],
      { DATABASE_URL: stranger.href },
      /^Error: The database refuses: permission denied for schema public\. The role of DATABASE_URL must own [^\n]*\n$/,
    ],
    [
      ['tenant', 'list'],
      { DATABASE_URL: nowhere.href },
      /^Error: The database refuses: no schema has been selected to create in\. Is there a schema [^\n]*\n$/,
    ],
    [
      ['tenant', 'list'],
      { DATABASE_URL: `${frozen.url}?connect_timeout=1` },
      /^Error: No database answers at 127\.0\.0\.1:\d+: is DATABASE_URL right\?\n$/,
    ],
    [
      ['tenant', 'list'],
      { DATABASE_URL: closed.url },
      /^Error: The connection to the database was lost: [a-z]+ ECONNRESET.*\. What was begun may not be done\.\n$/,
    ],
    [
      ['serve', '--dev', '--port', '0', '--host', '203.0.113.9'],
      { DATABASE_URL: url, SIGNALBOX_HOME: home, LOG_LEVEL: 'warn' },
      /^Error: This machine has no address 203\.0\.113\.9: choose another with --host\.\n$/,
    ],
    [
      ['serve', '--dev'],
      { SIGNALBOX_HOME: join(PROGRAM, 'home') },
      /^Error: Cannot use .*signalbox\.js\/home: a file stands where a directory is needed\. Choose another home [^\n]*\n$/,
    ],
    [
      ['serve', '--dev'],
      { SIGNALBOX_HOME: PROGRAM },
      /^Error: Cannot use .*signalbox\.js: a file stands where a directory is needed\. Choose another home [^\n]*\n$/,
    ],
    [
      ['tenant', 'list'],
      { SIGNALBOX_HOME: PROGRAM },
      /^Error: Cannot use .*signalbox\.js: a file stands where a directory is needed\. Choose another home [^\n]*\n$/,
    ],
    [
      ['serve', '--dev'],
      { SIGNALBOX_HOME: withEmptySecret },
      /^Error: [^\n]*secret is empty: restore it from a backup, or remove it [^\n]*\n$/,
    ],
    [
      ['tenant', 'list'],
      { SIGNALBOX_HOME: withEmptySecret },
      /^Error: [^\n]*secret is empty: restore it from a backup, or remove it [^\n]*\n$/,
    ],
    [
      ['tenant', 'list'],
      { SIGNALBOX_HOME: withFile },
      /^Error: Cannot use .*\/postgres for PostgreSQL: a file stands where a directory is needed\.\n$/,
    ],
    // Nobody, root included, can make a folder there.
    ...(process.platform === 'linux'
      ? ([
          [['serve', '--dev'], { SIGNALBOX_HOME: '/sys/signalbox' }, FORBIDDEN],
          [['tenant', 'list'], { SIGNALBOX_HOME: '/sys/signalbox/home' }, FORBIDDEN],
          [['tenant', 'list'], { SIGNALBOX_HOME: '/proc/signalbox/home' }, FORBIDDEN],
        ] as [string[], Record<string, string>, RegExp][])
      : []),
    [
      ['tenant', 'list'],
      { DATABASE_URL: 'mysql://x/y' },
      /^Error: DATABASE_URL must be an address such as postgres:/,
    ],
  ];
  const results = await Promise.all(
    table.map(async ([args, env]) => run(args, { SIGNALBOX_HOME: join(tmpdir(), 'never-made'), ...env })),
  );
  for (const [index, { code, stdout, stderr }] of results.entries()) {
    const [args, , expected] = table[index]!;
    assert.equal(code, 1, `${args.join(' ')}: ${stderr}`);
    assert.match(stderr, expected, args.join(' '));
    assert.equal(stdout, '', args.join(' '));
  }
  assert.ok(!existsSync(join(tmpdir(), 'never-made')), 'a command that cannot start leaves nothing behind');
  assert.deepEqual(await readdir(withEmptySecret), ['secret'], 'no PostgreSQL is started first');
});

test('config prints what is in force, flags before the environment, secrets masked', async () => {
  const env = {
    PORT: '1',
    SIGNALBOX_SECRET: secret,
    DATABASE_URL: 'postgres://u:hunter2@db/x',
    SIGNALBOX_ROLES: 'api,worker',
  };
  const { code, stdout, stderr } = await run(['config', '--port', '9000', '--json'], env);
  assert.deepEqual([code, stderr], [0, '']);
  const settings = JSON.parse(stdout) as Record<string, unknown>;
  assert.equal(settings.MODE, 'production');
  assert.equal(settings.PORT, 9000);
  assert.equal(settings.PUBLIC_URL, 'http://localhost:9000');
  assert.deepEqual(settings.SIGNALBOX_ROLES, ['api', 'worker']);
  assert.equal(settings.SIGNALBOX_SECRET, '********');
  const text = await run(['config', '--port', '9000'], env);
  assert.match(text.stdout, /^PORT +9000$/m);
  for (const output of [stdout, text.stdout]) assert.doesNotMatch(output, /hunter2|a secret for this test/);
});

test('db migrate brings an empty database up to date, db status tells when, and both can be repeated', async () => {
  const env = {
    DATABASE_URL: await createTestDatabaseUrl({ empty: true }),
    SIGNALBOX_HOME: await createHome(),
  };
  const read = async (...args: string[]) => JSON.parse((await run([...args, '--json'], env)).stdout);
  const before = (await read('db', 'status')) as {
    version: number;
    name: string;
    appliedAt: string | null;
  }[];
  assert.ok(before.length > 0 && before.every(({ appliedAt }) => appliedAt === null));
  assert.deepEqual(await read('db', 'migrate'), { applied: before.length });
  assert.deepEqual(await read('db', 'migrate'), { applied: 0 });
  const after = (await read('db', 'status')) as typeof before;
  assert.ok(after.every(({ appliedAt }) => Date.parse(appliedAt!) > 0));
  const table = await run(['db', 'status'], env);
  assert.match(table.stdout, /^version +name +appliedAt\n1 +queue +\d{4}-/);
  assert.equal(table.stderr, '');
});

test('in production on a database of its own nothing is written to a home, which may not even be possible', async () => {
  const settings = {
    DATABASE_URL: await createTestDatabaseUrl(),
    SIGNALBOX_SECRET: secret,
    SIGNALBOX_HOME: join(PROGRAM, 'home'),
  };
  const server = await serve([], settings);
  assert.equal((await fetch(`${server.origin}/readyz`)).status, 200);
  assert.equal(await server.end('SIGTERM'), 0);
});

test('an older Node hands over to the pinned one, with arguments, output, signals and exit code', {
  skip: !hasOldNode && 'there is no older Node here',
}, async () => {
  const good = await run(['config', '--dev', '--json', '--port', '9001'], {}, OLD_NODE);
  assert.deepEqual([good.code, good.stderr, JSON.parse(good.stdout).PORT], [0, '', 9001]);
  const bad = await run(['serve'], {}, OLD_NODE);
  assert.equal(bad.code, 1);
  assert.match(bad.stderr, /SIGNALBOX_SECRET is required/);

  const settings = {
    DATABASE_URL: await createTestDatabaseUrl(),
    SIGNALBOX_SECRET: secret,
    SIGNALBOX_HOME: await createHome(),
  };
  const server = await serve(['--roles', 'api'], settings, OLD_NODE);
  assert.equal((await fetch(`${server.origin}/readyz`)).status, 200);
  assert.equal(await server.end('SIGTERM'), 0);
  assert.equal(server.lines().at(-1)?.msg, 'stopped', 'the signal was passed on');
});

test('an older Node without a pinned one beside it says what to do', {
  skip: !hasOldNode && 'there is no older Node here',
}, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-alone-'));
  t.after(() => rm(folder, { recursive: true }));
  await cp(dirname(PROGRAM), join(folder, 'bin'), { recursive: true });
  const { status, stderr } = spawnSync(
    OLD_NODE,
    ['--experimental-default-type=module', join(folder, 'bin/signalbox.js')],
    { encoding: 'utf8' },
  );
  assert.equal(status, 1);
  assert.match(stderr, /Signalbox needs Node 24 or newer; this is v\d+/);
});

test('a command whose output nobody reads does its work all the same, without a word', async () => {
  const env = { DATABASE_URL: await createTestDatabaseUrl(), SIGNALBOX_HOME: await createHome() };
  const command = start(['tenant', 'create', 'unread'], env);
  command.child.stdout!.destroy();
  const [code] = await once(command.child, 'close');
  assert.deepEqual([code, command.output().stderr], [0, '']);
  const { stdout } = await run(['tenant', 'list', '--json'], env);
  assert.deepEqual(
    JSON.parse(stdout).map(({ name }: { name: string }) => name),
    ['unread'],
  );
});

test('a command whose result has no room fails in a sentence, and stops the PostgreSQL that it started', {
  skip: !existsSync('/dev/full') && 'there is no full device here',
}, async () => {
  const home = await createHome();
  const full = await open('/dev/full', 'w');
  const command = start(['tenant', 'create', 'acme'], { SIGNALBOX_HOME: home }, process.execPath, {
    stdout: full.fd,
  });
  const [code] = await once(command.child, 'close');
  await full.close();
  assert.equal(code, 1);
  assert.match(command.output().stderr, /^Error: The result cannot be written: ENOSPC: [^\n]*\n$/);
  assert.equal(existsSync(join(home, 'postgres/data/postmaster.pid')), false);
});

test('commands that come at the same time share PostgreSQL: none is refused or cut short, and the last one stops it', async () => {
  const home = await createHome();
  const names = ['a', 'b', 'c', 'd'];
  const all = (args: (name: string) => string[]) =>
    Promise.all(names.map((name) => run(args(name), { SIGNALBOX_HOME: home })));
  const created = await all((name) => ['tenant', 'create', name]);
  const extended = await all((name) => ['org', 'create', 'main', '--tenant', name]);
  for (const { code, stderr } of [...created, ...extended]) assert.deepEqual([code, stderr], [0, '']);
  await assert.rejects(readFile(join(home, 'postgres/data/postmaster.pid')), { code: 'ENOENT' });
});

test('a command that is interrupted, or whose terminal is closed, stops the PostgreSQL that it started', async () => {
  async function interrupted(signal: NodeJS.Signals, code: number): Promise<void> {
    const home = await createHome();
    const pidFile = join(home, 'postgres/data/postmaster.pid');
    const command = start(['tenant', 'create', 'acme'], { SIGNALBOX_HOME: home });
    await until(() => existsSync(pidFile), TO_START);
    assert.equal(await command.end(signal), code);
    assert.deepEqual(command.output(), { stdout: '', stderr: '' });
    assert.equal(existsSync(pidFile), false, signal);
  }
  await Promise.all([interrupted('SIGINT', 130), interrupted('SIGHUP', 129)]);
});

test('a Ctrl-C in a terminal ends the first command on a home while PostgreSQL is made, without a word', async () => {
  const home = await createHome();
  const postgres = join(home, 'postgres');
  const command = start(['tenant', 'create', 'acme'], { SIGNALBOX_HOME: home }, process.execPath, {
    inTerminal: true,
  });
  const isMaking = async () =>
    (await readdir(postgres).catch(() => [])).some((name) => name.startsWith('data.new-'));
  await until(isMaking, TO_START);
  assert.equal(await command.end('SIGINT'), 130);
  assert.deepEqual(command.output(), { stdout: '', stderr: '' });
  assert.equal(existsSync(join(postgres, 'data/postmaster.pid')), false);
});

test('a Ctrl-C that also comes through the older Node that handed over is one Ctrl-C', {
  skip: !hasOldNode && 'there is no older Node here',
}, async () => {
  const home = await createHome();
  const pidFile = join(home, 'postgres/data/postmaster.pid');
  const env = { SIGNALBOX_HOME: home };
  const command = start(['tenant', 'create', 'acme'], env, OLD_NODE, { inTerminal: true });
  await until(() => existsSync(pidFile), TO_START);
  assert.equal(await command.end('SIGINT'), 130);
  assert.equal(existsSync(pidFile), false);
});
