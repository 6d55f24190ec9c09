/** The door for events: transactions, idempotency, and subscriptions that other processes change. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../kernel/time/clock.ts';
import { startTestServer } from '../testing/server.ts';
import { until } from '../testing/wait.ts';
import { createApi } from './fixtures/api.ts';
import { SAMPLE, startEngine } from './fixtures/engine.ts';
import { startReceiver, status } from './fixtures/receiver.ts';

const engine = await startEngine({ clock: systemClock });
const { db, webhooks } = engine;

const server = await startTestServer();
const api = await createApi(server);
const least = { specversion: '1.0', source: '/shop/orders', type: 'com.example.order.paid' };

async function countOf(table: string, tenantId: string): Promise<number> {
  // Deliveries alone: the handshake of a new subscription is a job too.
  const key = table === 'jobs' ? db.sql`queue = 'push' and payload->>'tenantId'` : db.sql`tenant_id::text`;
  return (await db.sql`select from ${db.sql(table)} where ${key} = ${tenantId}`).count;
}

test('an event with a number that cannot be held is refused by name, and nothing of its batch is sent', async () => {
  const event = (data: string) =>
    `{"specversion":"1.0","id":"big","source":"/shop","type":"com.example.big","data":${data}}`;
  const message = 'is a number that cannot be held exactly; send it as a string';
  const { status, body } = await api('POST', '/events/send', `[${event('1')},${event('{"a":[7,1e400]}')}]`);
  assert.equal(status, 400);
  assert.deepEqual(body.errors, { '[1].data.a[1]': [message] });
  const other = await api('POST', '/events/send', event('12345678901234567890'));
  assert.deepEqual([other.status, other.body.errors], [400, { data: [message] }]);
  assert.equal((await api('POST', '/events/send', event('"12345678901234567890"'))).status, 202);
});

test('what is rolled back was never published', async () => {
  const receiver = await startReceiver();
  const { tenant, subscribe, publish } = engine.newTenant();
  await subscribe({ target_url: receiver.url });
  const failing = db.transaction(async (tx) => {
    await webhooks.publish(tx, tenant, [SAMPLE, { ...SAMPLE, data: 'x'.repeat(1024 * 1024) }]);
    await webhooks.publishOwn(tx, tenant, [{ ...least, id: 'rolled back' }]);
    throw new Error('changed my mind');
  });
  await assert.rejects(failing, /changed my mind/);
  for (const table of ['webhook_events', 'jobs', 'webhook_dead_letters', 'dedupe_keys']) {
    assert.equal(await countOf(table, tenant.id), 0, table);
  }
  await publish({ subject: 'afterwards' });
  await until(() => receiver.received.length > 0);
  assert.deepEqual(
    receiver.received.map(({ body }) => JSON.parse(body).subject),
    ['afterwards'],
  );
});

test('an event goes to every subscription that matches, and to no other', async () => {
  const receivers = await Promise.all(Array.from({ length: 4 }, () => startReceiver()));
  const { subscribe, publish } = engine.newTenant();
  const filters = [['*'], ['example.order.*', '*.paid'], ['example.cart.*'], ['*']];
  for (const [index, receiver] of receivers.entries()) {
    const advanced_filters =
      index === 3 ? [{ key: 'data.total', operator: 'numberGreaterThan', value: 100 }] : [];
    await subscribe({ target_url: receiver.url, filters: filters[index]!, advanced_filters });
  }
  const stranger = await startReceiver();
  await engine.newTenant().subscribe({ target_url: stranger.url });
  await publish({ data: { total: 12 } }, { data: { total: 120 } });
  await until(() => receivers[0]!.received.length === 2 && receivers[1]!.received.length === 2);
  await until(() => receivers[3]!.received.length === 1);
  assert.equal(receivers[2]!.received.length + stranger.received.length, 0);
});

test('a subscription counts from its commit on for every process, and so does its end', async () => {
  const idle = await startEngine({ clock: systemClock, work: false });
  const besideIdle = await startEngine({ clock: systemClock, work: false, url: idle.url });
  const { tenant, subscribe, pending } = idle.newTenant();
  const matched = async () => {
    const before = (await pending()).length;
    await besideIdle.db.transaction((tx) => besideIdle.webhooks.publish(tx, tenant, [SAMPLE]));
    return (await pending()).length - before;
  };
  const input = { target_url: 'http://127.0.0.1:9/hook', filters: ['*'] };
  for (let round = 0; round < 10; round++) {
    assert.equal(await matched(), 0);
    const { id } = await subscribe(input);
    assert.equal(await matched(), 1);
    await idle.webhooks.subscriptions.update(tenant, id, { ...input, filters: ['other.*'] });
    assert.equal(await matched(), 0);
    await idle.webhooks.subscriptions.update(tenant, id, input);
    await subscribe(input);
    assert.equal(await matched(), 2);
    await idle.webhooks.subscriptions.update(tenant, id, { ...input, enabled: false });
    assert.equal(await matched(), 1);
    await idle.webhooks.subscriptions.removeAll(tenant);
  }
});

test('a change that is rolled back leaves no trace in what is matched', async () => {
  const receiver = await startReceiver();
  const { tenant, subscribe, publish } = engine.newTenant();
  await subscribe({ target_url: receiver.url, filters: ['example.order.*'] });
  await publish({});
  const rolledBack = db.transaction(async (tx) => {
    await tx.sql`update webhook_subscriptions set filters = '{nothing}' where tenant_id = ${tenant.id}`;
    await tx.sql`update webhook_sets set version = gen_random_uuid() where tenant_id = ${tenant.id}`;
    await webhooks.publish(tx, tenant, [SAMPLE]);
    throw new Error('no');
  });
  await assert.rejects(rolledBack);
  await publish({});
  await until(() => receiver.received.length === 2);
});

test('events of a tenant are accepted in every form, and pushed as CloudEvents of that tenant', async () => {
  const receiver = await startReceiver();
  await api('POST', '/admin/subscriptions', { target_url: receiver.url, filters: ['example.form.*'] });
  const type = 'com.example.form.x';
  const forms: [id: string, contentType: string, wrap: (event: object) => unknown][] = [
    ['json', 'application/json', (event) => event],
    ['json array', 'application/json; charset=utf-8', (event) => [event]],
    ['structured', 'application/cloudevents+json', (event) => event],
    ['batch', 'application/cloudevents-batch+json', (event) => [event]],
  ];
  for (const [id, contentType, wrap] of forms) {
    const event = { ...least, type, id, tenant: 'not mine', custom: 'kept', data: { id } };
    const answer = await api('POST', '/events/send', wrap(event), { 'content-type': contentType });
    assert.deepEqual([answer.status, answer.body], [202, { accepted: 1 }], id);
  }
  await until(() => receiver.received.length === 4);
  const bodies = receiver.received.map(({ body }) => JSON.parse(body));
  assert.deepEqual(bodies.map(({ id }) => id).sort(), forms.map(([id]) => id).sort());
  for (const { time, ...envelope } of bodies) {
    const { id } = envelope;
    const expected = {
      ...least,
      type,
      id,
      tenant: server.tenant.name,
      custom: 'kept',
      datacontenttype: 'application/json',
    };
    assert.deepEqual(envelope, { ...expected, data: { id } });
    assert.equal(new Date(time).toISOString(), time);
  }
  for (const { headers } of receiver.received)
    assert.match(String(headers['webhook-id']), /^evt_[0-9a-z]{26}$/);
});

test('an event in binary mode is taken with data of any type, and pushed as the same event in structured mode', async () => {
  const receiver = await startReceiver();
  await api('POST', '/admin/subscriptions', { target_url: receiver.url, filters: ['example.binary'] });
  const send = (id: string, body: unknown, headers: Record<string, string>) =>
    api('POST', '/events/send', body, {
      'ce-specversion': '1.0',
      'ce-source': '/shop/binary',
      'ce-type': 'com.example.binary',
      'ce-id': id,
      ...headers,
    });
  const cases: [id: string, type: string, body: unknown, data: object][] = [
    ['json', 'application/json', { total: 7 }, { data: { total: 7 } }],
    ['list', 'application/vnd.shop+json', [1, 2], { data: [1, 2] }],
    ['text', 'text/plain; charset=utf-8', 'Grüße', { data: 'Grüße' }],
    ['form', 'application/x-www-form-urlencoded', 'a=1', { data_base64: 'YT0x' }],
    ['lines', 'application/jsonl', '{}', { data_base64: 'e30=' }],
    ['xml', 'application/xml', '<a/>', { data_base64: 'PGEvPg==' }],
  ];
  for (const [id, type, body] of cases) {
    const answer = await send(id, body, { 'content-type': type, 'ce-shelf': 'caf%C3%A9' });
    assert.deepEqual([answer.status, answer.body], [202, { accepted: 1 }], id);
  }
  assert.equal((await send('nothing', undefined, {})).status, 202);
  assert.equal((await send('json', { total: 8 }, {})).status, 202, 'the same source and id');
  await until(() => receiver.received.length >= cases.length + 1);
  const bodies = new Map(receiver.received.map(({ body }) => [JSON.parse(body).id, JSON.parse(body)]));
  const common = { ...least, source: '/shop/binary', type: 'com.example.binary', tenant: server.tenant.name };
  for (const [id, datacontenttype, , data] of cases) {
    const { time, ...event } = bodies.get(id);
    assert.deepEqual(event, { ...common, id, shelf: 'café', datacontenttype, ...data }, time);
  }
  const { time, ...bare } = bodies.get('nothing');
  assert.deepEqual(bare, { ...common, id: 'nothing' }, time);
});

test('what is wrong with an event in binary mode is refused by name', async () => {
  const ask = async (headers: Record<string, string>, body: unknown = {}) => {
    const answer = await api('POST', '/events/send', body, { 'ce-id': '1', ...headers });
    return [answer.status, Object.keys(answer.body.errors ?? {}).sort()];
  };
  assert.deepEqual(await ask({}), [400, ['source', 'specversion', 'type']]);
  assert.deepEqual(await ask({ 'ce-type': '%ff', 'ce-data': '1' }), [400, ['ce-data', 'ce-type']]);
  assert.deepEqual(await ask({ 'content-type': 'application/cloudevents+json' }), [
    400,
    ['id', 'source', 'specversion', 'type'],
  ]);
  assert.deepEqual(await ask({ 'content-type': 'text/plain', 'content-encoding': 'gzip' }, 'x'), [415, []]);
});

test('the same source and id is one event, however often and at the same time it is sent', async () => {
  const receiver = await startReceiver();
  await api('POST', '/admin/subscriptions', { target_url: receiver.url, filters: ['example.once.*'] });
  const event = { ...least, type: 'com.example.once.x', id: 'once' };
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, index) => api('POST', '/events/send', index % 2 ? event : [event, event])),
  );
  for (const [index, { status: code, body }] of answers.entries()) {
    assert.deepEqual([code, body], [202, { accepted: index % 2 ? 1 : 2 }]);
  }
  const others = [
    { ...event, source: '/other' },
    { ...event, id: 'twice' },
    { ...event, source: '/shop', id: 'orders once' },
  ];
  await api('POST', '/events/send', others);
  await until(() => receiver.received.length >= 4);
  assert.equal((await api('POST', '/events/send', event)).status, 202);
  const stranger = await createApi(server, await server.modules.accounts.createTenant({ name: 'once-more' }));
  await stranger('POST', '/admin/subscriptions', { target_url: receiver.url, filters: ['*'] });
  await stranger('POST', '/events/send', event);
  await until(() => receiver.received.length >= 5);
  const got = receiver.received
    .map(({ body }) => JSON.parse(body))
    .map(({ tenant, source, id }) => `${tenant} ${source} ${id}`);
  const own = server.tenant.name;
  const expected = [`${own} /shop/orders once`, `${own} /other once`, `${own} /shop/orders twice`];
  assert.deepEqual(
    got.sort(),
    [...expected, `${own} /shop orders once`, 'once-more /shop/orders once'].sort(),
  );
});

test('of two events with the same source and id in one batch the first counts, as it does over several calls', async () => {
  const receiver = await startReceiver();
  await api('POST', '/admin/subscriptions', { target_url: receiver.url, filters: ['example.first.*'] });
  const event = { ...least, type: 'com.example.first.x', id: 'same' };
  const batch = [
    { ...event, data: 'first' },
    { ...event, data: 'second' },
  ];
  assert.equal((await api('POST', '/events/send', batch)).status, 202);
  await until(() => receiver.received.length > 0);
  assert.deepEqual(
    receiver.received.map(({ body }) => JSON.parse(body).data),
    ['first'],
  );
});

test('the longest source and id that are allowed, in the widest characters, are still one event', async () => {
  const event = { ...least, source: '€'.repeat(1024), id: '😀'.repeat(127) };
  for (let count = 0; count < 2; count++) {
    assert.deepEqual((await api('POST', '/events/send', event)).body, { accepted: 1 });
  }
});

test('a dead letter of an own event is known by the id that the tenant gave', async () => {
  const receiver = await startReceiver(status(400));
  const { body: subscription } = await api('POST', '/admin/subscriptions', {
    target_url: receiver.url,
    filters: ['example.letter'],
  });
  await api('POST', '/events/send', { ...least, type: 'com.example.letter', id: 'my own id' });
  const list = `/admin/deadletters?subscriptionId=${subscription.id}`;
  await until(async () => (await api('GET', list)).body.items.length === 1);
  const [{ eventId, deadLetterId }] = (await api('GET', list)).body.items;
  assert.equal(eventId, 'my own id');
  const { body: letter } = await api('GET', `/admin/deadletters/${subscription.id}/${deadLetterId}`);
  assert.equal(letter.id, 'my own id');
  const { body: attempts } = await api('GET', `/admin/subscriptions/${subscription.id}/attempts`);
  assert.equal(attempts.items[0].event_id, 'my own id');
  assert.equal(attempts.items[0].webhook_id, receiver.received[0]!.headers['webhook-id']);
  // What was fetched can be sent again as it is, under another id.
  assert.equal((await api('POST', '/events/send', { ...letter, id: 'my own id, again' })).status, 202);
});

test('wrong events are refused together, by member, and nothing of the batch is published', async () => {
  const receiver = await startReceiver();
  await api('POST', '/admin/subscriptions', { target_url: receiver.url, filters: ['example.batch.*'] });
  const event = { ...least, type: 'com.example.batch.x' };
  const { status: code, body } = await api('POST', '/events/send', [
    { ...event, id: 'fine' },
    { ...event, specversion: '2' },
  ]);
  assert.equal(code, 400);
  assert.deepEqual(Object.keys(body.errors).sort(), ['[1].id', '[1].specversion']);
  for (const wrong of [undefined, [], 'text', '{', 3, null]) {
    const answer = await api('POST', '/events/send', wrong === 'text' ? '"text"' : wrong);
    assert.equal(answer.status, 400, JSON.stringify(wrong));
  }
  const brackets = '['.repeat(50_000) + ']'.repeat(50_000);
  const deep = JSON.stringify({ ...event, id: 'deep', data: 0 }).replace('"data":0', `"data":${brackets}`);
  const tooDeep = await api('POST', '/events/send', deep);
  assert.deepEqual([tooDeep.status, Object.keys(tooDeep.body.errors)], [400, ['data']]);
  assert.equal(
    (await api('POST', '/events/send', '<x/>', { 'content-type': 'application/xml' })).status,
    415,
  );
  assert.equal(
    (await api('POST', '/events/send', { ...event, id: 'x', data: 'x'.repeat(1024 * 1024) })).status,
    413,
  );
  await api('POST', '/events/send', { ...event, id: 'fine' });
  await until(() => receiver.received.length > 0);
  assert.equal(receiver.received.length, 1);
});

test('an event that grows over 1 MiB on its way in is a dead letter without an attempt', async () => {
  const receiver = await startReceiver();
  const { body: subscription } = await api('POST', '/admin/subscriptions', {
    target_url: receiver.url,
    filters: ['example.large'],
  });
  const event = { ...least, type: 'com.example.large', id: 'large', data: '' };
  const room = 1024 * 1024 - Buffer.byteLength(JSON.stringify(event));
  assert.equal((await api('POST', '/events/send', { ...event, data: 'x'.repeat(room) })).status, 202);
  const { body } = await api('GET', `/admin/deadletters?subscriptionId=${subscription.id}`);
  assert.deepEqual(
    body.items.map(({ reason, eventId }: Record<string, string>) => [reason, eventId]),
    [['sizeLimitExceeded', 'large']],
  );
  assert.equal(receiver.received.length, 0);
});
