/** The handshake with real receivers (D25), by a clock that the tests move. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VERSION } from '../kernel/config/version.ts';
import { MINUTE, SECOND } from '../kernel/time/clock.ts';
import { until } from '../testing/wait.ts';
import { startEngine } from './fixtures/engine.ts';
import { type Answer, startReceiver, status } from './fixtures/receiver.ts';
import { MAX_ATTEMPTS } from './subscriptions/handshake.ts';

const engine = await startEngine();
const { clock, db, webhooks } = engine;

const consent = (headers: Record<string, string> = {}) =>
  status(200, { 'webhook-allowed-origin': '*', ...headers });

async function recorded(id: string, { db } = engine): Promise<{ handshake: string; rate: number | null }> {
  const [row] = await db.sql<{ handshake: string; rate: number | null }[]>`
    select handshake, allowed_rate as rate from webhook_subscriptions where id = ${id}`;
  return row!;
}

const whenRecorded = (id: string, handshake: string) =>
  until(async () => (await recorded(id)).handshake === handshake, {
    what: `a handshake that is ${handshake}`,
  });

test('a new target is asked by OPTIONS, and every push after its consent names the origin', async () => {
  const receiver = await startReceiver(status(200), consent());
  const { subscribe, publish, tried } = engine.newTenant();
  const { id } = await subscribe({ target_url: receiver.url });
  await whenRecorded(id, 'consented');
  const [asked] = receiver.asked;
  assert.equal(asked!.path, '/hook');
  assert.equal(asked!.headers['webhook-request-origin'], 'signalbox.example.com');
  assert.equal(asked!.headers['user-agent'], `Signalbox/${VERSION}`);
  await publish({});
  await tried(1);
  assert.equal(receiver.received[0]!.headers['webhook-request-origin'], 'signalbox.example.com');
});

test('a target that does not know the handshake is pushed to all the same', async () => {
  const answers: Answer[] = [
    status(405),
    status(200),
    status(404),
    status(500),
    (request) => request.socket.destroy(),
  ];
  for (const answer of answers) {
    const receiver = await startReceiver(status(200), answer);
    const { subscribe, publish, tried } = engine.newTenant();
    await subscribe({ target_url: receiver.url });
    await publish({});
    await tried(1);
    assert.equal('webhook-request-origin' in receiver.received[0]!.headers, false);
  }
});

test('creating does not wait for the handshake', async () => {
  const receiver = await startReceiver(status(200), () => undefined);
  const { subscribe, publish, tried } = engine.newTenant();
  await subscribe({ target_url: receiver.url });
  await publish({});
  await tried(1);
});

test('the rate that the target allows is obeyed, and a smaller limit of our own too', async () => {
  for (const [perMinute, rate_limit, expected] of [
    ['120', null, 500],
    ['120', 1, 1000],
    ['600', 2, 500],
  ] as const) {
    const receiver = await startReceiver(status(200), consent({ 'webhook-allowed-rate': perMinute }));
    const { subscribe, publishMany, tried } = engine.newTenant();
    const { id } = await subscribe({ target_url: receiver.url, rate_limit });
    await whenRecorded(id, 'consented');
    assert.equal((await recorded(id)).rate, Number(perMinute));
    await publishMany(4);
    for (let count = 1; count <= 4; count++) {
      await tried(count);
      clock.advance(expected - 1);
      await tried(count);
      clock.advance(1);
    }
  }
});

test('a rate is obeyed also where the target says nothing about the origin', async () => {
  const receiver = await startReceiver(status(200), status(200, { 'webhook-allowed-rate': '120' }));
  const { subscribe, publishMany, tried } = engine.newTenant();
  const { id } = await subscribe({ target_url: receiver.url });
  await whenRecorded(id, 'unanswered');
  assert.equal((await recorded(id)).rate, 120);
  await publishMany(2);
  await tried(1);
  clock.advance(499);
  await tried(1);
  clock.advance(1);
  await tried(2);
});

test('the rate of a target is not that of the next one, nor of what becomes dead letters', async () => {
  const slow = await startReceiver(status(200), consent({ 'webhook-allowed-rate': '1' }));
  const fast = await startReceiver();
  for (const next of [{ target_url: fast.url }, { target_url: slow.url, enabled: false }]) {
    const { tenant, subscribe, publishMany, tried, letters } = engine.newTenant();
    const { id } = await subscribe({ target_url: slow.url });
    await whenRecorded(id, 'consented');
    await publishMany(4);
    await tried(1);
    await webhooks.subscriptions.update(tenant, id, { filters: ['*'], ...next });
    if (next.enabled === false) await until(async () => (await letters()).length === 3);
    else await tried(4);
  }
});

test('a changed target is asked anew, an unchanged one is not', async () => {
  const first = await startReceiver(status(200), consent({ 'webhook-allowed-rate': '60' }));
  const second = await startReceiver(status(200), status(405));
  const { tenant, subscribe } = engine.newTenant();
  const { id } = await subscribe({ target_url: first.url });
  await whenRecorded(id, 'consented');
  await webhooks.subscriptions.update(tenant, id, { target_url: first.url, filters: ['svc.*'] });
  assert.equal((await recorded(id)).handshake, 'consented');
  await webhooks.subscriptions.update(tenant, id, { target_url: second.url, filters: ['svc.*'] });
  await whenRecorded(id, 'unanswered');
  assert.deepEqual(
    [await recorded(id), first.asked.length, second.asked.length],
    [{ handshake: 'unanswered', rate: null }, 1, 1],
  );
});

test('a target that cannot be reached is asked again later', async () => {
  const receiver = await startReceiver(status(200), (request) => request.socket.destroy());
  const { subscribe } = engine.newTenant();
  const { id } = await subscribe({ target_url: receiver.url });
  const whenAsked = (count: number) =>
    until(async () => {
      const [job] = await db.sql<
        { attempt: number }[]
      >`select attempt from jobs where queue = 'handshake' and key = ${id}`;
      return job?.attempt === count;
    });
  await whenAsked(1);
  clock.advance(5 * SECOND);
  await whenAsked(2);
  receiver.consent = consent();
  clock.advance(10 * SECOND);
  await whenRecorded(id, 'consented');
  assert.equal(receiver.asked.length, 3);
});

test('a process that stops while a target is asked for the last time leaves the question to the next one', async () => {
  const receiver = await startReceiver(status(200), () => undefined);
  const idle = await startEngine({ work: false });
  const { subscribe } = idle.newTenant();
  const { id } = await subscribe({ target_url: receiver.url });
  await idle.db.sql`update jobs set attempt = ${MAX_ATTEMPTS - 1} where queue = 'handshake'`;
  const stopping = await startEngine({ url: idle.url });
  await until(() => receiver.asked.length === 1);
  await stopping.stop();
  assert.equal((await recorded(id, idle)).handshake, 'pending');
  receiver.consent = consent();
  await startEngine({ url: idle.url });
  await until(async () => (await recorded(id, idle)).handshake === 'consented');
});

test('where the tenant demands consent, deliveries wait for it', async () => {
  const receiver = await startReceiver(status(200), status(405));
  const { tenant, subscribe, publishMany, whenHeld, tried } = engine.newTenant();
  const state = async () => (await webhooks.subscriptions.get(tenant, id)).status;
  const { id } = await subscribe({ target_url: receiver.url });
  await whenRecorded(id, 'unanswered');
  await webhooks.subscriptions.requireHandshake(tenant, true);
  assert.equal(await state(), 'held');
  await publishMany(3);
  await whenHeld(id);
  clock.advance(MINUTE);
  await whenHeld(id);
  assert.equal((await webhooks.attempts.test(tenant, id)).delivered, false);
  assert.equal(receiver.received.length, 0);
  receiver.consent = consent();
  await webhooks.subscriptions.update(tenant, id, { target_url: receiver.url, filters: ['*'] });
  await whenRecorded(id, 'consented');
  assert.equal(await state(), 'active');
  await tried(3);
});

test('when the tenant no longer demands it, deliveries begin', async () => {
  const receiver = await startReceiver(status(200), status(405));
  const { tenant, subscribe, publish, whenHeld, tried } = engine.newTenant();
  await webhooks.subscriptions.requireHandshake(tenant, true);
  const { id } = await subscribe({ target_url: receiver.url });
  await publish({});
  await whenHeld(id);
  await webhooks.subscriptions.requireHandshake(tenant, false);
  await tried(1);
});

test('demanding consent asks the targets that have not given it', async () => {
  const willing = await startReceiver(status(200), consent());
  const late = await startReceiver(status(200), status(405));
  const { tenant, subscribe } = engine.newTenant();
  const [one, two] = [
    await subscribe({ target_url: willing.url }),
    await subscribe({ target_url: late.url }),
  ];
  await whenRecorded(one.id, 'consented');
  await whenRecorded(two.id, 'unanswered');
  late.consent = consent();
  await webhooks.subscriptions.requireHandshake(tenant, true);
  await whenRecorded(two.id, 'consented');
  assert.deepEqual([willing.asked.length, late.asked.length], [1, 2]);
});

test('a target that consents to other senders only is not pushed to', async () => {
  const receiver = await startReceiver(
    status(200),
    status(200, { 'webhook-allowed-origin': 'other.example.com' }),
  );
  const { tenant, subscribe, publish, whenHeld } = engine.newTenant();
  const { id } = await subscribe({ target_url: receiver.url });
  await whenRecorded(id, 'refused');
  await publish({});
  await whenHeld(id);
  const { status: state, status_reason } = await webhooks.subscriptions.get(tenant, id);
  assert.equal(state, 'held');
  assert.match(status_reason!, /other senders/);
  const report = await webhooks.attempts.test(tenant, id);
  assert.deepEqual([report.delivered, report.status], [false, null]);
  assert.equal(report.error, `not pushed: ${status_reason}`);
  assert.equal(receiver.received.length, 0);
});
