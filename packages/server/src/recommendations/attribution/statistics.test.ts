import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Database } from '../../kernel/db/database.ts';
import { guid } from '../../kernel/ids.ts';
import { silentLog } from '../../kernel/telemetry/no-op.ts';
import { createManualClock } from '../../kernel/time/clock.ts';
import { createTestDatabase } from '../../testing/database.ts';
import { createStatistics } from './statistics.ts';

const db = await createTestDatabase();
const clock = createManualClock();
const day = new Date(clock.now()).toISOString().slice(0, 10);
const entry = { widgetId: 'w', itemPid: 'a', counter: 'clicks' as const };

function start(transaction: Database['transaction']) {
  const tenantId = guid();
  const statistics = createStatistics({ db: { ...db, transaction }, clock, log: silentLog });
  const clicks = async () =>
    (await statistics.report(tenantId, { from: day, until: day })).reduce((sum, row) => sum + row.clicks, 0);
  return { tenantId, statistics, clicks };
}

test('what cannot be written waits and counts once, whether the failure came before or after the commit', async () => {
  for (const moment of ['before', 'after']) {
    let away = true;
    const { tenantId, statistics, clicks } = start(async (work) => {
      if (away && moment === 'before') throw new Error('connection refused');
      const result = await db.transaction(work);
      if (away) throw new Error('connection lost');
      return result;
    });
    statistics.count(tenantId, entry);
    await statistics.flush();
    statistics.count(tenantId, entry);
    await statistics.flush();
    away = false;
    await statistics.flush();
    statistics.count(tenantId, entry);
    assert.equal(await clicks(), 3, moment);
    await statistics.close();
  }
});

test('what can never be written stands in the way of nothing for longer than an hour', async () => {
  let broken = true;
  const { tenantId, statistics, clicks } = start((work) =>
    broken ? Promise.reject(new Error('out of range')) : db.transaction(work),
  );
  statistics.count(tenantId, entry);
  await statistics.flush();
  clock.advance(2 * 3_600_000);
  await statistics.flush();
  broken = false;
  statistics.count(tenantId, entry);
  assert.equal(await clicks(), 1);
  await statistics.close();
});
