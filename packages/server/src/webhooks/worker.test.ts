/** Deliveries from the queue to real receivers, by a clock that the tests move. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { DAY, HOUR, MINUTE, SECOND } from '../kernel/clock.ts';
import { until } from '../testing/wait.ts';
import { startEngine } from './fixtures/engine.ts';
import { type Received, startReceiver, status } from './fixtures/receiver.ts';

const engine = await startEngine();
const { clock, webhooks } = engine;
const idOf = ({ headers }: Received) => String(headers['webhook-id']);

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

  receiver.answer = status(200);
  const revived = await webhooks.subscriptions.update(tenant, id, input);
  assert.deepEqual([revived.enabled, revived.status], [true, 'active']);
  await publish({ subject: 'again' });
  await tried(3);
});

test('a target that answers 410 after the subscription moved elsewhere disables nothing', async () => {
  let answer = () => {};
  const old = await startReceiver((_request, response) => {
    answer = () => response.writeHead(410).end();
  });
  const moved = await startReceiver();
  const { tenant, subscribe, publish, tried } = engine.newTenant();
  const { id } = await subscribe({ target_url: old.url });
  await publish({});
  await until(() => old.received.length === 1);
  await webhooks.subscriptions.update(tenant, id, { target_url: moved.url, filters: ['*'] });
  answer();
  await tried(1);
  assert.equal((await webhooks.subscriptions.get(tenant, id)).status, 'active');
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

test('Retry-After holds the whole subscription and shows in its status; waiting uses up no attempts', async () => {
  const receiver = await startReceiver(status(429, { 'retry-after': '60' }));
  const { tenant, subscribe, publish, tried, pending, whenPending } = engine.newTenant();
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
    await until(async () => (await pending()).every(({ dueAt }) => dueAt.getTime() > clock.now()));
    assert.equal(receiver.received.length, 1);
  }
  clock.advance(10 * SECOND);
  await tried(3);
  await whenPending(0);
  const attempts = await webhooks.attempts.list(tenant, id, 10);
  assert.deepEqual(attempts.map(({ attempt }) => attempt).sort(), [1, 1, 2]);
  assert.equal((await webhooks.subscriptions.get(tenant, id)).status, 'active');
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
  clock.advance(10 * SECOND);
  await tried(6);
  assert.equal(free.received.length, 5);
  clock.advance(HOUR);
  await tried(7);
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

test('an event that waited for a day is a dead letter', async () => {
  const receiver = await startReceiver();
  const { tenant, subscribe, publish, pending, whenPending, letters } = engine.newTenant();
  const isPutOff = async () => (await pending()).every(({ dueAt }) => dueAt.getTime() > clock.now());
  await webhooks.subscriptions.requireHandshake(tenant, true);
  await subscribe({ target_url: receiver.url });
  await publish({});
  await until(isPutOff);
  clock.advance(DAY - MINUTE);
  await until(isPutOff);
  assert.deepEqual(await letters(), []);
  clock.advance(MINUTE);
  await whenPending(0);
  const [letter] = await letters();
  assert.deepEqual([letter!.reason, letter!.totalRetries], ['timeToLiveExpired', 0]);
  assert.equal(receiver.received.length, 0);
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

test('during a rotation both secrets sign, and a day later only the new one', async () => {
  const receiver = await startReceiver();
  const { tenant, subscribe, publish, tried } = engine.newTenant();
  const { id, signing_secret: old } = await subscribe({ target_url: receiver.url });
  const { signing_secret: current } = await webhooks.subscriptions.rotateSecret(tenant, id);
  await publish({});
  await tried(1);
  const [push] = receiver.received;
  const signaturesBy = (secret: string) => {
    const { body, headers } = push!;
    const at = new Date(Number(headers['webhook-timestamp']) * 1000);
    return new Webhook(secret).sign(idOf(push!), at, body);
  };
  assert.equal(push!.headers['webhook-signature'], `${signaturesBy(current)} ${signaturesBy(old)}`);
  clock.advance(DAY);
  await webhooks.subscriptions.update(tenant, id, { target_url: receiver.url, filters: ['*'] });
  await publish({});
  await tried(2);
  assert.equal(String(receiver.received[1]!.headers['webhook-signature']).split(' ').length, 1);
});

test('a delivery that the engine itself cannot make becomes a letter, not a loss', async () => {
  const receiver = await startReceiver();
  const { subscribe, publish, letters } = engine.newTenant();
  const { id } = await subscribe({ target_url: receiver.url });
  await engine.alter(id, { sealed_secret: 'v1.sealed with another key' });
  await publish({});
  await until(async () => {
    clock.advance(HOUR);
    return (await letters()).length === 1;
  });
  assert.equal((await letters())[0]!.reason, 'rejectedByExchange');
  assert.equal(receiver.received.length, 0);
});

test('targets that hang do not delay the others', async () => {
  const hanging = await startReceiver(() => undefined);
  const healthy = await startReceiver();
  const { subscribe, publishMany } = engine.newTenant();
  for (let count = 0; count < 20; count++) await subscribe({ target_url: hanging.url });
  await subscribe({ target_url: healthy.url });
  await publishMany(200);
  await until(() => healthy.received.length === 200);
  assert.ok(hanging.received.length >= 20 && hanging.received.length <= 20 * 8);
});
