/** Deliveries from the queue to real receivers, by a clock that the tests move. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import type { Tenant } from '../../accounts/index.ts';
import { DAY, MINUTE, SECOND } from '../../kernel/time/clock.ts';
import { until } from '../../testing/wait.ts';
import { startEngine } from '../fixtures/engine.ts';
import { type Received, startReceiver, status } from '../fixtures/receiver.ts';

const engine = await startEngine();
const { clock, webhooks } = engine;
const idOf = ({ headers }: Received) => String(headers['webhook-id']);
const figuresOf = async (tenant: Tenant, id: string) => {
  const { attempts, delivered, retried, dead_lettered } = await webhooks.attempts.stats(tenant, id);
  return { attempts, delivered, retried, dead_lettered };
};

test('an event is delivered once, and the attempt is in the log', async () => {
  const receiver = await startReceiver(status(200, {}, 'thanks'));
  const { tenant, subscribe, publish, tried, pending, letters } = engine.newTenant();
  const { id, signing_secret } = await subscribe({ target_url: receiver.url, filters: ['example.order.*'] });
  await publish({ subject: 'order 1' }, { type: 'com.example.cart.filled' });
  await tried(1);
  const [push, ...more] = receiver.received;
  assert.equal(more.length, 0);
  const envelope = new Webhook(signing_secret).verify(push!.body, push!.headers as Record<string, string>);
  const { id: eventId, subject } = envelope as Record<string, string>;
  assert.deepEqual([eventId, subject], [idOf(push!), 'order 1']);
  const [attempt] = await webhooks.attempts.list(tenant, id, 10);
  const { time, latency_ms, ...rest } = attempt!;
  assert.deepEqual(rest, {
    webhook_id: eventId,
    event_id: eventId,
    event_type: 'com.example.order.paid',
    attempt: 1,
    status: 200,
    outcome: 'delivered',
    error: null,
    response: 'thanks',
  });
  const { latency_ms: percentiles, ...stats } = await webhooks.attempts.stats(tenant, id);
  const counts = { attempts: 1, delivered: 1, retried: 0, dead_lettered: 0 };
  assert.deepEqual(stats, { period_hours: 24, ...counts, last_delivered_at: time });
  assert.deepEqual(percentiles, { p50: latency_ms, p95: latency_ms, p99: latency_ms });
  assert.deepEqual([await letters(), (await pending()).length], [[], 0]);
  const { body } = await engine.metrics.text();
  assert.match(body, /signalbox_webhook_delivery_seconds_count 1/);
  assert.match(body, /signalbox_webhook_attempts_total{outcome="delivered"} 1/);
});

test('the first push of a subscription holds the others up no longer than it takes to know its limits', async () => {
  const receiver = await startReceiver();
  const unanswered: ServerResponse[] = [];
  receiver.answer = (_request, response) => void unanswered.push(response);
  const { tenant, subscribe, publishMany, tried } = engine.newTenant();
  const { id } = await subscribe({ target_url: receiver.url });
  const came = (count: number) => until(() => unanswered.length === count, { what: `${count} pushes` });
  await publishMany(4);
  await came(4);
  await publishMany(4);
  await came(8);
  for (const response of unanswered) response.end();
  await tried(8);
  assert.deepEqual(await figuresOf(tenant, id), { attempts: 8, delivered: 8, retried: 0, dead_lettered: 0 });
});

test('a failing push is tried at 0, 1, 2, 4 and 8 s under one id, and is then a dead letter', async () => {
  const receiver = await startReceiver((_request, response, count) =>
    response.writeHead(500).end(`no ${count}`),
  );
  const { tenant, subscribe, publish, tried, pending, letters } = engine.newTenant();
  const { id } = await subscribe({ target_url: receiver.url });
  await publish({});
  for (const [index, wait] of [1000, 2000, 4000, 8000].entries()) {
    await tried(index + 1);
    const [waiting] = await pending();
    const delay = waiting!.dueAt.getTime() - clock.now();
    assert.ok(delay >= wait && delay <= wait * 1.1, `${delay} ms after attempt ${index + 1}`);
    const last = { attempts: index + 1, at: clock.now(), code: 500, body: `no ${index + 1}` };
    assert.deepEqual(waiting!.delivery.last, last);
    clock.advance(delay);
  }
  await tried(5);
  assert.equal(new Set(receiver.received.map(idOf)).size, 1);
  assert.equal(new Set(receiver.received.map(({ body }) => body)).size, 1);
  const [letter] = await letters();
  const { reason, totalRetries, finalResponse, eventId, subscriptionId } = letter!;
  assert.deepEqual(
    [reason, totalRetries, finalResponse],
    ['maximumAttemptsReached', 4, { code: 500, body: 'no 5' }],
  );
  assert.deepEqual([eventId, subscriptionId], [idOf(receiver.received[0]!), id]);
  const attempts = await webhooks.attempts.list(tenant, id, 10);
  const log = attempts.map(({ attempt, outcome, response }) => [attempt, outcome, response]);
  assert.deepEqual(
    log,
    [5, 4, 3, 2, 1].map((number) => [number, number === 5 ? 'dead' : 'retry', `no ${number}`]),
  );
});

test('a push that succeeds at last leaves no letter', async () => {
  const receiver = await startReceiver((_request, response, count) =>
    response.writeHead(count < 3 ? 503 : 200).end(),
  );
  const { subscribe, publish, tried, whenPending, letters } = engine.newTenant();
  await subscribe({ target_url: receiver.url });
  await publish({});
  for (const [index, wait] of [1100, 2200].entries()) {
    await tried(index + 1);
    clock.advance(wait);
  }
  await tried(3);
  await whenPending(0);
  assert.deepEqual(await letters(), []);
});

test('what the target refuses is a dead letter after one attempt', async () => {
  for (const code of [301, 302, 400, 401, 403, 404, 409, 413, 422]) {
    const receiver = await startReceiver(status(code, { location: '/elsewhere' }, 'because'));
    const { tenant, subscribe, publish, tried, letters } = engine.newTenant();
    const { id } = await subscribe({ target_url: receiver.url });
    await publish({});
    await tried(1);
    const [metadata] = await letters();
    const { reason, totalRetries, finalResponse, deadLetterId } = metadata!;
    assert.deepEqual(
      [reason, totalRetries, finalResponse],
      ['rejectedByTarget', 0, { code, body: 'because' }],
    );
    const letter = await webhooks.deadLetters.get(tenant, id, deadLetterId);
    const { deliveryattempts, lasthttpstatuscode, lastdeliveryattempttime } = letter;
    assert.deepEqual([deliveryattempts, lasthttpstatuscode], [1, code]);
    assert.equal(lastdeliveryattempttime, new Date(clock.now()).toISOString());
    assert.equal(receiver.received.length, 1);
  }
});

test('408, 425, 429, server errors and broken connections are tried again', async () => {
  const reset = (request: Received) => request.socket.resetAndDestroy();
  for (const answer of [reset, ...[408, 425, 429, 500, 502, 503, 504, 507].map((code) => status(code))]) {
    const receiver = await startReceiver(answer);
    const { tenant, subscribe, publish, tried, whenPending, letters } = engine.newTenant();
    const { id } = await subscribe({ target_url: receiver.url });
    await publish({});
    await tried(1);
    const [attempt] = await webhooks.attempts.list(tenant, id, 1);
    assert.equal(attempt!.outcome, 'retry');
    assert.equal(attempt!.status === null, attempt!.error !== null);
    receiver.answer = status(204);
    clock.advance(1100);
    await tried(2);
    await whenPending(0);
    assert.deepEqual(await letters(), []);
  }
});

test('a host that cannot be resolved is tried five times and ends as unknownTarget', async () => {
  const { subscribe, publish, tried, letters } = engine.newTenant();
  await subscribe({ target_url: 'http://nowhere.invalid/hook' });
  await publish({});
  for (const [index, wait] of [1100, 2200, 4400, 8800].entries()) {
    await tried(index + 1);
    clock.advance(wait);
  }
  await tried(5);
  const [letter] = await letters();
  const { reason, totalRetries, finalResponse } = letter!;
  assert.deepEqual([reason, totalRetries, finalResponse.code], ['unknownTarget', 4, null]);
  assert.match(finalResponse.body!, /cannot be resolved/);
});

test('a target that the egress guard refuses is a dead letter at once', async () => {
  const { subscribe, publish, tried, letters } = engine.newTenant();
  const { id } = await subscribe({ target_url: 'http://127.0.0.1:9/hook' });
  await engine.alter(id, { target_url: 'http://10.0.0.1/hook' });
  await publish({});
  await tried(1);
  const [letter] = await letters();
  assert.equal(letter!.reason, 'rejectedByExchange');
  assert.match(letter!.finalResponse.body!, /private/);
});

test('deleting a subscription drops what is pending, without letters', async () => {
  const receiver = await startReceiver(status(500));
  const { tenant, subscribe, publishMany, tried, whenPending, letters } = engine.newTenant();
  const { id } = await subscribe({ target_url: receiver.url });
  await publishMany(3);
  await tried(3);
  await webhooks.subscriptions.remove(tenant, id);
  clock.advance(1100);
  await whenPending(0);
  assert.equal(receiver.received.length, 3);
  assert.deepEqual(await letters(), []);
});

test('an event that waited for a day is a dead letter', async () => {
  const receiver = await startReceiver();
  const { tenant, subscribe, publish, whenHeld, whenPending, letters } = engine.newTenant();
  await webhooks.subscriptions.requireHandshake(tenant, true);
  const { id } = await subscribe({ target_url: receiver.url });
  await publish({});
  await whenHeld(id);
  clock.advance(DAY - MINUTE);
  await whenHeld(id);
  assert.deepEqual(await letters(), []);
  clock.advance(MINUTE);
  await whenPending(0);
  const [letter] = await letters();
  assert.deepEqual([letter!.reason, letter!.totalRetries], ['timeToLiveExpired', 0]);
  assert.equal(receiver.received.length, 0);
  assert.deepEqual(await figuresOf(tenant, id), { attempts: 0, delivered: 0, retried: 0, dead_lettered: 1 });
});

test('events whose day is over do not wait for the rate, nor use it up', async () => {
  const receiver = await startReceiver();
  const { subscribe, publishMany, tried, whenPending, letters } = engine.newTenant();
  await subscribe({ target_url: receiver.url, rate_limit: 1 });
  await publishMany(1);
  await tried(1);
  await publishMany(20);
  clock.advance(DAY);
  await whenPending(0);
  assert.deepEqual(
    (await letters()).map(({ reason }) => reason),
    Array(20).fill('timeToLiveExpired'),
  );
  await publishMany(2);
  await tried(2);
  clock.advance(999);
  await tried(2);
  clock.advance(1);
  await tried(3);
});

test('an event over 1 MiB is a dead letter without an attempt, also when it is sent again', async () => {
  const receiver = await startReceiver();
  const { tenant, subscribe, publish, tried, letters } = engine.newTenant();
  const { id } = await subscribe({ target_url: receiver.url });
  await publish({ subject: 'large', data: 'x'.repeat(1024 * 1024) }, { subject: 'small' });
  await tried(1);
  const [letter] = await letters();
  assert.deepEqual([letter!.reason, letter!.totalRetries], ['sizeLimitExceeded', 0]);
  assert.deepEqual(letter!.finalResponse, { code: null, body: null });
  const whole = await webhooks.deadLetters.get(tenant, id, letter!.deadLetterId);
  assert.deepEqual(
    [whole.subject, whole.deliveryattempts, whole.lastdeliveryattempttime],
    ['large', 0, null],
  );
  clock.advance(1);
  const range = { from: new Date(0), until: new Date(clock.now()), dryRun: false };
  await webhooks.deadLetters.reschedule(tenant, id, range);
  await until(async () => {
    const [again] = await letters();
    return again !== undefined && again.deadLetterId !== letter!.deadLetterId;
  });
  await tried(1);
  assert.deepEqual(await figuresOf(tenant, id), { attempts: 1, delivered: 1, retried: 0, dead_lettered: 2 });
});

test('a rescheduled letter has its old id, new attempts and a new day to live', async () => {
  const receiver = await startReceiver(status(400));
  const { tenant, subscribe, publish, tried, letters } = engine.newTenant();
  const { id } = await subscribe({ target_url: receiver.url });
  await publish({});
  await tried(1);
  clock.advance(3 * DAY);
  receiver.answer = status(500);
  const range = { from: new Date(0), until: new Date(clock.now()), dryRun: false };
  await webhooks.deadLetters.reschedule(tenant, id, range);
  for (const [index, wait] of [1100, 2200, 4400, 8800].entries()) {
    await tried(index + 2);
    clock.advance(wait);
  }
  await tried(6);
  assert.equal(new Set(receiver.received.map(idOf)).size, 1);
  const ends = (await letters()).map(({ reason, totalRetries }) => [reason, totalRetries]);
  assert.deepEqual(ends, [['maximumAttemptsReached', 4]]);
});

test('after two rotations in a day all three secrets sign, newest first, and a day later only the last', async () => {
  const receiver = await startReceiver();
  const { tenant, subscribe, publish, tried } = engine.newTenant();
  const { id, signing_secret: oldest } = await subscribe({ target_url: receiver.url });
  const { signing_secret: old } = await webhooks.subscriptions.rotateSecret(tenant, id);
  const { signing_secret: current } = await webhooks.subscriptions.rotateSecret(tenant, id);
  await publish({});
  await tried(1);
  const [push] = receiver.received;
  const signaturesBy = (secret: string) => {
    const { body, headers } = push!;
    const at = new Date(Number(headers['webhook-timestamp']) * 1000);
    return new Webhook(secret).sign(idOf(push!), at, body);
  };
  assert.equal(push!.headers['webhook-signature'], [current, old, oldest].map(signaturesBy).join(' '));
  clock.advance(DAY);
  await webhooks.subscriptions.update(tenant, id, { target_url: receiver.url, filters: ['*'] });
  await publish({});
  await tried(2);
  assert.equal(String(receiver.received[1]!.headers['webhook-signature']).split(' ').length, 1);
});

test('a delivery that the engine itself cannot make becomes a letter, not a loss', async () => {
  const receiver = await startReceiver();
  const { tenant, subscribe, publish, letters } = engine.newTenant();
  const { id } = await subscribe({ target_url: receiver.url });
  await engine.alter(id, { sealed_secret: 'v1.sealed with another key' });
  await publish({});
  await until(async () => {
    clock.advance(SECOND);
    return (await letters()).length === 1;
  });
  assert.equal((await letters())[0]!.reason, 'rejectedByExchange');
  assert.equal(receiver.received.length, 0);
  assert.deepEqual(await figuresOf(tenant, id), { attempts: 0, delivered: 0, retried: 0, dead_lettered: 1 });
});

test('a worker that cannot start leaves no lanes to those that could', async () => {
  const { db, webhooks: broken } = await startEngine({ work: false });
  await db.sql`alter table lanes add check (queue <> 'reschedule')`;
  await assert.rejects(broken.work(), { code: '23514' });
  assert.equal((await db.sql`select queue from lanes where owner is not null`).length, 0);
});
