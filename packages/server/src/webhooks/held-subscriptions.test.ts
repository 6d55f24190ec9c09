/** When a subscription has to wait, or is disabled, by its owner's word or by its target's; by a clock that the tests move. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY, SECOND } from '../kernel/time/clock.ts';
import { until } from '../testing/wait.ts';
import { startEngine } from './fixtures/engine.ts';
import { type Answer, type Received, startReceiver, status } from './fixtures/receiver.ts';
import { findSubscription } from './store/subscriptions.ts';
import type { SubscriptionInput } from './subscriptions/subscription.ts';

const engine = await startEngine();
const { clock, db, webhooks } = engine;
const idOf = ({ headers }: Received) => String(headers['webhook-id']);

test('while a subscription is disabled, new events are not matched and pending ones become dead letters', async () => {
  const receiver = await startReceiver(status(500));
  const { tenant, subscribe, publish, tried, whenPending, letters } = engine.newTenant();
  const input = { target_url: receiver.url, filters: ['*'] };
  const { id } = await subscribe(input);
  await publish({ subject: 'pending' });
  await tried(1);
  await webhooks.subscriptions.update(tenant, id, { ...input, enabled: false });
  await publish({ subject: 'new' });
  clock.advance(1100);
  await whenPending(0);
  const [letter, ...others] = await letters();
  assert.deepEqual(others, []);
  assert.deepEqual([letter!.reason, letter!.totalRetries], ['rejectedByExchange', 0]);
  assert.deepEqual(
    letter!.finalResponse,
    { code: 500, body: null },
    'what the last attempt met is not forgotten',
  );
  assert.equal(receiver.received.length, 1);
});

test('410 disables the subscription: what is pending and what comes both become dead letters', async () => {
  const receiver = await startReceiver(status(500));
  const { tenant, subscribe, publish, tried, whenPending, letters } = engine.newTenant();
  const input = { target_url: receiver.url, filters: ['*'] };
  const { id } = await subscribe(input);
  await publish({ subject: 'pending' });
  await tried(1);
  receiver.answer = status(410);
  await publish({ subject: 'told to go' });
  await tried(2);
  const disabled = await webhooks.subscriptions.get(tenant, id);
  assert.deepEqual([disabled.enabled, disabled.status], [false, 'disabled']);
  assert.equal(disabled.status_reason, 'the target answered 410 Gone');
  await publish({ subject: 'new' });
  clock.advance(1100);
  await whenPending(0);
  assert.equal(receiver.received.length, 2);
  const reasons = (await letters()).map(({ reason }) => reason).sort();
  assert.deepEqual(reasons, ['rejectedByExchange', 'rejectedByExchange', 'rejectedByTarget']);

  const { status_reason } = await webhooks.subscriptions.update(tenant, id, { ...input, enabled: false });
  assert.equal(status_reason, 'the target answered 410 Gone', 'what is written back as it was read');
  await publish({ subject: 'after that' });
  await whenPending(0);
  assert.equal((await letters()).length, 4);

  receiver.answer = status(200);
  const revived = await webhooks.subscriptions.update(tenant, id, input);
  assert.deepEqual([revived.enabled, revived.status], [true, 'active']);
  await publish({ subject: 'again' });
  await tried(3);
});

/** A push is under way when its subscription moves to another target; then the old one answers. */
async function moveBeforeAnswer(answer: Answer) {
  const late = Promise.withResolvers<void>();
  const old = await startReceiver(async (...asked) => {
    await late.promise;
    answer(...asked);
  });
  const moved = await startReceiver();
  const { tenant, subscribe, publish, tried } = engine.newTenant();
  const { id } = await subscribe({ target_url: old.url });
  await publish({});
  await until(() => old.received.length === 1);
  await webhooks.subscriptions.update(tenant, id, { target_url: moved.url, filters: ['*'] });
  await until(async () => (await findSubscription(db.sql, tenant.id, id))?.handshake === 'unanswered');
  late.resolve();
  await tried(1);
  return { moved, status: (await webhooks.subscriptions.get(tenant, id)).status };
}

test('a target that answers 410 after the subscription moved elsewhere disables nothing', async () => {
  assert.equal((await moveBeforeAnswer(status(410))).status, 'active');
});

test('what a target asks for after the subscription moved elsewhere holds nothing up', async () => {
  const { moved } = await moveBeforeAnswer(status(429, { 'retry-after': '3600' }));
  clock.advance(1100); // the delay of the one that was told to wait
  await until(() => moved.received.length === 1);
});

type Subscriptions = typeof webhooks.subscriptions;
type Change = (
  tenant: Parameters<Subscriptions['get']>[0],
  id: string,
  target_url: string,
) => Promise<unknown>;

/** A push is under way when its subscription changes; then the target answers. Tells the status after that. */
async function changeBeforeAnswer(answer: Answer, change: Change): Promise<string> {
  const late = Promise.withResolvers<void>();
  const receiver = await startReceiver(async (...asked) => {
    await late.promise;
    answer(...asked);
  });
  const { tenant, subscribe, publish, tried } = engine.newTenant();
  const { id } = await subscribe({ target_url: receiver.url });
  await publish({});
  await until(() => receiver.received.length === 1);
  clock.advance(10);
  await change(tenant, id, receiver.url);
  late.resolve();
  await tried(1);
  return (await webhooks.subscriptions.get(tenant, id)).status;
}

const { update, rotateSecret } = webhooks.subscriptions;
const headers = [{ name: 'x-key', value: 'the right one' }];
const CHANGES: [what: string, change: Change, counts: boolean][] = [
  [
    'another header',
    (tenant, id, url) => update(tenant, id, { target_url: url, filters: ['*'], headers }),
    false,
  ],
  [
    'another name',
    (tenant, id, url) => update(tenant, id, { target_url: url, filters: ['*'], name: 'new' }),
    true,
  ],
  ['another secret', rotateSecret, true],
];
for (const [what, change, counts] of CHANGES)
  for (const [answer, expected] of [
    [status(410), 'disabled'],
    [status(429, { 'retry-after': '3600' }), 'held'],
  ] as const)
    test(`${what} while a push is under way: by its answer the subscription is ${counts ? expected : `not ${expected}`}`, async () => {
      assert.equal(await changeBeforeAnswer(answer, change), counts ? expected : 'active');
    });

test('Retry-After holds the whole subscription and shows in its status; waiting uses up no attempts', async () => {
  const receiver = await startReceiver(status(429, { 'retry-after': '60' }));
  const { tenant, subscribe, publish, tried, whenHeld, whenPending } = engine.newTenant();
  const { id } = await subscribe({ target_url: receiver.url });
  await publish({ subject: 'first' });
  await tried(1);
  await publish({ subject: 'second' });
  const held = await webhooks.subscriptions.get(tenant, id);
  assert.equal(held.status, 'held');
  assert.match(held.status_reason!, /Retry-After/);
  receiver.answer = status(200);
  for (let elapsed = 10; elapsed < 60; elapsed += 10) {
    clock.advance(10 * SECOND);
    // It is looked at, but not pushed to.
    await whenHeld(id);
    assert.equal(receiver.received.length, 1);
  }
  clock.advance(10 * SECOND);
  await tried(3);
  await whenPending(0);
  const attempts = await webhooks.attempts.list(tenant, id, 10);
  assert.deepEqual(attempts.map(({ attempt }) => attempt).sort(), [1, 1, 2]);
  assert.equal((await webhooks.subscriptions.get(tenant, id)).status, 'active');
});

test('a short Retry-After shows in the status as well, for as long as it holds', async () => {
  const receiver = await startReceiver(status(503, { 'retry-after': '3' }));
  const { tenant, subscribe, publish, tried } = engine.newTenant();
  const { id } = await subscribe({ target_url: receiver.url });
  const state = async () => (await webhooks.subscriptions.get(tenant, id)).status;
  await publish({});
  await tried(1);
  assert.equal(await state(), 'held');
  clock.advance(2999);
  assert.equal(await state(), 'held');
  receiver.answer = status(200);
  clock.advance(1);
  assert.equal(await state(), 'active');
  await tried(2);
});

test('an event that a target lets wait for longer than it lives is a dead letter when its life is over', async () => {
  for (const asked of ['86400', '604800']) {
    const receiver = await startReceiver(status(429, { 'retry-after': asked }));
    const { subscribe, publish, tried, letters, pending, whenHeld, whenPending } = engine.newTenant();
    const { id } = await subscribe({ target_url: receiver.url });
    await publish({});
    await tried(1);
    clock.advance(DAY - 1);
    await whenHeld(id);
    assert.deepEqual([(await pending()).length, await letters()], [1, []], asked);
    clock.advance(10 * SECOND);
    await whenPending(0);
    const [letter] = await letters();
    assert.deepEqual([letter!.reason, letter!.totalRetries], ['timeToLiveExpired', 0], asked);
    assert.equal(letter!.finalResponse.code, 429);
    assert.equal(receiver.received.length, 1);
  }
});

test('a hold ends with what was held: other receivers are pushed to at once, the same one still waits', async () => {
  const busy = await startReceiver(status(429, { 'retry-after': '3600' }));
  const input = { target_url: busy.url, filters: ['*'] };
  const table: [name: string, change: Partial<SubscriptionInput>, expected: string][] = [
    ['the same', {}, 'held'],
    ['another name, filter and rate', { name: 'x', filters: ['com.*'], rate_limit: 9 }, 'held'],
    ['disabled', { enabled: false }, 'disabled'],
    ['other credentials', { headers: [{ name: 'Authorization', value: 'x' }] }, 'active'],
    ['another target', { target_url: `${busy.url}?other` }, 'active'],
  ];
  for (const [name, change, expected] of table) {
    for (const how of ['one', 'all']) {
      const { tenant, subscribe, publish, tried } = engine.newTenant();
      const { id } = await subscribe(input);
      await publish({});
      await tried(1);
      const revision = { ...input, ...change };
      const revised =
        how === 'one'
          ? await webhooks.subscriptions.update(tenant, id, revision)
          : (await webhooks.subscriptions.replaceAll(tenant, [{ id, ...revision }]))[0]!;
      assert.equal(revised.status, expected, `${name}, ${how}`);
      assert.equal((await webhooks.subscriptions.get(tenant, id)).status, expected, `${name}, ${how}`);
      if (expected !== 'disabled') continue;
      const enabled = await webhooks.subscriptions.update(tenant, id, input);
      assert.equal(enabled.status, 'active', name);
    }
  }
});

test('a changed subscription no longer waits for what the old target asked', async () => {
  const busy = await startReceiver(status(503, { 'retry-after': '3600' }));
  const free = await startReceiver();
  const { tenant, subscribe, publishMany, tried } = engine.newTenant();
  const { id } = await subscribe({ target_url: busy.url });
  await publishMany(1);
  await tried(1);
  await publishMany(5);
  await webhooks.subscriptions.update(tenant, id, { target_url: free.url, filters: ['*'] });
  await tried(6);
  clock.advance(1100); // the one that was told to wait has its own delay as well
  await tried(7);
  assert.equal(free.received.length, 6);
  assert.equal(busy.received.length, 1);
});

test('what waits for a target that asked for an hour is a dead letter as soon as its subscription is at its end', async () => {
  type Tenant = ReturnType<typeof engine.newTenant>;
  const table: [name: string, end: (tenant: Tenant, id: string, target_url: string) => Promise<unknown>][] = [
    [
      'disabled by PUT',
      ({ tenant }, id, target_url) =>
        webhooks.subscriptions.update(tenant, id, { target_url, filters: ['*'], enabled: false }),
    ],
    [
      'disabled by PUT on the collection',
      ({ tenant }, id, target_url) =>
        webhooks.subscriptions.replaceAll(tenant, [{ id, target_url, filters: ['*'], enabled: false }]),
    ],
  ];
  for (const [name, end] of table) {
    const busy = await startReceiver(status(429, { 'retry-after': '3600' }));
    const tenant = engine.newTenant();
    const { id } = await tenant.subscribe({ target_url: busy.url });
    await tenant.publish({ subject: 'told to wait' });
    await tenant.tried(1);
    await tenant.publish({ subject: 'waits behind it' });
    await end(tenant, id, busy.url);
    await tenant.whenPending(1);
    clock.advance(1100); // the one that was told to wait has its own delay as well
    await tenant.whenPending(0);
    const reasons = (await tenant.letters()).map(({ reason }) => reason);
    assert.deepEqual(reasons, ['rejectedByExchange', 'rejectedByExchange'], name);
    assert.equal(busy.received.length, 1, name);
  }
});

test('a 410 that comes after an hour was asked for turns what waits into dead letters soon, too', async () => {
  const answers: ((code: number, headers?: Record<string, string>) => void)[] = [];
  const receiver = await startReceiver();
  const { subscribe, publishMany, tried, whenPending, letters } = engine.newTenant();
  await subscribe({ target_url: receiver.url });
  // Several are under way together only after a first one.
  await publishMany(1);
  await tried(1);
  receiver.answer = (_request, response) => {
    answers.push((code, headers = {}) => response.writeHead(code, headers).end());
  };
  await publishMany(2);
  await until(() => answers.length === 2);
  answers[0]!(429, { 'retry-after': '3600' });
  await tried(2);
  answers[1]!(410);
  await tried(3);
  clock.advance(1100); // the delay of the one that was told to wait
  await whenPending(0);
  const reasons = (await letters()).map(({ reason }) => reason).sort();
  assert.deepEqual(reasons, ['rejectedByExchange', 'rejectedByTarget']);
});

test('the breaker holds a target that keeps failing, probes it, and lets everything through once it is back', async () => {
  const receiver = await startReceiver(status(500));
  const { tenant, subscribe, publish, publishMany, tried, whenPending, letters } = engine.newTenant();
  const state = () => webhooks.subscriptions.get(tenant, id);
  const { id } = await subscribe({ target_url: receiver.url, rate_limit: 20 });
  await publishMany(25);
  for (let count = 1; count <= 25; count++) {
    await tried(count);
    clock.advance(count < 25 ? 50 : 20 * SECOND);
  }
  // The first failure after 20 s opens the breaker; the rate lets one push through at a time.
  await tried(26);
  const { status: held, status_reason } = await state();
  assert.equal(held, 'held');
  assert.match(status_reason!, /keeps failing/);
  await publish({ subject: 'while it is open' });

  clock.advance(10 * SECOND);
  await tried(27);
  assert.equal((await state()).status, 'held', 'the probe failed');

  receiver.answer = status(200);
  clock.advance(20 * SECOND);
  await until(async () => {
    clock.advance(50);
    return receiver.received.length === 27 + 26;
  });
  await whenPending(0);
  const waiting = receiver.received.find(({ body }) => body.includes('while it is open'))!;
  const attempts = await webhooks.attempts.list(tenant, id, 1000);
  const tries = attempts
    .filter(({ webhook_id }) => webhook_id === idOf(waiting))
    .map(({ attempt }) => attempt);
  assert.deepEqual(tries, [1], 'waiting used up no attempt');
  assert.equal((await state()).status, 'active');
  assert.deepEqual(await letters(), []);
});

test('a breaker stays open over a restart: what waits for the target does not use up its attempts anew', async () => {
  const secret = 'the same for both';
  const former = await startEngine({ clock, secret });
  const receiver = await startReceiver(status(500));
  const { tenant, subscribe, publishMany, tried } = former.newTenant();
  const { id } = await subscribe({ target_url: receiver.url });
  await publishMany(20);
  await tried(20);
  clock.advance(20 * SECOND);
  await until(async () => (await former.webhooks.subscriptions.get(tenant, id)).status === 'held');
  await publishMany(100);
  await former.stop();
  const before = receiver.received.length;

  const { url } = former;
  const latter = await startEngine({ clock, secret, url });
  const state = () => latter.webhooks.subscriptions.get(tenant, id);
  const { sql } = latter.db;
  const jobs = async () => (await sql`select from jobs where queue = 'push'`).count;
  const letters = async () => (await sql`select from webhook_dead_letters`).count;
  for (const pause of [10, 10, 20]) {
    clock.advance(pause * SECOND);
    await until(async () => (await state()).status === 'held', { what: 'a failed probe' });
  }
  assert.equal(receiver.received.length, before + 3, 'one probe after each pause');
  assert.deepEqual([await jobs(), await letters()], [120, 0]);

  receiver.answer = status(200);
  clock.advance(40 * SECOND);
  await until(async () => (await jobs()) === 0, { what: 'everything delivered' });
  assert.deepEqual([await letters(), (await state()).status], [0, 'active']);
  const [{ heldReason } = { heldReason: '' }] = await sql<{ heldReason: string | null }[]>`
    select held_reason as "heldReason" from webhook_subscriptions where id = ${id}`;
  assert.equal(heldReason, null, 'whoever is next does not take it for open');
});

test('the rate limit is obeyed to the push', async () => {
  const receiver = await startReceiver();
  const { subscribe, publishMany, tried } = engine.newTenant();
  await subscribe({ target_url: receiver.url, rate_limit: 5 });
  await publishMany(8);
  for (let count = 1; count <= 8; count++) {
    await tried(count);
    clock.advance(199);
    await tried(count);
    clock.advance(1);
  }
  assert.equal(receiver.received.length, 8);
});

test('targets that hang do not delay the others', async () => {
  const hanging = await startReceiver(() => undefined);
  const healthy = await startReceiver();
  const { subscribe, publishMany } = engine.newTenant();
  for (let count = 0; count < 20; count++) await subscribe({ target_url: hanging.url });
  await subscribe({ target_url: healthy.url });
  await publishMany(200);
  await until(() => healthy.received.length === 200);
  await until(() => hanging.received.length >= 20, { what: 'a push to each that hangs' });
  assert.ok(hanging.received.length <= 20 * 8, `${hanging.received.length} pushes hang`);
});
