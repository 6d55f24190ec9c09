import assert from 'node:assert/strict';
import net from 'node:net';
import { after, test } from 'node:test';
import { createTestDatabaseUrl } from '../../testing/database.ts';
import { until } from '../../testing/wait.ts';
import { openDatabase } from './database.ts';

/** A way to PostgreSQL that can be cut: with a reset, as when a machine is gone, or with an orderly end. */
async function startCuttableWay(url: string) {
  const { hostname, port } = new URL(url);
  const sockets = new Set<net.Socket>();
  const server = net.createServer((near) => {
    const far = net.connect(Number(port), hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(socket);
          near.destroy();
          far.destroy();
        });
    }
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const here = new URL(url);
  here.hostname = '127.0.0.1';
  here.port = String((server.address() as net.AddressInfo).port);
  const cut = (reset: boolean) => {
    for (const socket of sockets) reset ? socket.resetAndDestroy() : socket.destroy();
  };
  after(() => {
    cut(false);
    server.close();
  });
  return { url: here.href, cut };
}

const way = await startCuttableWay(await createTestDatabaseUrl({ empty: true }));
const CONNECTIONS = 4;
const db = openDatabase({ url: way.url, connections: CONNECTIONS });
after(() => db.close());

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
  const lost = Promise.withResolvers<void>();
  let late: Promise<unknown> | undefined;
  const transaction = db.transaction(async ({ sql }) => {
    await sql`insert into notes values (1)`;
    await lost.promise;
    late = sql`insert into notes values (2)`.execute();
    await late;
  });
  const outcome = assert.rejects(transaction);
  await until(
    async () => (await db.sql`select 1 from pg_locks where relation = 'notes'::regclass`).length > 0,
  );
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
