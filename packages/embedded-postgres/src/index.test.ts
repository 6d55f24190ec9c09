import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import postgres from 'postgres';
import { atEnd } from '../../server/src/testing/at-end.ts';
import { PostgresStartError, PostgresStorageError, PostgresVersionError } from './errors.ts';
import { connect } from './fixtures/connect.ts';
import { query, scratchDirectory, spawnHolder, start } from './fixtures/scratch.ts';
import { HomeInUseError, startEmbeddedPostgres, throwawaySettings } from './index.ts';
import { RECOVERING } from './process/postmaster.ts';
import { hasEnded } from './process/processes.ts';
import { until } from './sharing/waiting.ts';

const windows = process.platform === 'win32';

const addRow = (url: string, id: number) =>
  query(url, async (sql) => {
    await sql`CREATE TABLE IF NOT EXISTS kept (id int PRIMARY KEY)`;
    await sql`INSERT INTO kept VALUES (${id})`;
  });
const rows = (url: string) =>
  query(url, async (sql) => (await sql`SELECT id FROM kept ORDER BY id`).map(({ id }) => id));

const gone = (pid: number) =>
  until({ check: async () => (await hasEnded(pid)) || undefined, withinMs: 60_000 });

test('a cluster is made, kept private, stopped, and started again with its data at the same address', async () => {
  const home = await scratchDirectory();
  const directory = join(home, 'postgres');
  const first = await start({ directory });
  assert.deepEqual(first.progress, ['Preparing PostgreSQL 18 (first start only)…']);
  assert.match(
    first.url,
    new RegExp(`^postgres://signalbox:[0-9a-f]{48}@127\\.0\\.0\\.1:${first.port}/signalbox$`),
  );
  assert.equal(first.reused, false);
  await addRow(first.url, 1);

  const [facts] = await query(
    first.url,
    (sql) => sql`
      SELECT current_setting('listen_addresses') AS listen, current_setting('unix_socket_directories') AS sockets,
             current_setting('server_encoding') AS encoding, current_setting('synchronous_commit') AS commit,
             current_setting('max_connections') AS connections, current_setting('fsync') AS fsync,
             rolsuper AS super, rolcreatedb AS createdb FROM pg_roles WHERE rolname = current_user`,
  );
  assert.deepEqual(
    { ...facts },
    {
      listen: '127.0.0.1',
      sockets: '',
      encoding: 'UTF8',
      commit: 'on',
      connections: '200',
      fsync: 'off',
      super: false,
      createdb: true,
    },
  );
  const wrong = first.url.replace(/:[0-9a-f]{48}@/, ':wrong@');
  await assert.rejects(rows(wrong), { code: '28P01' });
  if (!windows) {
    assert.equal((await stat(directory)).mode & 0o777, 0o700);
    for (const name of ['cluster.json', 'postgres.log']) {
      assert.equal((await stat(join(directory, name))).mode & 0o777, 0o600, name);
    }
  }

  await Promise.all([first.stop(), first.stop()]);
  assert.ok(await hasEnded(first.pid));
  const second = await start({ directory });
  assert.deepEqual(second.progress, ['Starting PostgreSQL 18…']);
  assert.equal(second.url, first.url);
  assert.deepEqual(await rows(second.url), [1]);

  await second.stop();
  const squatter = createServer().listen(second.port, '127.0.0.1');
  await once(squatter, 'listening');
  atEnd(() => squatter.close());
  const third = await start({ directory });
  assert.notEqual(third.port, second.port);
  assert.deepEqual(await rows(third.url), [1]);
});

test('what was committed before a kill -9 of the server is there after it, and ten heirs at once leave one', async () => {
  const directory = join(await scratchDirectory(), 'postgres');
  const server = spawnHolder({ directory });
  server.go();
  const left = await server.says('started');
  await addRow(left.url, 1);
  await assert.rejects(startEmbeddedPostgres({ connect, directory }), (error) => {
    assert.ok(error instanceof HomeInUseError);
    assert.equal(error.pid, server.pid);
    return true;
  });
  await server.killGroup();
  assert.deepEqual(await rows(left.url), [1], 'PostgreSQL was not in the process group that was killed');

  const heirs = Array.from({ length: 10 }, () => spawnHolder({ directory }));
  await Promise.all(heirs.map((heir) => heir.says('loaded')));
  for (const heir of heirs) heir.go();
  const outcomes = await Promise.all(
    heirs.map((heir) =>
      Promise.any([
        heir.says('started').then((started) => ({ heir, started, refused: undefined })),
        heir.says('refused').then((refused) => ({ heir, started: undefined, refused })),
      ]),
    ),
  );
  const winners = outcomes.filter(({ started }) => started !== undefined);
  assert.equal(winners.length, 1);
  const [winner] = winners;
  assert.deepEqual(winner?.started, { ...left, reused: true });
  for (const { refused } of outcomes.filter(({ started }) => started === undefined)) {
    assert.deepEqual([refused?.name, refused?.pid], ['HomeInUseError', winner?.heir.pid]);
  }

  await winner?.heir.finish();
  assert.ok(await gone(left.pid), 'the heir stops what it did not start');
  const after = await start({ directory });
  assert.equal(after.reused, false);
  assert.equal(after.url, left.url);
  assert.deepEqual(await rows(after.url), [1]);
});

test('a PostgreSQL that is stopping is waited for, and then started anew', { skip: windows }, async () => {
  const directory = join(await scratchDirectory(), 'postgres');
  const server = spawnHolder({ directory });
  server.go();
  const left = await server.says('started');
  await addRow(left.url, 1);
  await server.killGroup();
  const client = postgres(left.url, { max: 1 });
  atEnd(() => client.end({ timeout: 1 }));
  await client`SELECT 1`;
  // A "smart" shutdown, which lasts as long as a client stays.
  process.kill(left.pid, 'SIGTERM');
  const status = () => readFile(join(directory, 'data', 'postmaster.pid'), 'utf8');
  await until({
    check: async () => ((await status()).includes('stopping') ? true : undefined),
    withinMs: 60_000,
  });

  const next = await start({
    directory,
    onProgress: (sentence) => {
      if (sentence.startsWith('Waiting')) client.end({ timeout: 0 });
    },
  });
  // Its processes may outlive it for a moment, and are then waited for too.
  assert.equal(next.progress[0], 'Waiting for the earlier PostgreSQL to stop…');
  assert.equal(next.progress.at(-1), 'Starting PostgreSQL 18…');
  assert.equal(next.reused, false);
  assert.notEqual(next.pid, left.pid);
  assert.deepEqual(await rows(next.url), [1]);
});

test('after a kill -9 of PostgreSQL itself the next start recovers, even from a backend that hangs', {
  skip: windows,
}, async () => {
  const directory = join(await scratchDirectory(), 'postgres');
  const server = spawnHolder({ directory });
  server.go();
  const left = await server.says('started');
  await addRow(left.url, 1);
  const client = postgres(left.url, { max: 1 });
  atEnd(() => client.end({ timeout: 0 }));
  const [backend] = await client<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
  const hanging = backend?.pid ?? 0;
  process.kill(hanging, 'SIGSTOP');
  process.kill(left.pid, 'SIGKILL');
  await server.killGroup();
  assert.ok(await gone(left.pid));

  const next = await start({ directory });
  assert.equal(next.progress[0], 'Waiting for what is left of an earlier PostgreSQL to end…');
  assert.ok(await gone(hanging));
  assert.equal(next.reused, false);
  assert.deepEqual(await rows(next.url), [1]);
  assert.ok((await readFile(join(directory, 'postgres.log'), 'utf8')).includes(RECOVERING));
});

test('a PostgreSQL that is killed under a running server is started again, with its data at its address', {
  skip: windows,
}, async () => {
  const directory = join(await scratchDirectory(), 'postgres');
  const troubles: string[] = [];
  const levels = new Set<string>();
  const running = await startEmbeddedPostgres({
    connect,
    directory,
    settings: throwawaySettings,
    onTrouble(sentence, level) {
      troubles.push(sentence);
      levels.add(level);
    },
  });
  atEnd(() => running.stop());
  await addRow(running.url, 1);
  for (const round of [1, 2]) {
    const before = running.pid;
    process.kill(before, 'SIGKILL');
    await until({ check: () => (running.pid === before ? undefined : true), withinMs: 60_000 });
    assert.deepEqual(await rows(running.url), [1]);
    assert.ok(await gone(before), `round ${round}`);
  }
  const said = (part: string) => troubles.filter((sentence) => sentence.includes(part)).length;
  assert.deepEqual([said('has ended'), said('runs again')], [2, 2]);
  assert.deepEqual([...levels].sort(), ['info', 'warn'], 'no error: it mends itself');
  const last = running.pid;
  await running.stop();
  assert.ok(await gone(last), 'and stops when it is told to');
});

test('a PostgreSQL whose data is away is not made anew: it waits, and goes on where it was', {
  skip: windows,
}, async () => {
  const directory = join(await scratchDirectory(), 'postgres');
  const [data, away] = [join(directory, 'data'), join(directory, 'away')];
  const troubles: string[] = [];
  const running = await start({ directory, onTrouble: (sentence) => troubles.push(sentence) });
  await addRow(running.url, 1);
  await rename(data, away);
  process.kill(running.pid, 'SIGKILL');
  const heard = (part: string) =>
    until({
      check: () => troubles.some((sentence) => sentence.includes(part)) || undefined,
      withinMs: 30_000,
    });
  assert.ok(await heard(`${data}, the data directory of PostgreSQL, is gone. Put it back.`));
  assert.ok(!(await readdir(directory)).some((name) => name.startsWith('data')));
  await rename(away, data);
  assert.ok(await heard('runs again'));
  assert.deepEqual(await rows(running.url), [1]);
});

test('a leftover postmaster.pid does not stand in the way, unless somebody else runs a PostgreSQL here', {
  skip: windows,
}, async () => {
  const directory = join(await scratchDirectory(), 'postgres');
  const file = join(directory, 'data', 'postmaster.pid');
  const stranger = spawn('sleep', ['60'], { stdio: 'ignore' });
  atEnd(() => stranger.kill());
  const dead = spawn('true');
  await once(dead, 'exit');

  const first = await start({ directory });
  await addRow(first.url, 1);
  const genuine = await readFile(file, 'utf8');
  const withPid = (pid: number | undefined) => [pid, ...genuine.split('\n').slice(1)].join('\n');
  await first.stop();
  for (const [name, text] of Object.entries({
    'of a dead process': withPid(dead.pid),
    'whose pid somebody else has now': withPid(stranger.pid),
    'that is empty': '',
  })) {
    await writeFile(file, text);
    const next = await start({ directory });
    assert.equal(next.reused, false, name);
    assert.deepEqual(await rows(next.url), [1], name);
    await next.stop();
  }

  // The name of a program that works in the data directory is what makes it a PostgreSQL here.
  const foreign = spawn('sleep', ['60'], {
    stdio: 'ignore',
    cwd: join(directory, 'data'),
    argv0: '/usr/lib/postgresql/18/bin/postgres',
  });
  atEnd(() => foreign.kill());
  await once(foreign, 'spawn');
  if (process.platform === 'linux') {
    await writeFile(file, withPid(foreign.pid));
    await assert.rejects(startEmbeddedPostgres({ connect, directory }), (error) => {
      assert.ok(error instanceof PostgresStartError);
      assert.match(error.message, new RegExp(`process ${foreign.pid}\\)`));
      return true;
    });
    assert.equal(await readFile(file, 'utf8'), withPid(foreign.pid));
  }
});

function tell(pid: number, signal: 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, signal);
  } catch {
    // One that has ended needs no telling.
  }
}

/** The processes of the cluster stand still meanwhile: while they work, files change and vanish. */
async function copyRunning(
  { url, pid }: { url: string; pid: number },
  from: string,
  to: string,
): Promise<void> {
  const pids = [pid];
  await query(url, async (sql) => {
    await sql`SELECT 1`; // connected while the postmaster still answers
    try {
      tell(pid, 'SIGSTOP'); // before the others, so that no more of them come
      const others = await sql`SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()`;
      pids.push(...others.map((other) => Number(other.pid)));
      for (const one of pids) tell(one, 'SIGSTOP');
      await cp(from, to, { recursive: true });
    } finally {
      for (const one of pids) tell(one, 'SIGCONT');
    }
  });
}

test('a copy of a running home is a cluster of its own', { skip: windows }, async () => {
  const home = await scratchDirectory();
  const original = await start({ directory: join(home, 'postgres') });
  await addRow(original.url, 1);
  await copyRunning(original, join(home, 'postgres'), join(home, 'copy'));
  const copy = await start({ directory: join(home, 'copy') });
  assert.equal(copy.reused, false);
  assert.notEqual(copy.port, original.port);
  await addRow(copy.url, 2);
  assert.deepEqual(await rows(original.url), [1]);
  assert.deepEqual(await rows(copy.url), [1, 2]);
});

test('a first start that was interrupted is done again', async () => {
  const directory = join(await scratchDirectory(), 'postgres');
  const server = spawnHolder({ directory });
  server.go();
  assert.match(await server.says('progress'), /^Preparing/);
  await until({
    check: async () =>
      (await readdir(directory)).some((name) => name.startsWith('data.')) ? true : undefined,
    withinMs: 60_000,
  });
  await server.killGroup();
  assert.ok(!(await readdir(directory)).includes('data'));

  const next = await start({ directory });
  await addRow(next.url, 1);
  assert.deepEqual(
    (await readdir(directory)).filter((name) => name.startsWith('data')),
    ['data'],
  );
});

test('a start that fails says what PostgreSQL said, and leaves the home free', async () => {
  const directory = join(await scratchDirectory(), 'postgres');
  const settings = { ...throwawaySettings, shared_buffers: 'plenty' };
  await assert.rejects(startEmbeddedPostgres({ connect, directory, settings }), (error) => {
    assert.ok(error instanceof PostgresStartError);
    assert.match(error.logTail, /invalid value for parameter "shared_buffers": "plenty"/);
    assert.ok(error.message.includes(error.logTail));
    return true;
  });
  const next = await start({ directory });
  await addRow(next.url, 1);
});

test('what is not a data directory of this version is refused and not touched', async () => {
  const directory = join(await scratchDirectory(), 'postgres');
  const data = join(directory, 'data');
  await mkdir(data, { recursive: true });
  await writeFile(join(data, 'PG_VERSION'), '17\n');
  await assert.rejects(startEmbeddedPostgres({ connect, directory }), (error) => {
    assert.ok(error instanceof PostgresVersionError);
    assert.deepEqual([error.found, error.expected], ['17', '18']);
    return true;
  });
  assert.deepEqual(await readdir(data), ['PG_VERSION']);

  const other = join(await scratchDirectory(), 'postgres');
  await mkdir(join(other, 'data'), { recursive: true });
  await writeFile(join(other, 'data', 'letters.txt'), 'dear');
  await assert.rejects(startEmbeddedPostgres({ connect, directory: other }), PostgresStorageError);
  assert.deepEqual(await readdir(join(other, 'data')), ['letters.txt']);

  const blocked = join(await scratchDirectory(), 'file');
  await writeFile(blocked, '');
  await assert.rejects(
    startEmbeddedPostgres({ connect, directory: join(blocked, 'postgres') }),
    PostgresStorageError,
  );
});
