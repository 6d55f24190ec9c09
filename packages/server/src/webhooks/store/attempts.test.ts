import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPartitions } from '../../kernel/db/schema/partitions.ts';
import { guid } from '../../kernel/ids.ts';
import { DAY } from '../../kernel/time/clock.ts';
import { createTestDatabase } from '../../testing/database.ts';
import { type Attempt, insertAttempts, insertUntried, listAttempts, readDeliveryStats } from './attempts.ts';

const now = Date.now();
const attemptOf = (number: number, changes: Partial<Attempt> = {}): Attempt => ({
  at: now + number,
  eventId: `evt_${number}`,
  tenantEventId: null,
  eventType: 'com.example.paid',
  profile: 0,
  attempt: 1,
  statusCode: 200,
  latencyMs: number,
  outcome: 'delivered',
  error: null,
  response: null,
  ...changes,
});
const none = { attempts: 0, delivered: 0, retried: 0, dead: 0, lastDeliveredAt: null };
const noLatency = { latencyP50: null, latencyP95: null, latencyP99: null };
const partitions = [{ table: 'webhook_attempts', keepDays: 7 }];

async function openLog() {
  const { sql } = await createTestDatabase();
  await createPartitions(sql, partitions, now);
  const tenantId = guid();
  const since = new Date(now - DAY);
  return {
    add: (subscriptionId: string, ...attempts: Attempt[]) =>
      insertAttempts(
        sql,
        attempts.map((attempt) => ({ tenantId, subscriptionId, attempt })),
      ),
    addUntried: (...subscriptionIds: string[]) =>
      insertUntried(
        sql,
        subscriptionIds.map((subscriptionId) => ({ tenantId, subscriptionId, deadLetteredAt: now + 100 })),
      ),
    list: (subscriptionId: string, limit: number) =>
      listAttempts(sql, { tenantId, subscriptionId, since, limit }),
    stats: (subscriptionId: string) => readDeliveryStats(sql, { tenantId, subscriptionId, since }),
  };
}

test('the newest attempts come first, however they were batched', async () => {
  const log = await openLog();
  await log.add('sub_a', attemptOf(1), attemptOf(3), attemptOf(2));
  await log.add('sub_a', attemptOf(4));
  await log.add('sub_a', attemptOf(5), attemptOf(6));
  await log.add('sub_b', attemptOf(7));
  for (const limit of [1, 2, 3, 5, 6, 100]) {
    const latest = [6, 5, 4, 3, 2, 1].slice(0, limit).map((number) => attemptOf(number));
    assert.deepEqual(await log.list('sub_a', limit), latest, `limit ${limit}`);
  }
  assert.deepEqual(await log.list('sub_c', 10), []);
});

test('attempts before the time asked for are not listed, though they are stored with later ones', async () => {
  const log = await openLog();
  const [early, late] = [attemptOf(-DAY - 1), attemptOf(-DAY)];
  await log.add('sub_a', attemptOf(-DAY - 2));
  await log.add('sub_a', early, late);
  assert.deepEqual(await log.list('sub_a', 10), [late]);
});

test('an answer of any kind is kept to the letter', async () => {
  const log = await openLog();
  const strange = attemptOf(1, { response: 'a"b\\c\n{d}\u0001👍', error: "it's", tenantEventId: 'x,y' });
  await log.add('sub_a', strange);
  assert.deepEqual(await log.list('sub_a', 1), [strange]);
});

test('attempts that were settled together keep what they share and what they do not', async () => {
  const log = await openLog();
  const refused = attemptOf(1, {
    statusCode: 503,
    outcome: 'retry',
    response: 'try later',
    tenantEventId: 'own',
  });
  for (const [subscription, batch] of Object.entries({
    alike: [refused, refused],
    mixed: [
      { ...refused, attempt: 2, response: null },
      refused,
      attemptOf(0, { statusCode: null, error: 'ECONNRESET' }),
    ],
  })) {
    await log.add(subscription, ...batch);
    assert.deepEqual(await log.list(subscription, 10), batch, subscription);
  }
});

test('letters without an attempt count as dead, and stand in no list of attempts', async () => {
  const log = await openLog();
  await log.add('sub_a', attemptOf(1), attemptOf(2, { outcome: 'dead' }));
  await log.addUntried('sub_a', 'sub_b', 'sub_a');
  await log.addUntried('sub_a');
  const { attempts, delivered, dead, latencyP99 } = await log.stats('sub_a');
  assert.deepEqual(
    { attempts, delivered, dead, latencyP99 },
    { attempts: 2, delivered: 1, dead: 4, latencyP99: 2 },
  );
  assert.deepEqual(await log.stats('sub_b'), { ...none, dead: 1, ...noLatency });
  assert.deepEqual(await log.list('sub_a', 1), [attemptOf(2, { outcome: 'dead' })]);
  assert.deepEqual(await log.list('sub_b', 1), []);
});

test('statistics count outcomes and latencies, and leave tests out', async () => {
  const log = await openLog();
  assert.deepEqual(await log.stats('sub_a'), { ...none, ...noLatency });
  await log.add('sub_a', attemptOf(1, { outcome: 'test' }));
  assert.deepEqual(await log.stats('sub_a'), { ...none, ...noLatency });
  await log.add(
    'sub_a',
    attemptOf(10),
    attemptOf(20, { outcome: 'retry' }),
    attemptOf(30, { outcome: 'test' }),
  );
  await log.add('sub_a', attemptOf(5), attemptOf(40, { outcome: 'dead' }));
  assert.deepEqual(await log.stats('sub_a'), {
    attempts: 4,
    delivered: 2,
    retried: 1,
    dead: 1,
    lastDeliveredAt: new Date(now + 10),
    latencyP50: 10,
    latencyP95: 40,
    latencyP99: 40,
  });
});
