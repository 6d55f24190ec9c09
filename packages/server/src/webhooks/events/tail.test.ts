/** The events of a tenant, in their order and each once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock, HOUR, SECOND } from '../../kernel/time/clock.ts';
import { startEngine } from '../fixtures/engine.ts';
import { startReceiver, status } from '../fixtures/receiver.ts';

// Ids carry the time of the machine: behind it, none is older than its event by a clock that the test moves on.
const engine = await startEngine({ clock: createManualClock(Date.now() - HOUR), work: false });
const { clock, db, webhooks } = engine;

const subjectsOf = (events: { body: string }[]) => events.map(({ body }) => JSON.parse(body).subject);

/** All that there is at the moment. */
async function rest(tail: ReturnType<typeof webhooks.tail>): Promise<unknown[]> {
  const subjects: unknown[] = [];
  for (let found = await tail.next(); found.length > 0; found = await tail.next()) {
    assert.ok(found.length <= 500, 'a batch is bounded');
    subjects.push(...subjectsOf(found));
  }
  return subjects;
}

test('the tail begins with what comes after its first look, and shows each event once', async () => {
  const { tenant, publish } = engine.newTenant();
  const other = engine.newTenant();
  await publish({ subject: 'before' });
  const tail = webhooks.tail(tenant, { type: '*' });
  assert.deepEqual(await rest(tail), []);
  await publish({ subject: 'at the same time' });
  clock.advance(1);
  await publish({ subject: 'later' });
  await other.publish({ subject: "someone else's" });
  assert.deepEqual(await rest(tail), ['at the same time', 'later']);
  clock.advance(60 * SECOND);
  await publish({ subject: 'much later' });
  assert.deepEqual(await rest(tail), ['much later']);
  assert.deepEqual(await rest(tail), []);
});

test('a tail of a tenant that has no events yet shows the first one', async () => {
  const { tenant, publish } = engine.newTenant();
  const tail = webhooks.tail(tenant, { type: '*' });
  assert.deepEqual(await rest(tail), []);
  await publish({ subject: 'first' });
  assert.deepEqual(await rest(tail), ['first']);
});

test('since a time, that included, everything is shown in order, however much it is', async () => {
  const { tenant, publish } = engine.newTenant();
  await publish({ subject: 'too early' });
  clock.advance(1);
  const since = new Date(clock.now());
  const expected: string[] = [];
  for (let round = 0; round < 4; round++) {
    const events = Array.from({ length: 400 }, (_, index) => ({ subject: `${round} ${index}` }));
    await publish(...events);
    expected.push(...events.map(({ subject }) => subject));
    clock.advance(5 * SECOND);
  }
  const shown = await rest(webhooks.tail(tenant, { type: '*', since }));
  assert.equal(new Set(shown).size, shown.length, 'none twice');
  // Within a millisecond their ids decide.
  const rounds = (subjects: unknown[]) => subjects.map((subject) => String(subject)[0]);
  assert.deepEqual(rounds(shown), rounds(expected));
  assert.deepEqual(shown.toSorted(), expected.toSorted());
});

test('an event whose transaction commits after a later one is shown all the same', async () => {
  const { tenant, publish } = engine.newTenant();
  const tail = webhooks.tail(tenant, { type: '*' });
  await rest(tail);
  const [begun, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow = db.transaction(async (tx) => {
    await webhooks.publish(tx, tenant, [{ type: 'com.x', source: '/x', subject: 'slow', data: {} }]);
    begun.resolve();
    await go.promise;
  });
  await begun.promise;
  clock.advance(5 * SECOND);
  await publish({ subject: 'quick' });
  assert.deepEqual(await rest(tail), ['quick']);
  go.resolve();
  await slow;
  assert.deepEqual(await rest(tail), ['slow']);
});

test('a type is compared as a filter is: with and without its leading com.', async () => {
  const { tenant, publish } = engine.newTenant();
  const since = new Date(clock.now());
  const types = ['com.shop.order.paid', 'shop.order.paid', 'com.shop.order.failed', 'com.Shop.order.paid'];
  await publish(...types.map((type) => ({ type, subject: type })));
  const shown = async (type: string) => (await rest(webhooks.tail(tenant, { type, since }))).toSorted();
  assert.deepEqual(await shown('shop.*.paid'), ['com.shop.order.paid', 'shop.order.paid']);
  assert.deepEqual(await shown('com.shop.order'), []);
  assert.deepEqual(await shown('*'), types.toSorted());
});

test('a dead letter that is sent again is not shown as published again', async () => {
  const { clock, webhooks, newTenant } = await startEngine();
  const receiver = await startReceiver(status(400));
  const { tenant, subscribe, publish, tried } = newTenant();
  const { id } = await subscribe({ target_url: receiver.url });
  await publish({ subject: 'once' });
  await tried(1);
  const from = new Date(clock.now());
  clock.advance(60 * SECOND);
  const since = new Date(clock.now());
  receiver.answer = status(204);
  await webhooks.deadLetters.reschedule(tenant, id, { from, until: since, dryRun: false });
  await tried(2);
  assert.deepEqual(await rest(webhooks.tail(tenant, { type: '*', since })), []);
  assert.deepEqual(await rest(webhooks.tail(tenant, { type: '*', since: from })), ['once']);
});
