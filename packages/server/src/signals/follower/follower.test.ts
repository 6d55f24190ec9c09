/** What the follower promises: exactly once, the same for any order and split, and no job that holds up others. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { event, startProcess } from '../../ingestion/process.fixture.ts';
import type { Database } from '../../kernel/db/database.ts';
import { laneOfNumber } from '../../kernel/lanes/lane-of.ts';
import type { FollowedSignal } from '../../kernel/module.ts';
import { createManualClock, DAY, MINUTE } from '../../kernel/time/clock.ts';
import { FOLLOW_QUEUE } from '../../profiles/index.ts';
import { createTestDatabase } from '../../testing/database.ts';
import { startTestServer } from '../../testing/server.ts';
import { until } from '../../testing/wait.ts';

/** What is kept of a person: activity, days, and interactions without ids and arrival. */
async function keptOf({ db, tenantId, systemId }: { db: Database; tenantId: string; systemId: number }) {
  const { sql } = db;
  const [person] = await sql`
    select last_seen_at, visits, page_visits, orders, revenue::float8 as revenue, last_order_at, cart_open
    from person_activity where tenant_id = ${tenantId} and profile = ${systemId}`;
  const days = await sql`
    select day::text, signals, orders, revenue::float8 as revenue, halves from activity_days
    where tenant_id = ${tenantId} and profile = ${systemId} order by day`;
  const interactions = await sql`
    select kind, item_pid, at, quantity, value from interactions
    where tenant_id = ${tenantId} and contact = ${systemId}
    order by at, kind, item_pid, quantity, value`;
  return { person: { ...person }, days: [...days], interactions: [...interactions] };
}

const NOW = Date.now();
const items = fc.array(
  fc.record({
    sku: fc.constantFrom('a', 'b', 'c'),
    quantity: fc.integer({ min: 1, max: 3 }),
    netprice: fc.integer({ min: 1, max: 999 }).map((cents) => cents / 100),
  }),
  { minLength: 1, maxLength: 2 },
);
const cartId = fc.constantFrom('cart-1', 'cart-2');
/** Signals of one person. No two have the same time: then their order would be that of arrival. */
const history = fc
  .array(
    fc.oneof(
      fc.record({
        signal: fc.constantFrom('cart/add', 'cart/remove', 'cart/replace'),
        payload: fc.record({ cartId, items }),
      }),
      fc.record({ signal: fc.constant('cart/clear'), payload: fc.record({ cartId }) }),
      fc.record({
        signal: fc.constant('cart/purchase'),
        payload: fc.record(
          {
            cartId,
            items,
            transactionId: fc.constantFrom('t-1', 't-2'),
            total: fc.integer({ min: 1, max: 99_999 }).map((cents) => cents / 100),
          },
          { requiredKeys: ['cartId'] },
        ),
      }),
      fc.record({
        signal: fc.constant('browse'),
        payload: fc.record({
          sections: fc.constant([['home']]),
          elements: fc.array(fc.record({ type: fc.constant('product'), id: fc.constantFrom('a', 'b') }), {
            minLength: 1,
            maxLength: 2,
          }),
        }),
      }),
    ),
    { minLength: 1, maxLength: 14 },
  )
  .chain((signals) =>
    fc.record({
      signals: fc
        .uniqueArray(fc.integer({ min: 1, max: 2 * DAY }), {
          minLength: signals.length,
          maxLength: signals.length,
        })
        .map((agos) => signals.map((signal, n) => ({ ...signal, id: `s${n}`, time: NOW - agos[n]! }))),
      order: fc.shuffledSubarray([...signals.keys()], { minLength: signals.length }),
      repeats: fc.subarray([...signals.keys()]),
      cuts: fc.subarray([...signals.keys()]),
    }),
  );

/** A list in parts, each part ending before one of the cuts. */
function split<T>(list: readonly T[], cuts: readonly number[]): T[][] {
  const borders = [0, ...cuts.filter((cut) => cut > 0 && cut < list.length), list.length];
  return borders.slice(1).map((end, n) => list.slice(borders[n], end));
}

test('any permutation, repetition and split of a person’s signals ends in the same activity and interactions', async () => {
  const server = await startTestServer({ clock: createManualClock(NOW), config: { roles: ['api'] } });
  const { modules, tenant } = server;
  const { db, lanes, profiles, ingestion, signals } = modules;
  const receive = (events: object[]) =>
    ingestion.receive({
      tenantId: tenant.id,
      receivedAt: NOW,
      sentAt: undefined,
      events,
      marketingId: undefined,
      trackingParam: undefined,
    });
  const plans = fc.sample(history, { numRuns: 40, seed: 7 });
  const persons = plans.map((plan, n) => ({
    plan,
    plain: `plain${n}@example.com`,
    mixed: `mixed${n}@example.com`,
  }));
  for (const { plan, plain, mixed } of persons) {
    const of = (email: string) =>
      plan.signals.map(({ payload, ...signal }) => ({ ...signal, payload: { ...payload, email } }));
    await receive(of(plain).toSorted((a, b) => a.time - b.time));
    const shuffled = plan.order.map((n) => of(mixed)[n]!);
    const again = plan.repeats.map((n) => of(mixed)[n]!);
    for (const part of split([...shuffled, ...again], plan.cuts)) await receive(part);
  }
  // All signals are stored before the first is followed: what a cart held is read from those that are there.
  const stop = await signals.work();
  await lanes.idle(FOLLOW_QUEUE);
  for (const { plan, plain, mixed } of persons) {
    const [one, other] = await Promise.all(
      [plain, mixed].map(async (email) => {
        const { systemId } = (await profiles.find(tenant.id, { email }))!;
        return keptOf({ db, tenantId: tenant.id, systemId });
      }),
    );
    assert.deepEqual(other, one, JSON.stringify(plan));
    assert.equal(
      one!.days.reduce((sum, { signals }) => sum + Number(signals), 0),
      plan.signals.length,
    );
  }
  await stop(0);
});

test('signals of one person that are followed as they come end in the same, whatever their order', async () => {
  const db = await createTestDatabase();
  const { lanes, profiles, signals, receive } = startProcess(db, NOW);
  const stop = await signals.work();
  const tenantId = randomUUID();
  const own = (email: string) =>
    Array.from({ length: 12 }, (_, n) => ({
      id: `s${n}`,
      signal: n % 3 === 0 ? 'cart/purchase' : 'browse',
      time: NOW - n * 47 * MINUTE,
      payload:
        n % 3 === 0
          ? { email, cartId: 'c', transactionId: `t-${n % 6}`, total: 0.1 * n }
          : { email, sections: [['home']] },
    }));
  for (const signal of own('a@example.com')) await receive(tenantId, [signal]);
  for (const signal of own('b@example.com')
    .filter((_, n) => n % 6 < 3)
    .toReversed())
    await receive(tenantId, [signal]);
  await lanes.idle(FOLLOW_QUEUE);
  for (const signal of own('b@example.com').filter((_, n) => n % 6 >= 3)) await receive(tenantId, [signal]);
  await lanes.idle(FOLLOW_QUEUE);
  const totals = await Promise.all(
    ['a@example.com', 'b@example.com'].map(async (email) => {
      const { systemId } = (await profiles.find(tenantId, { email }))!;
      const { person, days } = await keptOf({ db, tenantId, systemId });
      return {
        orders: person.orders,
        visits: person.visits,
        seen: person.last_seen_at,
        days: days.map(({ signals, halves }) => [signals, halves]),
      };
    }),
  );
  assert.deepEqual(totals[0], totals[1]);
  assert.equal(totals[0]!.orders, 2, 'two transactions, each of which was reported twice');
  await stop(0);
});

test('a signal that a module cannot take is tried every five minutes for ever, and holds up no other', async () => {
  const db = await createTestDatabase();
  const { clock, lanes, signals, metrics, receive } = startProcess(db, NOW);
  const taken: string[] = [];
  let isBroken = true;
  signals.follow({
    name: 'fragile',
    wants: () => true,
    async take(tx, followed: readonly FollowedSignal[]) {
      if (isBroken && followed.some(({ id }) => id === 'poison')) throw new Error('a module failed');
      tx.afterCommit(() => taken.push(...followed.map(({ id }) => id)));
    },
  });
  const tenantId = randomUUID();
  const email = 'ada@example.com';
  await receive(tenantId, [
    event('a', { email }),
    event('poison', { email }),
    event('b', { email }),
    event('c'),
  ]);
  const stop = await signals.work();
  await until(() => taken.length === 2, { what: 'the others' });
  assert.deepEqual(taken.toSorted(), ['a', 'b']);
  await lanes.idle(FOLLOW_QUEUE);
  for (let round = 0; round < 12; round++) {
    clock.advance(5 * MINUTE);
    await receive(tenantId, [event(`round ${round}`, { email })]);
    await until(() => taken.includes(`round ${round}`), { what: `round ${round}` });
    await lanes.idle(FOLLOW_QUEUE);
  }
  assert.equal((await db.sql`select from dead_jobs`).count, 0);
  assert.match(metrics.text ? (await metrics.text()).body : '', /signalbox_follow_failures_total \d\d/);
  isBroken = false;
  clock.advance(5 * MINUTE);
  await receive(tenantId, [event('last', { email })]);
  await until(() => taken.includes('poison'), { what: 'the signal that could not be taken' });
  assert.equal(taken.filter((id) => id === 'poison').length, 1);
  await stop(0);
});

test('a person who was erased, or must not be tracked, is not followed', async () => {
  const db = await createTestDatabase();
  const { lanes, profiles, signals, receive } = startProcess(db, NOW);
  const tenantId = randomUUID();
  for (const name of ['erased', 'untracked', 'living'])
    await receive(tenantId, [event(name, { email: `${name}@example.com` })]);
  await profiles.forget(tenantId, { email: 'erased@example.com' });
  await profiles.setDoNotTrack(tenantId, { email: 'untracked@example.com' }, true);
  const stop = await signals.work();
  await lanes.idle(FOLLOW_QUEUE);
  const { systemId } = (await profiles.find(tenantId, { email: 'living@example.com' }))!;
  const rows = await db.sql`select profile from person_activity where tenant_id = ${tenantId}`;
  assert.deepEqual(
    rows.map(({ profile }) => profile),
    [systemId],
  );
  await stop(0);
});

test('a merge moves signals and activity to the number and lane of the older profile', async () => {
  const db = await createTestDatabase();
  const { lanes, profiles, signals, receive } = startProcess(db, NOW);
  const tenantId = randomUUID();
  const [email, customerId] = ['ada@example.com', 'c-1'];
  const carted = (id: string, who: object, time: number) => ({
    id,
    signal: 'cart/add',
    time,
    payload: { cartId: id, items: [{ sku: 'a', quantity: 1 }], ...who },
  });
  const purchase = (id: string, who: object, time: number, total: number) => ({
    id,
    signal: 'cart/purchase',
    time,
    payload: { cartId: 'bought', transactionId: id, total, ...who },
  });
  await receive(tenantId, [
    purchase('p1', { email }, NOW - DAY, 10),
    event('e1', { email }, { time: NOW - 60 * MINUTE }),
  ]);
  const older = (await profiles.find(tenantId, { email }))!;
  await receive(tenantId, [
    purchase('p2', { idType: 'external', customerId }, NOW - DAY, 5),
    carted('e2', { idType: 'external', customerId }, NOW - 60 * MINUTE),
  ]);
  const younger = (await profiles.find(tenantId, { externalId: customerId }))!;
  const stop = await signals.work();
  await lanes.idle(FOLLOW_QUEUE);
  await stop(0);
  // The jobs of the last signals and of the merge wait together: whichever comes first, the outcome is the same.
  await receive(tenantId, [carted('e3', { idType: 'external', customerId }, NOW - 30 * MINUTE)]);
  await receive(tenantId, [
    event('link', { email, customerId }, { signal: 'identity/signin', payload: { email, customerId } }),
  ]);
  await receive(tenantId, [purchase('p1 again', { idType: 'external', customerId }, NOW - DAY, 10)]);
  const again = await signals.work();
  await lanes.idle(FOLLOW_QUEUE);
  const rows = await db.sql`select id, profile, lane from signals where tenant_id = ${tenantId} order by id`;
  assert.deepEqual(
    rows.map(({ id, profile, lane }) => [id, profile, lane]),
    ['e1', 'e2', 'e3', 'link', 'p1', 'p1 again', 'p2'].map((id) => [
      id,
      older.systemId,
      laneOfNumber(older.systemId),
    ]),
  );
  const { person, days } = await keptOf({ db, tenantId, systemId: older.systemId });
  assert.deepEqual([person.orders, person.revenue, person.cart_open], [3, 25, true]);
  assert.equal(
    days.reduce((sum, { signals }) => sum + Number(signals), 0),
    7,
  );
  assert.deepEqual(await keptOf({ db, tenantId, systemId: younger.systemId }), {
    person: {},
    days: [],
    interactions: [],
  });
  await again(0);
});
