/** A person who is forgotten: in pushes that wait, in dead letters, in the tenant's own events and in the log of attempts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Tenant } from '../accounts/index.ts';
import { laneOfId, newIdIn } from '../kernel/ids.ts';
import { laneOfNumber } from '../kernel/lanes/lane-of.ts';
import type { Subject } from '../kernel/module.ts';
import { randomSecret } from '../kernel/security/crypto.ts';
import { MINUTE, SECOND } from '../kernel/time/clock.ts';
import { until } from '../testing/wait.ts';
import { type Sweep, sweepOf, sweepPage } from './erasure.ts';
import { type Engine, startEngine } from './fixtures/engine.ts';
import { startReceiver, status } from './fixtures/receiver.ts';
import { type Attempt, insertAttempts } from './store/attempts.ts';
import { readEventsAfter } from './store/events.ts';

const ADA = 64 + 5;
const ADA_BEFORE = 64 + 7;
const BOB = 64 + 6;

const shared = await startEngine();

const subjectOf = (tenant: Tenant, ...values: string[]): Subject => ({
  tenantId: tenant.id,
  profileIds: [newIdIn('prf', laneOfNumber(ADA))],
  systemIds: [ADA],
  identifiers: values.map((value) => ({ kind: value.includes('@') ? 'email' : 'external', value })),
});

const erase = ({ db, webhooks }: Engine, subject: Subject) =>
  db.transaction((tx) => webhooks.personalData.erase(tx, subject));

const publishOwn = ({ db, webhooks }: Engine, tenant: Tenant, bodies: Record<string, unknown>[]) =>
  db.transaction((tx) =>
    webhooks.publishOwn(
      tx,
      tenant,
      bodies.map((data, index) => {
        return { id: String(index), source: '/shop', type: 'own', specversion: '1.0', data };
      }),
    ),
  );

/** The data of the tenant's events in their order, without those that were erased. */
async function livingData({ db }: Engine, tenant: Tenant): Promise<unknown[]> {
  const after = { publishedAt: 0, id: '' };
  const events = await readEventsAfter(db.sql, { tenantId: tenant.id, after, limit: 100 });
  return events.map(({ body }) => JSON.parse(body).data);
}

const swept = ({ db }: Engine, { id }: Tenant) =>
  until(
    async () => (await db.sql`select from jobs where queue = 'webhook-erasures' and key = ${id}`).count === 0,
  );

test('a push that waits for a person who is forgotten ends as erased, and the target sees nothing of it', async () => {
  const secret = randomSecret();
  const idle = await startEngine({ work: false, secret });
  const receiver = await startReceiver();
  const { tenant, subscribe, publish, pending, letters } = idle.newTenant();
  const { id } = await subscribe({ target_url: receiver.url });
  await publish({ subject: 'ada', profile: ADA }, { subject: 'bob', profile: BOB }, { subject: 'nobody' });
  const lanes = (await pending()).map(({ delivery }) => laneOfId(delivery.eventId));
  assert.ok(lanes.includes(laneOfNumber(ADA)) && lanes.includes(laneOfNumber(BOB)));
  assert.equal(await erase(idle, subjectOf(tenant)), 1);
  assert.equal(await erase(idle, subjectOf(tenant)), 0);
  const worker = await startEngine({ url: idle.url, secret, clock: idle.clock });
  await until(async () => (await worker.webhooks.attempts.list(tenant, id, 10)).length === 3);
  const subjects = receiver.received.map(({ body }) => JSON.parse(body).subject);
  assert.deepEqual(subjects.sort(), ['bob', 'nobody']);
  const attempts = await worker.webhooks.attempts.list(tenant, id, 10);
  const { status, attempt, error, response, latency_ms } = attempts.find((it) => it.outcome === 'erased')!;
  assert.deepEqual([status, attempt, error, response, latency_ms], [null, 1, null, null, 0]);
  const { attempts: counted, delivered, dead_lettered } = await worker.webhooks.attempts.stats(tenant, id);
  assert.deepEqual([counted, delivered, dead_lettered], [2, 2, 0]);
  assert.deepEqual([await letters(), (await pending()).length], [[], 0]);
  const { body } = await worker.metrics.text();
  assert.match(body, /signalbox_webhook_attempts_total{outcome="erased"} 1/);
});

test('a push that failed once is not repeated when its person is forgotten, and the answer to it is blanked', async () => {
  const receiver = await startReceiver(status(503, {}, 'no room for this person'));
  const { tenant, subscribe, publish, tried, letters } = shared.newTenant();
  const { id } = await subscribe({ target_url: receiver.url });
  await publish({ profile: ADA }, { profile: BOB });
  await tried(2);
  await erase(shared, subjectOf(tenant));
  await swept(shared, tenant);
  shared.clock.advance(5 * SECOND);
  await tried(4);
  const attempts = await shared.webhooks.attempts.list(tenant, id, 10);
  assert.deepEqual(
    attempts.map(({ attempt, outcome, response }) => `${attempt} ${outcome} ${response}`).sort(),
    ['1 retry no room for this person', '1 retry null', '2 erased null', '2 retry no room for this person'],
  );
  assert.equal(receiver.received.length, 3);
  assert.deepEqual(await letters(), []);
});

test('dead letters about the person are gone, and those of others stay', async () => {
  const receiver = await startReceiver(status(400));
  const { tenant, subscribe, publish, letters } = shared.newTenant();
  await subscribe({ target_url: receiver.url });
  await publish({ profile: ADA, data: 'ada' }, { profile: BOB, data: 'bob' }, { data: 'nobody' });
  await until(async () => (await letters()).length === 3);
  const exported = await shared.webhooks.personalData.export(shared.db.sql, subjectOf(tenant));
  const kept = exported as {
    type: string;
    time?: string;
    deadLetteredAt?: string;
    event: { data: unknown };
  }[];
  assert.deepEqual(
    kept.map(({ event, time, deadLetteredAt }) => [event.data, (time ?? deadLetteredAt) !== undefined]),
    [
      ['ada', true],
      ['ada', true],
    ],
  );
  assert.equal(await erase(shared, subjectOf(tenant)), 2);
  assert.equal((await letters()).length, 2);
  assert.deepEqual(await livingData(shared, tenant), ['bob', 'nobody']);
  assert.deepEqual(await shared.webhooks.personalData.export(shared.db.sql, subjectOf(tenant)), []);
});

test('an event that is sent again is still about its person', async () => {
  const receiver = await startReceiver(status(400));
  const { tenant, subscribe, publish, letters, tried } = shared.newTenant();
  const { id } = await subscribe({ target_url: receiver.url });
  await publish({ profile: ADA });
  await until(async () => (await letters()).length === 1);
  shared.clock.advance(MINUTE);
  receiver.answer = status(204);
  await shared.webhooks.deadLetters.reschedule(tenant, id, {
    from: new Date(0),
    until: new Date(shared.clock.now()),
    dryRun: false,
  });
  await tried(2);
  assert.equal((await shared.webhooks.personalData.export(shared.db.sql, subjectOf(tenant))).length, 2);
  assert.equal(await erase(shared, subjectOf(tenant)), 2);
});

test("the tenant's own event that holds an identifier is blanked, one that holds a longer one is not", async () => {
  const { tenant } = shared.newTenant();
  const erased = [
    { email: 'ada@example.com' },
    { email: 'Ada@Example.COM' },
    { all: [1, 'ada@example.com'] },
    { by: { 'ada@example.com': true } },
    { customer: 'C.42"' },
  ];
  const left = [
    { email: 'xada@example.com' },
    { email: 'ada@example.com.au' },
    { email: 'adaXexampleXcom' },
    { text: 'write to ada@example.com' },
    { text: '"ada@example.com"' },
    { text: 'a "ada@example.com' },
    { customer: 'c.42"' },
    { customer: 'C-42"' },
    { customer: 'C.42' },
  ];
  await publishOwn(shared, tenant, [...erased, ...left]);
  const stranger = shared.newTenant();
  await publishOwn(shared, stranger.tenant, erased);
  await erase(shared, subjectOf(tenant, 'ada@example.com', 'C.42"'));
  await swept(shared, tenant);
  assert.deepEqual(new Set(await livingData(shared, tenant)), new Set(left));
  assert.equal((await livingData(shared, stranger.tenant)).length, erased.length);
});

test('letters of own events that hold an identifier are deleted, and answers that hold one are blanked', async () => {
  const receiver = await startReceiver(status(400, {}, '{"error":"Ada@example.com is unknown"}'));
  const { tenant, subscribe, letters } = shared.newTenant();
  const { id } = await subscribe({ target_url: receiver.url });
  await publishOwn(shared, tenant, [{ email: 'ada@example.com' }, { email: 'bob@example.com' }]);
  await until(async () => (await letters()).length === 2);
  receiver.answer = status(400, {}, 'nada@example.com is unknown');
  await publishOwn(shared, tenant, [{}, {}, { email: 'eve@example.com' }]);
  await until(async () => (await letters()).length === 3);
  await erase(shared, subjectOf(tenant, 'ada@example.com'));
  await swept(shared, tenant);
  const bodies = (await letters()).map(({ finalResponse }) => finalResponse.body);
  assert.deepEqual(bodies.sort(), ['nada@example.com is unknown', null]);
  const attempts = await shared.webhooks.attempts.list(tenant, id, 10);
  assert.deepEqual(attempts.map(({ response }) => response).sort(), [
    'nada@example.com is unknown',
    null,
    null,
  ]);
});

test('a search that was interrupted goes on where it was, and a page that is repeated changes nothing more', async () => {
  const idle = await startEngine({ work: false });
  const { tenant } = idle.newTenant();
  const data = Array.from({ length: 7 }, (_, index) => ({ who: index % 2 ? 'c-1' : 'c-12', index }));
  await publishOwn(idle, tenant, data);
  const attempt = (number: number): Attempt => ({
    at: idle.clock.now(),
    eventId: `evt_${number}`,
    tenantEventId: null,
    eventType: 'own',
    profile: number === 2 ? ADA : 0,
    attempt: 1,
    statusCode: 400,
    latencyMs: 1,
    outcome: 'dead',
    error: null,
    response: number === 3 ? 'no c-1 here' : `no c-1${number}`,
  });
  for (const numbers of [[0, 1, 2], [3], [4, 3], [5]]) {
    const made = numbers.map((number) => {
      return { tenantId: tenant.id, subscriptionId: 'sub_x', attempt: attempt(number) };
    });
    await insertAttempts(idle.db.sql, made);
  }
  const page = (sweep: Sweep) => sweepPage(idle.db.sql, JSON.parse(JSON.stringify(sweep)), 2);
  const steps: string[] = [];
  let sweep: Sweep | undefined = sweepOf(subjectOf(tenant, 'c-1'), idle.clock.now());
  while (sweep !== undefined) {
    steps.push(sweep.step);
    await page(sweep);
    sweep = await page(sweep);
  }
  assert.deepEqual(steps, ['events', 'events', 'events', 'events', 'letters', 'attempts', 'attempts']);
  const left = (await livingData(idle, tenant)) as typeof data;
  assert.deepEqual(left.map(({ index }) => index).sort(), [0, 2, 4, 6]);
  const rows = await idle.db.sql<{ attempts: { response: unknown; eventId: unknown } }[]>`
    select attempts from webhook_attempts where tenant_id = ${tenant.id}`;
  const responses = rows.map(({ attempts }) => JSON.stringify([attempts.eventId, attempts.response]));
  assert.deepEqual(responses.sort(), [
    '["evt_3",null]',
    '["evt_5","no c-15"]',
    '[["evt_0","evt_1","evt_2"],["no c-10","no c-11",null]]',
    '[["evt_4","evt_3"],["no c-14",null]]',
  ]);
});

test('what is published after the erasure is left alone', async () => {
  const { tenant } = shared.newTenant();
  const sweep = sweepOf(subjectOf(tenant, 'ada@example.com'), shared.clock.now());
  shared.clock.advance(1);
  await publishOwn(shared, tenant, [{ email: 'ada@example.com' }]);
  await sweepPage(shared.db.sql, sweep);
  assert.equal((await livingData(shared, tenant)).length, 1);
});

test('events and letters of a merged profile are those of the living one, in the lanes where they were', async () => {
  const receiver = await startReceiver(status(400));
  const { db, webhooks } = shared;
  const { tenant, subscribe, publish, letters } = shared.newTenant();
  await subscribe({ target_url: receiver.url });
  await publish({ profile: ADA_BEFORE, data: 'before' }, { profile: BOB, data: 'bob' });
  await until(async () => (await letters()).length === 2);
  const move = { tenantId: tenant.id, from: ADA_BEFORE, into: ADA };
  assert.equal(await db.transaction((tx) => webhooks.personalData.merge!(tx, move)), false);
  const numbers = await db.sql<{ profile: number }[]>`
    select profile from webhook_events where tenant_id = ${tenant.id}
    union all select profile from webhook_dead_letters where tenant_id = ${tenant.id}`;
  assert.deepEqual(numbers.map(({ profile }) => profile).sort(), [ADA, ADA, BOB, BOB]);
  const subject = { ...subjectOf(tenant), systemIds: [ADA, ADA_BEFORE] };
  assert.equal((await webhooks.personalData.export(db.sql, subject)).length, 2);
  assert.equal(await erase(shared, subject), 2);
});
