/** Whatever happens to servers, clocks and connections: every id is stored exactly once. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { Database } from '../kernel/db/database.ts';
import { DAY, HOUR } from '../kernel/time/clock.ts';
import { createTestDatabase } from '../testing/database.ts';
import { whileLocked } from '../testing/locks.ts';
import { testKills } from './killed-server.suite.ts';
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

testKills({ kills: 2 });
