/** Changes of subscriptions that meet others: each other, the handshake, and outcomes of pushes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SECOND } from '../kernel/time/clock.ts';
import { untilWaiting, whileLocked } from '../testing/locks.ts';
import { until } from '../testing/wait.ts';
import { startEngine } from './fixtures/engine.ts';
import { startReceiver, status } from './fixtures/receiver.ts';
import { findSubscription } from './store/subscriptions.ts';

const engine = await startEngine();
const { db, webhooks } = engine;
const { subscriptions } = webhooks;

test('of two configurations at once one holds, whole', async () => {
  const { tenant } = engine.newTenant();
  const configuration = (name: string, size: number) =>
    Array.from({ length: size }, () => ({ name, target_url: 'http://127.0.0.1:1/', filters: ['nothing'] }));
  const sizes = { one: 3, other: 5 };
  for (let round = 0; round < 10; round++) {
    await Promise.all(
      Object.entries(sizes).map(([name, size]) =>
        subscriptions.replaceAll(tenant, configuration(name, size)),
      ),
    );
    const names = (await subscriptions.list(tenant)).map(({ name }) => name);
    const [name] = names as [keyof typeof sizes];
    assert.deepEqual(names, Array(sizes[name]).fill(name));
  }
});

test('a configuration that names a subscription which another one removes is refused as a whole', async () => {
  const { tenant, subscribe } = engine.newTenant();
  const settings = { target_url: 'http://127.0.0.1:1/', filters: ['nothing'] };
  const { id } = await subscribe(settings);
  const [, keeping] = await Promise.allSettled([
    subscriptions.replaceAll(tenant, [{ ...settings, name: 'without it' }]),
    subscriptions.replaceAll(tenant, [
      { ...settings, name: 'with it', id },
      { ...settings, name: 'with it' },
    ]),
  ]);
  const names = (await subscriptions.list(tenant)).map(({ name }) => name);
  if (keeping.status === 'rejected') {
    assert.match(String(keeping.reason), /names no subscription/);
  }
  // Whoever came second holds: with the subscription gone, the one without it.
  assert.deepEqual(names, ['without it']);
});

test('an update and rotations at once lose neither settings nor secrets', async () => {
  const { tenant, subscribe } = engine.newTenant();
  const settings = { target_url: 'http://127.0.0.1:1/', filters: ['nothing'] };
  const { id } = await subscribe(settings);
  await Promise.all([
    subscriptions.rotateSecret(tenant, id),
    subscriptions.update(tenant, id, { ...settings, name: 'new' }),
    subscriptions.rotateSecret(tenant, id),
  ]);
  const stored = await findSubscription(db.sql, tenant.id, id);
  assert.equal(stored?.name, 'new');
  assert.equal(new Set([stored.sealedSecret, ...stored.replacedSecrets.map(({ sealed }) => sealed)]).size, 3);
});

test('a consent that comes while its subscription is updated is kept', async () => {
  const consent = status(200, { 'webhook-allowed-origin': '*', 'webhook-allowed-rate': '120' });
  const receiver = await startReceiver(status(204), consent);
  const { tenant, subscribe } = engine.newTenant();
  const settings = { target_url: receiver.url, filters: ['nothing'] };
  const held = Promise.withResolvers<void>();
  receiver.consent = async (...asked) => {
    await held.promise;
    consent(...asked);
  };
  const { id } = await subscribe(settings);
  const putOff = () => db.sql`
    select from jobs where queue = 'handshake' and key = ${id} and due_at > ${new Date(engine.clock.now())}`;
  const update = await whileLocked(
    db,
    (sql) => sql`select from webhook_subscriptions where id = ${id} for update`,
    async () => {
      const update = subscriptions.update(tenant, id, { ...settings, name: 'new' });
      await untilWaiting(db, 'update webhook_subscriptions set name');
      held.resolve();
      await until(async () => (await putOff()).count === 1, { what: 'a handshake that does not wait' });
      return () => update;
    },
  );
  await update();
  engine.clock.advance(2 * SECOND);
  await until(
    async () =>
      (await putOff()).count === 0 &&
      (await findSubscription(db.sql, tenant.id, id))?.handshake !== 'pending',
  );
  const { name, handshake, allowedRate } = (await findSubscription(db.sql, tenant.id, id))!;
  assert.deepEqual(
    { name, handshake, allowedRate },
    { name: 'new', handshake: 'consented', allowedRate: 120 },
  );
});

for (const [what, answer, status_reason] of [
  ['that asks for time', status(503, { 'retry-after': '60' }), /Retry-After/],
  ['that is gone', status(410), /410 Gone/],
] as const)
  test(`a change that takes long keeps no outcome of a push to a target ${what} waiting, and loses nothing of it`, async () => {
    const receiver = await startReceiver(answer);
    const { tenant, subscribe, publish, tried } = engine.newTenant();
    const { id } = await subscribe({ target_url: receiver.url });
    const putOff = () => db.sql`
      select from jobs where queue = 'verdict' and key = ${id} and due_at > ${new Date(engine.clock.now())}`;
    await whileLocked(
      db,
      async (sql) => {
        await sql`select from webhook_sets where tenant_id = ${tenant.id} for update`;
        await sql`select from webhook_subscriptions where id = ${id} for update`;
      },
      async () => {
        await publish({});
        await tried(1);
        for (let looks = 0; looks < 3; looks++) {
          await until(async () => (await putOff()).count === 1, { what: 'a verdict that does not wait' });
          engine.clock.advance(SECOND);
        }
      },
    );
    assert.equal((await findSubscription(db.sql, tenant.id, id))?.enabled, true);
    await until(async () => {
      engine.clock.advance(SECOND);
      return (await subscriptions.get(tenant, id)).status !== 'active';
    });
    assert.match((await subscriptions.get(tenant, id)).status_reason!, status_reason);
    assert.equal(receiver.received.length, 1);
  });

test('changes that wait for a long one of their tenant take no connections', async () => {
  const { tenant, subscribe } = engine.newTenant();
  const settings = { target_url: 'http://127.0.0.1:1/', filters: ['nothing'] };
  const { id } = await subscribe(settings);
  const names = Array.from({ length: 20 }, (_, number) => `change ${number}`);
  const updates = await whileLocked(
    db,
    (sql) => sql`select from webhook_sets where tenant_id = ${tenant.id} for update`,
    async () => {
      const updates = names.map((name) => subscriptions.update(tenant, id, { ...settings, name }));
      await untilWaiting(db, 'into webhook_sets');
      assert.equal((await subscriptions.get(tenant, id)).name, null);
      return () => updates;
    },
  );
  const answers = await Promise.all(updates());
  assert.deepEqual(
    answers.map(({ name }) => name),
    names,
  );
  await assert.rejects(subscriptions.update(tenant, 'sub_unknown', settings));
  assert.equal((await subscriptions.update(tenant, id, { ...settings, name: 'last' })).name, 'last');
});

test('what a target asks for while its handshake is recorded is kept', async () => {
  const busy = await startReceiver(status(503, { 'retry-after': '60' }));
  const { tenant, subscribe, publish, tried } = engine.newTenant();
  const { id } = await subscribe({ target_url: busy.url });
  await whileLocked(
    db,
    (sql) => sql`select from webhook_subscriptions where id = ${id} for no key update`,
    async () => {
      await publish({});
      await untilWaiting(db, 'update webhook_subscriptions set held_until');
    },
  );
  await tried(1);
  assert.equal((await subscriptions.get(tenant, id)).status, 'held');
});

test('what a target asks for holds even if its handshake is recorded before that is', async () => {
  const handshake = Promise.withResolvers<void>();
  const busy = await startReceiver(status(429, { 'retry-after': '3600' }), async (_request, response) => {
    await handshake.promise;
    response.writeHead(405).end();
  });
  const own = await startEngine();
  const { tenant, subscribe, publish, tried } = own.newTenant();
  const { id } = await subscribe({ target_url: busy.url });
  await whileLocked(
    own.db,
    (sql) => sql`select from lanes where queue = 'push' for update`,
    async () => {
      await publish({ subject: 'told to wait' });
      await untilWaiting(own.db, 'from lanes');
      await publish({ subject: 'waits behind it' });
      handshake.resolve();
      await until(
        async () => (await findSubscription(own.db.sql, tenant.id, id))?.handshake === 'unanswered',
      );
      await until(async () => (await own.db.sql`select from jobs where queue = 'handshake'`).count === 0);
    },
  );
  await tried(1);
  assert.equal((await own.webhooks.subscriptions.get(tenant, id)).status, 'held');
  assert.equal(busy.received.length, 1);
});

test('a delivery that is about to wait while its subscription ends does not wait for the next look', async () => {
  const busy = await startReceiver(status(429, { 'retry-after': '3600' }));
  const own = await startEngine();
  const { tenant, subscribe, publish, tried, whenPending, letters } = own.newTenant();
  const input = { target_url: busy.url, filters: ['*'] };
  const { id } = await subscribe(input);
  await publish({});
  await tried(1);
  await whileLocked(
    own.db,
    (sql) => sql`lock table webhook_events in access exclusive mode`,
    async () => {
      own.clock.advance(10 * SECOND);
      await untilWaiting(own.db, 'webhook_events');
      assert.equal((await own.webhooks.subscriptions.get(tenant, id)).status, 'held');
      await own.webhooks.subscriptions.update(tenant, id, { ...input, enabled: false });
    },
  );
  await whenPending(0);
  const reasons = (await letters()).map(({ reason }) => reason);
  assert.deepEqual(reasons, ['rejectedByExchange']);
});
