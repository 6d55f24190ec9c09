/** Reschedules that meet others: a worker that stalls, a deletion, a cancellation, a second one of the same letters. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TransactionSql } from '../../kernel/db/database.ts';
import { DAY, MINUTE } from '../../kernel/time/clock.ts';
import { untilWaiting, whileLocked } from '../../testing/locks.ts';
import { until } from '../../testing/wait.ts';
import { startEngine } from '../fixtures/engine.ts';
import { writeLetters } from '../fixtures/letters.ts';
import { type Answer, type Received, startReceiver, status } from '../fixtures/receiver.ts';
import { restoreEvents } from '../store/events.ts';

const shared = await startEngine();
const TAKING = 'delete from webhook_dead_letters';
const MORE_THAN_A_BATCH = 600;
const idOf = ({ headers }: Received) => String(headers['webhook-id']);

/** A subscription with dead letters, the last of them from this very millisecond. */
async function setUp({ count = 3, answer = status(204) as Answer, engine = shared } = {}) {
  const { clock, db, webhooks } = engine;
  const { deadLetters, subscriptions } = webhooks;
  const receiver = await startReceiver(answer);
  const { tenant, subscribe, letters, whenPending } = engine.newTenant();
  const { id } = await subscribe({ target_url: receiver.url, filters: ['nothing.that.happens'] });
  const times = Array.from({ length: count }, (_, index) => clock.now() - index);
  const written = await writeLetters(db, { tenantId: tenant.id, subscriptionId: id }, times);
  const range = { from: new Date(0), until: new Date(clock.now()), dryRun: false };
  async function reschedule(): Promise<string> {
    const started = await deadLetters.reschedule(tenant, id, range);
    assert.ok(started.id !== null);
    return started.id;
  }
  const stateOf = (reschedule: string) => deadLetters.rescheduleState(tenant, reschedule);
  /** Lets the pauses between batches pass. */
  async function ended(reschedule: string) {
    await until(async () => {
      clock.advance(50);
      return (await stateOf(reschedule)).state !== 'running';
    });
    return stateOf(reschedule);
  }
  return {
    receiver,
    tenant,
    eventIds: written.map(({ eventId }) => eventId).sort(),
    pushed: () => receiver.received.map(idOf).sort(),
    /** Runs something while a transaction that comes to nothing has the letters, and a batch waits for them. */
    duringBatch: <T>(meanwhile: (reschedule: string) => Promise<T>) =>
      whileLocked(
        db,
        (sql) => sql`select from webhook_dead_letters where tenant_id = ${tenant.id} for update`,
        async () => {
          const started = await reschedule();
          await untilWaiting(db, TAKING);
          return meanwhile(started);
        },
      ),
    letters,
    whenPending,
    reschedule,
    stateOf,
    ended,
    cancel: (reschedule: string) => deadLetters.cancelReschedule(tenant, reschedule),
    remove: () => subscriptions.remove(tenant, id),
    disable: () =>
      subscriptions.update(tenant, id, { target_url: receiver.url, filters: ['*'], enabled: false }),
  };
}

test('letters that die again in the same millisecond are not sent a second time', async () => {
  const { receiver, letters, eventIds, pushed, reschedule, ended } = await setUp({ answer: status(400) });
  const started = await reschedule();
  await until(async () => receiver.received.length === 3 && (await letters()).length === 3);
  const { matched, rescheduled, state } = await ended(started);
  assert.deepEqual({ matched, rescheduled, state }, { matched: 3, rescheduled: 3, state: 'completed' });
  assert.deepEqual(pushed(), eventIds);
});

test('letters that someone else has in hand are waited for, and taken when that comes to nothing', async () => {
  const { receiver, eventIds, pushed, letters, stateOf, ended, duringBatch } = await setUp();
  const started = await duringBatch(async (started) => {
    assert.equal((await stateOf(started)).state, 'running');
    return started;
  });
  const { rescheduled, state } = await ended(started);
  assert.deepEqual({ rescheduled, state }, { rescheduled: 3, state: 'completed' });
  await until(() => receiver.received.length === 3);
  assert.deepEqual(pushed(), eventIds);
  assert.deepEqual(await letters(), []);
});

test('a subscription is deleted before a batch of its letters or after it, never between', async () => {
  const { letters, whenPending, ended, duringBatch, remove } = await setUp();
  const { left, started } = await duringBatch(async (started) => {
    const left = remove().then(letters);
    await Promise.race([left, untilWaiting(shared.db, 'delete from webhook_subscriptions')]);
    return { left: () => left, started };
  });
  const afterwards = await left();
  await ended(started);
  await whenPending(0);
  assert.deepEqual(await letters(), afterwards, 'the letters that the deletion left stay');
});

test('a reschedule whose subscription is deleted between two batches ends, and the other letters stay', async () => {
  const { letters, reschedule, stateOf, ended, remove } = await setUp({ count: MORE_THAN_A_BATCH });
  const started = await reschedule();
  await until(async () => (await stateOf(started)).rescheduled === 500);
  await remove();
  const { rescheduled, state } = await ended(started);
  assert.deepEqual({ rescheduled, state }, { rescheduled: 500, state: 'cancelled' });
  assert.equal((await letters()).length, MORE_THAN_A_BATCH - 500);
});

test('a cancellation during a batch counts from its end, and what is left can be rescheduled again', async () => {
  const run = await setUp({ count: MORE_THAN_A_BATCH });
  const { started, cancelled } = await run.duringBatch(async (started) => {
    const cancelled = run.cancel(started);
    await Promise.race([cancelled, untilWaiting(shared.db, 'update webhook_reschedules')]);
    return { started, cancelled: () => cancelled };
  });
  await cancelled();
  const { rescheduled, state } = await run.ended(started);
  assert.equal(state, 'cancelled');
  assert.equal((await run.letters()).length, MORE_THAN_A_BATCH - rescheduled);
  assert.equal((await run.ended(await run.reschedule())).rescheduled, MORE_THAN_A_BATCH - rescheduled);
  await until(() => run.receiver.received.length === MORE_THAN_A_BATCH);
  assert.deepEqual(run.pushed(), run.eventIds);
});

test('two reschedules of the same letters send each of them once', async () => {
  const { receiver, eventIds, pushed, reschedule, ended } = await setUp({ count: MORE_THAN_A_BATCH });
  const started = await Promise.all([reschedule(), reschedule()]);
  const ends = await Promise.all(started.map(ended));
  assert.deepEqual(new Set(ends.map(({ state }) => state)), new Set(['completed']));
  const sum = ends.reduce((total, { rescheduled }) => total + rescheduled, 0);
  assert.equal(sum, MORE_THAN_A_BATCH);
  await until(() => receiver.received.length === MORE_THAN_A_BATCH);
  assert.deepEqual(pushed(), eventIds);
});

test('two batches with letters of the same events do not wait for each other', async () => {
  const { tenant, eventIds, letters, reschedule } = await setUp();
  const publishedAt = shared.clock.now();
  const publicationOf = (id: string) => ({
    tenantId: tenant.id,
    publishedAt,
    events: [{ id, tenantEventId: null, type: 'x', profile: 0, body: '{}' }],
  });
  let another: TransactionSql | undefined;
  await whileLocked(
    shared.db,
    async (sql) => {
      another = sql;
      await sql`set local lock_timeout = 100`;
      await restoreEvents(sql, publicationOf(eventIds[0]!));
    },
    async () => {
      await reschedule();
      await untilWaiting(shared.db, 'insert into webhook_events');
      await restoreEvents(another!, publicationOf(eventIds[2]!));
    },
  );
  await until(async () => (await letters()).length === 0);
});

test('of a subscription that is disabled during a reschedule each event is delivered or a letter again', async () => {
  const run = await setUp({ count: MORE_THAN_A_BATCH });
  const { receiver, eventIds, pushed, letters, reschedule, ended, disable, whenPending } = run;
  const started = await reschedule();
  await until(() => receiver.received.length > 0);
  await disable();
  assert.equal((await ended(started)).state, 'completed');
  await whenPending(0);
  const again = (await letters()).map(({ eventId, reason }) => {
    assert.equal(reason, 'rejectedByExchange');
    return eventId;
  });
  assert.deepEqual([...pushed(), ...again].sort(), eventIds);
});

test('letters that expire during a reschedule are not sent', async () => {
  const engine = await startEngine();
  const run = await setUp({ count: MORE_THAN_A_BATCH, engine });
  const { receiver, letters, reschedule, stateOf, ended, whenPending } = run;
  const started = await reschedule();
  await until(async () => (await stateOf(started)).rescheduled === 500);
  await until(() => receiver.received.length === 500);
  await whenPending(0);
  engine.clock.advance(14 * DAY);
  const { matched, rescheduled, state } = await ended(started);
  const end = { matched: MORE_THAN_A_BATCH, rescheduled: 500, state: 'completed' };
  assert.deepEqual({ matched, rescheduled, state }, end);
  assert.deepEqual([await letters(), receiver.received.length], [[], 500]);
});

test('a reschedule whose batches fail again and again is told as failed, and another one sends the letters', async () => {
  const engine = await startEngine();
  const { clock, db } = engine;
  const { reschedule, stateOf, ended, pushed, eventIds } = await setUp({ engine });
  await db.sql`alter table webhook_dead_letters rename column body to away`;
  const failing = await reschedule();
  await until(async () => {
    clock.advance(5 * MINUTE); // the longest time between two attempts
    return (await stateOf(failing)).state === 'failed';
  });
  await db.sql`alter table webhook_dead_letters rename column away to body`;
  assert.equal((await ended(await reschedule())).state, 'completed');
  await until(() => pushed().length === eventIds.length);
  assert.deepEqual(pushed(), eventIds);
});
