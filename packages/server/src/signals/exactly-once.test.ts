/** Whatever happens to servers, clocks and connections: every id is stored exactly once. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { DAY, HOUR } from '../kernel/clock.ts';
import { randomSecret } from '../kernel/crypto.ts';
import type { Database } from '../kernel/db/database.ts';
import { freePort } from '../kernel/free-port.ts';
import { createTestDatabase, createTestDatabaseUrl } from '../testing/database.ts';
import { whileLocked } from '../testing/locks.ts';
import { startTestServer } from '../testing/server.ts';
import { start } from '../testing/signalbox.ts';
import { until } from '../testing/wait.ts';
import type { SignalPort, Verdict } from './index.ts';
import { event, startProcess } from './process.fixture.ts';

const PERIOD = 7 * DAY;

/** A change of periods in the weeks to come, with room for the signals of then. */
async function changeOfPeriods({ sql }: Database): Promise<number> {
  const change = (Math.floor(Date.now() / PERIOD) + 4) * PERIOD;
  const [from, to] = [change - PERIOD, change + 6 * PERIOD].map((time) => new Date(time).toISOString());
  await sql.unsafe(`create table signals_then partition of signals for values from ('${from}') to ('${to}')`);
  return change;
}

test('two processes whose clocks stand on both sides of a change of slots store each id once', async () => {
  const db = await createTestDatabase();
  const change = await changeOfPeriods(db);
  const processes = [
    startProcess(db, change - 1),
    startProcess(db, change + 1),
    startProcess(db, change + HOUR / 2),
  ];
  const tenantId = randomUUID();
  const ids = Array.from({ length: 200 }, () => randomUUID());
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, round) => {
      const own = ids.map((_, index) => ids[(index * 7 + round * 31) % ids.length]!);
      return processes[round % 3]!.receive(
        tenantId,
        own.map((id) => event(id)),
      );
    }),
  );
  const fresh = answers.flat().filter(({ success, duplicate }) => success && !duplicate);
  assert.equal(fresh.length, ids.length);
  const [row] = await db.sql`select count(*) as count from signals where tenant_id = ${tenantId}`;
  assert.equal(row?.count, ids.length);
});

test('what other modules do with a signal is committed with it or not at all', async () => {
  const db = await createTestDatabase();
  await db.sql`create table effects (id text not null)`;
  const poison: SignalPort = {
    wants: () => true,
    async take(tx, stored) {
      for (const { id } of stored) await tx.sql`insert into effects values (${id})`;
      if (stored.some(({ id }) => id.startsWith('poison'))) throw new Error('a module failed');
    },
  };
  const { receive } = startProcess(db, Date.now(), [poison]);
  const tenantId = randomUUID();
  const outcomes = await Promise.allSettled(
    ['a', 'b', 'poison', 'c', 'a'].map((id) => receive(tenantId, [event(id), event(`${id} 2`)])),
  );
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
  );
  const stored = await db.sql`select id from signals where tenant_id = ${tenantId} order by id`;
  const effects = await db.sql`select id from effects order by id collate "C"`;
  const wanted = ['a', 'a 2', 'b', 'b 2', 'c', 'c 2'];
  assert.deepEqual(
    stored.map(({ id }) => id),
    wanted,
  );
  assert.deepEqual(
    effects.map(({ id }) => id),
    wanted,
  );
});

test('ids are forgotten in the end, and the slots do not grow for ever', async () => {
  const db = await createTestDatabase();
  const { clock, signals, receive } = startProcess(db, (await changeOfPeriods(db)) + 3 * DAY);
  const tenantId = randomUUID();
  const verdicts: (true | undefined)[] = [];
  for (let week = 0; week < 4; week++) {
    const [verdict] = await receive(tenantId, [event('the same'), event(`another ${week}`)]);
    verdicts.push(verdict?.duplicate);
    await signals.maintain();
    clock.advance(PERIOD);
  }
  assert.deepEqual(verdicts, [undefined, true, undefined, true]);
  const [row] = await db.sql`select count(*) as count from signal_ids`;
  assert.ok(row!.count <= 5);
});

test('ids that are due to be forgotten stay while somebody reads them, and signals are taken meanwhile', {
  timeout: 60_000,
}, async () => {
  const db = await createTestDatabase();
  const { clock, signals, receive } = startProcess(db, (await changeOfPeriods(db)) + 3 * DAY);
  const tenantId = randomUUID();
  await receive(tenantId, [event('early')]);
  clock.advance(2 * PERIOD);
  const ids = async () => (await db.sql`select id from signal_ids order by id`).map(({ id }) => id);
  await whileLocked(
    db,
    (sql) => sql`select from signal_ids`,
    async () => {
      await assert.rejects(signals.maintain(), { code: '55P03' });
      await receive(tenantId, [event('late')]);
      assert.deepEqual(await ids(), ['early', 'late']);
    },
  );
  await signals.maintain();
  assert.deepEqual(await ids(), ['late']);
});

test('a server that is killed again and again while clients retry loses nothing and stores nothing twice', async () => {
  const url = await createTestDatabaseUrl();
  const seed = await startTestServer({ databaseUrl: url, config: { roles: ['scheduler'] } });
  const port = await freePort();
  const environment = {
    DATABASE_URL: url,
    SIGNALBOX_SECRET: randomSecret(),
    HOST: '127.0.0.1',
    PORT: String(port),
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    SIGNALBOX_ROLES: 'api',
    LOG_LEVEL: 'silent',
  };
  const address = `http://127.0.0.1:${port}/signals/v1`;
  const acknowledged = new Map<string, number>();
  const sent = new Set<string>();
  let stop = false;

  /** The verdicts, or nothing when the server was not there or died meanwhile. */
  async function trySend(events: unknown[]): Promise<Verdict[] | undefined> {
    try {
      const answer = await fetch(address, {
        method: 'POST',
        body: JSON.stringify({ key: seed.sdkKey, events }),
      });
      return answer.status === 200 ? ((await answer.json()) as { results: Verdict[] }).results : undefined;
    } catch {
      return undefined;
    }
  }

  async function client(number: number): Promise<void> {
    for (let turn = 0; !stop; turn++) {
      const email = `p${(number + turn) % 10}@example.com`;
      const events = Array.from({ length: 5 }, () => event(randomUUID(), { email }));
      for (const { id } of events) sent.add(id);
      let results: Verdict[] | undefined;
      const isAnswered = async () => {
        results = await trySend(events);
        return results !== undefined;
      };
      await until(isAnswered, { timeoutMs: 60_000, what: 'an answer' });
      assert.ok(results!.every(({ success }) => success));
      for (const { id } of events) acknowledged.set(id, (acknowledged.get(id) ?? 0) + 1);
    }
  }

  let server = start(['serve'], environment);
  const clients = Array.from({ length: 8 }, (_, number) => client(number));
  for (let kill = 1; kill <= 4; kill++) {
    const goal = acknowledged.size + 150 * kill;
    await until(() => acknowledged.size >= goal, { timeoutMs: 60_000, what: `${goal} acknowledged signals` });
    assert.equal(await server.end('SIGKILL'), null);
    server = start(['serve'], environment);
  }
  const goal = acknowledged.size + 100;
  await until(() => acknowledged.size >= goal, { timeoutMs: 60_000 });
  stop = true;
  await Promise.all(clients);

  const { sql } = seed.modules.db;
  const rows = await sql<{ id: string; times: number }[]>`
    select id, count(*) as times from signals where tenant_id = ${seed.tenant.id} group by id`;
  assert.equal(acknowledged.size, sent.size);
  assert.equal(rows.length, sent.size, 'every signal is there');
  assert.ok(
    rows.every(({ id, times }) => times === 1 && sent.has(id)),
    'and once',
  );
  const [people] = await sql`select count(*) as count from profiles where tenant_id = ${seed.tenant.id}`;
  assert.equal(people?.count, 10);
});
