import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { atEnd } from '../../testing/at-end.ts';
import { createTestDatabaseUrl } from '../../testing/database.ts';
import { until } from '../../testing/wait.ts';
import { startWay } from '../../testing/way.ts';
import { openDatabase } from './database.ts';

const way = await startWay(await createTestDatabaseUrl({ empty: true }));
const CONNECTIONS = 4;
const db = openDatabase({ url: way.url, connections: CONNECTIONS });
atEnd(() => db.close());

test('connections that are cut again and again under load fail their work, and nothing else', {
  timeout: 60_000,
}, async () => {
  const outcomes = { done: 0, lost: 0, wrong: 0 };
  let cuts = 0;
  const work = [
    async (n: number) => (await db.sql<{ n: number }[]>`select ${n}::int as n`)[0]!.n,
    (n: number) =>
      db.transaction(async ({ sql }) => {
        await sql`select ${n + 1}::int as n`;
        return (await sql<{ n: number }[]>`select ${n}::int as n`)[0]!.n;
      }),
  ];
  async function worker(position: number): Promise<void> {
    for (let n = position; cuts < 40; n += 100) {
      try {
        if ((await work[position % work.length]!(n)) === n) outcomes.done += 1;
        else outcomes.wrong += 1;
      } catch {
        outcomes.lost += 1;
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
  }
  const workers = Array.from({ length: 16 }, (_, position) => worker(position));
  while (cuts < 40) {
    const before = outcomes.done;
    await until(() => outcomes.done > before + 5, { what: 'work goes on after a cut' });
    way.cut(cuts % 2 === 0);
    cuts += 1;
  }
  await Promise.all(workers);
  assert.ok(outcomes.lost > 0);
  assert.equal(outcomes.wrong, 0);
  const answers = await Promise.all(
    Array.from({ length: 10 * CONNECTIONS }, async (_, n) => (await db.sql`select ${n}::int as n`)[0]!.n),
  );
  assert.deepEqual(answers, [...answers.keys()]);
});

test('what a transaction does after it has lost its connection happens nowhere', async () => {
  await db.sql`create table notes (n int)`;
  const [written, lost] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let late: Promise<unknown> | undefined;
  const transaction = db.transaction(async ({ sql }) => {
    await sql`insert into notes values (1)`;
    written.resolve();
    await lost.promise;
    late = sql`insert into notes values (2)`.execute();
    await late;
  });
  const outcome = assert.rejects(transaction);
  await written.promise;
  way.cut(true);
  await outcome;
  // All connections are there again, also the one that the transaction had.
  await until(async () => {
    const answers = await Promise.allSettled(
      Array.from({ length: CONNECTIONS }, () => db.sql`select pg_sleep(0.05)`),
    );
    return answers.every(({ status }) => status === 'fulfilled');
  });
  lost.resolve();
  await until(() => late !== undefined);
  await assert.rejects(late!);
  assert.deepEqual([...(await db.sql`select n from notes`)], []);
});

const isAsleep = async (database: string) => {
  const asleep =
    await db.sql`select from pg_stat_activity where datname = ${database} and wait_event = 'PgSleep'`;
  return asleep.length > 0;
};
const databaseOf = (url: string) => new URL(url).pathname.slice(1);

test('work after a connection that was ended in the middle of a statement goes on', async () => {
  const { sql } = openDatabase({ url: way.url, connections: 1 });
  await assert.rejects(sql`select pg_terminate_backend(pg_backend_pid())`);
  assert.deepEqual([...(await sql`select 1 as n`)], [{ n: 1 }]);
  await sql.end();
});

test('a session that has lost its connection refuses what comes after, and leaves the pool in order', {
  timeout: 60_000,
}, async () => {
  const { sql } = openDatabase({ url: way.url, connections: 1 });
  const session = await sql.reserve();
  await assert.rejects(session`select pg_terminate_backend(pg_backend_pid())`);
  await assert.rejects(session`rollback`, { code: 'CONNECTION_CLOSED' });
  session.release();
  assert.deepEqual([...(await sql`select 1 as n`)], [{ n: 1 }]);
  const another = await sql.reserve();
  assert.deepEqual([...(await another`select 2 as n`)], [{ n: 2 }]);
  another.release();
  assert.deepEqual([...(await sql`select 3 as n`)], [{ n: 3 }]);
  await sql.end();
});

test('a cursor whose connection is lost between two rows fails, and can be left', {
  timeout: 60_000,
}, async () => {
  const { sql } = openDatabase({ url: way.url, connections: 1 });
  /** Reads until its connection is lost; then asks for more, or leaves. */
  async function read({ leave }: { leave: boolean }): Promise<void> {
    for await (const [row] of sql`select g, pg_backend_pid() as pid from generate_series(1, 9) g`.cursor(1)) {
      if (row!.g < 3) continue;
      await db.sql`select pg_terminate_backend(${row!.pid})`;
      await until(async () => (await sql`select 1`.catch(() => [])).length > 0);
      if (leave) break;
    }
  }
  await assert.rejects(read({ leave: false }), { code: 'CONNECTION_CLOSED' });
  await read({ leave: true });
  assert.deepEqual([...(await sql`select 1 as n`)], [{ n: 1 }]);
  await sql.end();
});

test('work on a database that is gone is refused', { timeout: 60_000 }, async () => {
  const url = await createTestDatabaseUrl({ empty: true });
  const { sql } = openDatabase({ url, connections: 1 });
  const cutShort = assert.rejects(sql`select pg_sleep(600)`);
  await until(() => isAsleep(databaseOf(url)));
  await db.sql.unsafe(`drop database ${databaseOf(url)} with (force)`);
  await cutShort;
  await assert.rejects(sql`select 1`, { code: '3D000' });
  await sql.end();
});

test('a pool that waits for its last statement ends when that one is lost', { timeout: 60_000 }, async () => {
  const { sql } = openDatabase({ url: way.url, connections: 1 });
  const cutShort = assert.rejects(sql`select pg_sleep(600)`);
  await until(() => isAsleep(databaseOf(way.url)));
  const ended = sql.end();
  way.cut(false);
  await Promise.all([cutShort, ended]);
});

test('a pool that ends while a connection waits to be made again lets its process end', {
  timeout: 60_000,
}, async () => {
  const fixture = fileURLToPath(new URL('./connection/ended-early.fixture.ts', import.meta.url));
  const child = spawn(process.execPath, [fixture, way.url], { stdio: 'inherit' });
  atEnd(() => child.kill('SIGKILL'));
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});

test('a pool that ends at any moment of its first connection leaves none behind', async () => {
  let made = 0;
  const open = new Set<net.Socket>();
  const silent = net.createServer((socket) => {
    made += 1;
    open.add(
      socket
        .on('error', () => {})
        .on('close', () => open.delete(socket))
        .resume(),
    );
  });
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  atEnd(() => silent.close());
  const url = `postgres://127.0.0.1:${(silent.address() as net.AddressInfo).port}/none`;
  for (let turns = 0; turns < 30; turns++) {
    const { sql } = openDatabase({ url, connections: 1 });
    const refused = assert.rejects(sql`select 1`);
    for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
    await Promise.all([sql.end({ timeout: 0 }), refused]);
  }
  assert.ok(made > 0);
  await until(() => open.size === 0, { what: 'no connection is left' });
});

/** A way to PostgreSQL that lets through as many connections as it is told, and resets the others. */
async function startNarrowWay(url: string, width: number) {
  const { hostname, port } = new URL(url);
  const made = { through: 0, refused: 0 };
  const server = net.createServer((near) => {
    near.on('error', () => {});
    if (made.through === width) {
      made.refused += 1;
      near.resetAndDestroy();
      return;
    }
    made.through += 1;
    const far = net.connect(Number(port), hostname).on('error', () => near.destroy());
    near.on('close', () => far.destroy());
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(() => server.close());
  const here = new URL(url);
  here.host = `127.0.0.1:${(server.address() as net.AddressInfo).port}`;
  return { url: here.href, made };
}

test('when no connection can be made, all who wait for one are told, and not one after the other', async () => {
  const closed = await startWay(way.url);
  closed.close();
  const { sql } = openDatabase({ url: closed.url, connections: 2 });
  const statements = Array.from({ length: 50 }, () => assert.rejects(sql`select 1`, { code: 'ECONNRESET' }));
  await Promise.all(statements);
  assert.ok(closed.asked() < 10, `${closed.asked()} connections for 50 statements`);
  await sql.end();
});

test('connections that are taken and ended without a word are refusals, and not tried for ever', {
  timeout: 60_000,
}, async () => {
  let made = 0;
  const nobody = net.createServer((socket) => {
    made += 1;
    socket.on('error', () => {}).end();
  });
  await new Promise<void>((resolve) => nobody.listen(0, '127.0.0.1', resolve));
  atEnd(() => nobody.close());
  const url = `postgres://127.0.0.1:${(nobody.address() as net.AddressInfo).port}/none`;
  const { sql } = openDatabase({ url, connections: 2 });
  const refused = { code: /^(CONNECTION_CLOSED|ECONNRESET|EPIPE)$/ };
  await Promise.all(Array.from({ length: 50 }, () => assert.rejects(sql`select 1`, refused)));
  assert.ok(made < 10, `${made} connections for 50 statements`);
  await sql.end();
});

test('when some connections cannot be made, the others serve those who wait', async () => {
  const narrow = await startNarrowWay(way.url, 1);
  const { sql } = openDatabase({ url: narrow.url, connections: 4 });
  const answers = await Promise.allSettled(Array.from({ length: 50 }, () => sql`select 1`));
  const done = answers.filter(({ status }) => status === 'fulfilled').length;
  assert.ok(narrow.made.refused > 0);
  assert.ok(done > 25, `${done} of 50 done`);
  await sql.end();
});

test('an outage that is over says nothing about a connection that is lost later', async () => {
  const open = await startWay(way.url);
  const own = openDatabase({ url: open.url, connections: 1 });
  open.close();
  await assert.rejects(own.sql`select 1`);
  open.open();
  await until(() => own.sql`select 1`.then(Boolean, () => false));
  let waiting: Promise<{ n: number }[]> | undefined;
  const lost = own.transaction(async ({ sql }) => {
    waiting = own.sql<{ n: number }[]>`select 1 as n`.execute(); // behind the transaction, which has the only connection
    await sql`select pg_terminate_backend(pg_backend_pid())`;
  });
  await assert.rejects(lost);
  assert.deepEqual([...(await waiting!)], [{ n: 1 }]);
  await own.close();
});
