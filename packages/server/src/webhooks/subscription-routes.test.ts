/** Subscriptions through the admin API as a client sees it, on the real server and database (D21, D23). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newId } from '../kernel/ids.ts';
import { startTestServer } from '../testing/server.ts';
import { createApi } from './fixtures/api.ts';
import { startReceiver } from './fixtures/receiver.ts';

const server = await startTestServer({ config: { roles: ['api'] } });
const { accounts } = server.modules;
const api = await createApi(server);
const receiver = await startReceiver();
const least = { target_url: receiver.url, filters: ['nothing.that.happens'] };
const ADMIN = '/admin/subscriptions';

async function create(more: object = {}, call = api) {
  const { status, body } = await call('POST', ADMIN, { ...least, ...more });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

const without = ({ signing_secret: _, ...rest }: Record<string, unknown>) => rest;

test('a created subscription is answered with its defaults, its secret and its address', async () => {
  const { status, headers, body } = await api('POST', ADMIN, least);
  assert.equal(status, 201);
  assert.match(body.id, /^sub_[0-9a-z]{26}$/);
  assert.match(body.signing_secret, /^whsec_/);
  assert.equal(headers.get('location'), `/api/webhooks/v1${ADMIN}/${body.id}`);
  const { id, signing_secret, created_at, updated_at, ...rest } = body;
  assert.equal(new Date(created_at).toISOString(), created_at);
  assert.equal(updated_at, created_at);
  assert.deepEqual(rest, {
    ...least,
    name: null,
    advanced_filters: [],
    headers: [],
    enabled: true,
    rate_limit: null,
    status: 'active',
    status_reason: null,
  });
  assert.deepEqual((await api('GET', headers.get('location')!)).body, without(body));
});

test('everything that a subscription can have comes back as it was given, and the secret never again', async () => {
  const full = {
    name: 'failed mail',
    filters: ['*.failed', 'svc.bounces.*'],
    advanced_filters: [
      { key: 'data.recipient', operator: 'stringEndsWith', value: '@example.com' },
      { key: 'data.context.tags', operator: 'stringIn', values: ['a', 'b'] },
    ],
    headers: [{ name: 'X-Team', value: 'crm' }],
    enabled: false,
    rate_limit: 50,
  };
  const created = await create(full);
  const { body } = await api('GET', `${ADMIN}/${created.id}`);
  assert.deepEqual(body, without(created));
  for (const [member, value] of Object.entries(full)) assert.deepEqual(body[member], value, member);
  assert.deepEqual([body.status, body.status_reason], ['disabled', 'enabled is false']);
  const listed = (await api('GET', ADMIN)).body.find((item: { id: string }) => item.id === created.id);
  assert.deepEqual(listed, body);
});

test('a wrong body is 400 and names every wrong member at once', async () => {
  const wrong = {
    id: 'sub_1',
    target_url: 'no url',
    filters: [],
    advanced_filters: [{ key: 'data.a', operator: 'StringIn', value: 'x' }],
    headers: [{ name: 'bad name', value: 'a\nb' }, { name: 'X' }],
    enabled: 'yes',
    rate_limit: 0,
    traget_url: 'typing error',
  };
  const { status, body } = await api('POST', ADMIN, wrong);
  assert.equal(status, 400);
  assert.deepEqual(Object.keys(body).sort(), ['errors', 'status', 'title', 'traceId', 'type']);
  assert.equal(body.status, 400);
  assert.deepEqual(Object.keys(body.errors).sort(), [
    'advanced_filters[0].operator',
    'enabled',
    'filters',
    'headers[0].name',
    'headers[0].value',
    'headers[1].value',
    'id',
    'rate_limit',
    'target_url',
    'traget_url',
  ]);
  for (const messages of Object.values(body.errors))
    assert.ok(Array.isArray(messages) && messages.length > 0);
  assert.deepEqual(body.errors.rate_limit, ['must be an integer from 1 to 100000 or null']);
  assert.deepEqual(body.errors['advanced_filters[0].operator'], [
    'is not an operator; did you mean stringIn?',
  ]);
});

test('a body with very many faults is answered in short, and not after minutes', async () => {
  const many = <T>(item: (index: number) => T) => Array.from({ length: 50_000 }, (_, index) => item(index));
  const headers = many((index) => ({ name: `x${index}`, value: '' }));
  const table: [method: string, body: unknown, last: string][] = [
    ['PUT', many(() => ({})), 'request'],
    ['POST', { ...least, filters: many((index) => index) }, 'request'],
    ['POST', { ...least, advanced_filters: many((index) => index) }, 'request'],
    ['POST', { ...least, ...Object.fromEntries(many((index) => [`m${index}`, 1])) }, 'request'],
    ['POST', { ...least, headers: headers.slice(0, 30_000) }, 'headers'],
  ];
  for (const [method, body, last] of table) {
    const answer = await api(method, ADMIN, body);
    assert.equal(answer.status, 400);
    const members = Object.keys(answer.body.errors);
    assert.ok(members.length <= 101);
    assert.equal(members.at(-1), last);
  }
});

test('bodies of the wrong form are 400', async () => {
  const table: [body: unknown, member: string][] = [
    [undefined, 'body'],
    [[], 'body'],
    ['"text"', 'body'],
    ['{ not json', 'body'],
    [{}, 'target_url'],
    [{ ...least, filters: 'svc.*' }, 'filters'],
    [{ ...least, filters: [3] }, 'filters[0]'],
    [{ ...least, filters: [''] }, 'filters[0]'],
    [{ ...least, name: 'nul\u0000' }, 'name'],
    [{ ...least, headers: [{ name: 'X', value: 'x', extra: 1 }] }, 'headers[0].extra'],
    [
      { ...least, advanced_filters: Array.from({ length: 26 }, () => ({ key: 'a', operator: 'isNotNull' })) },
      'advanced_filters',
    ],
  ];
  for (const [body, member] of table) {
    const answer = await api('POST', ADMIN, body);
    assert.equal(answer.status, 400, JSON.stringify(body));
    assert.ok(member in answer.body.errors, `${member} of ${JSON.stringify(answer.body.errors)}`);
  }
});

test('a target that the egress guard refuses is 422, in every operation that sets one', async () => {
  const { id } = await create();
  const refused = [
    'ftp://example.com/x',
    'http://10.0.0.8/hook',
    'http://169.254.169.254/latest',
    'http://a:b@example.com/',
  ];
  for (const target_url of refused) {
    const body = { ...least, target_url };
    const answers = [
      await api('POST', ADMIN, body),
      await api('PUT', `${ADMIN}/${id}`, body),
      await api('PUT', ADMIN, [{ ...least, id }, body]),
    ];
    assert.deepEqual(
      answers.map(({ status }) => status),
      [422, 422, 422],
      target_url,
    );
    assert.deepEqual(Object.keys(answers[0]!.body.errors), ['target_url']);
    assert.deepEqual(Object.keys(answers[2]!.body.errors), ['[1].target_url']);
  }
});

test('production demands https and no loopback', async () => {
  const production = await startTestServer({ config: { mode: 'production', roles: ['api'] } });
  const call = await createApi(production);
  for (const target_url of ['http://example.com/', 'https://127.0.0.1/', 'https://localhost/']) {
    assert.equal((await call('POST', ADMIN, { ...least, target_url })).status, 422, target_url);
  }
  assert.equal((await call('POST', ADMIN, { ...least, target_url: 'https://example.com/' })).status, 201);
  await production.stop();
});

test('PUT replaces: what is omitted takes its default, read-only members are ignored, the secret stays', async () => {
  const created = await create({
    name: 'first',
    rate_limit: 5,
    headers: [{ name: 'X', value: 'y' }],
    enabled: false,
  });
  const ignored = {
    status: 'held',
    status_reason: 'x',
    created_at: 'x',
    updated_at: 7,
    signing_secret: 'whsec_mine',
  };
  const { status, body } = await api('PUT', `${ADMIN}/${created.id}`, {
    ...least,
    ...ignored,
    id: created.id,
  });
  assert.equal(status, 200);
  assert.deepEqual(
    { ...body, updated_at: '' },
    {
      ...without(created),
      name: null,
      rate_limit: null,
      headers: [],
      enabled: true,
      status: 'active',
      status_reason: null,
      updated_at: '',
    },
  );
  assert.ok(body.updated_at >= created.updated_at);
  const elsewhere = await api('PUT', `${ADMIN}/${created.id}`, { ...least, id: newId('sub') });
  assert.equal(elsewhere.status, 400);
  assert.deepEqual(Object.keys(elsewhere.body.errors), ['id']);
  const wrong = await api('PUT', `${ADMIN}/${created.id}`, { filters: [], id: newId('sub'), zz: 1 });
  assert.equal(wrong.status, 400);
  assert.deepEqual(Object.keys(wrong.body.errors).sort(), ['filters', 'id', 'target_url', 'zz']);
});

test('what names no subscription of the tenant is 404 without errors', async () => {
  const other = await createApi(server, await accounts.createTenant({ name: 'other' }));
  const { id: foreign } = await create({}, other);
  const ids = [foreign, newId('sub'), newId('dl'), 'nonsense', '%00', 'x'.repeat(3000)];
  const range = { from: '2026-01-01T00:00:00Z', until: '2027-01-01T00:00:00Z' };
  for (const id of ids) {
    const calls: [method: string, path: string, body?: unknown][] = [
      ['GET', `${ADMIN}/${id}`],
      ['PUT', `${ADMIN}/${id}`, least],
      ['PUT', `${ADMIN}/${id}`, { ...least, target_url: 'http://10.0.0.1/' }],
      ['DELETE', `${ADMIN}/${id}`],
      ['POST', `${ADMIN}/${id}/secret/rotate`],
      ['POST', `${ADMIN}/${id}/test`],
      ['GET', `${ADMIN}/${id}/attempts`],
      ['GET', `${ADMIN}/${id}/stats`],
      ['POST', `/admin/deadletters/${id}`, range],
      ['POST', `/admin/deadletters/${id}?dryRun=true`, range],
      ['GET', `/admin/deadletters/${id}/${newId('dl')}`],
      ['DELETE', `/admin/deadletters/${id}/${newId('dl')}`],
      ['GET', `/admin/reschedules/${id}`],
      ['DELETE', `/admin/reschedules/${id}`],
    ];
    for (const [method, path, body] of calls) {
      const answer = await api(method, path, body);
      assert.equal(answer.status, 404, `${method} ${path}`);
      assert.deepEqual(Object.keys(answer.body).sort(), ['status', 'title', 'traceId', 'type']);
    }
  }
  assert.equal((await other('GET', `${ADMIN}/${foreign}`)).status, 200);
  assert.equal(
    (await api('GET', ADMIN)).body.some(({ id }: { id: string }) => id === foreign),
    false,
  );
});

test('PUT on the collection makes the array the whole configuration', async () => {
  const call = await createApi(server, await accounts.createTenant({ name: 'collection' }));
  const [one, two, three] = [
    await create({ name: 'one' }, call),
    await create({ name: 'two' }, call),
    await create({}, call),
  ];
  const { status, body } = await call('PUT', ADMIN, [
    { ...least, name: 'new' },
    { ...least, id: three.id, name: 'three' },
    { ...without(one), name: 'uno' },
  ]);
  assert.equal(status, 200);
  const names = (list: { name: string }[]) => list.map(({ name }) => name);
  assert.deepEqual(names(body), ['new', 'three', 'uno'], 'in the order of the request');
  assert.equal(body[1].id, three.id);
  assert.equal(body[2].id, one.id);
  const shown = body.map(({ signing_secret }: { signing_secret?: string }) => signing_secret?.slice(0, 6));
  assert.deepEqual(shown, ['whsec_', undefined, undefined], 'a secret is shown when it is made');
  const listed: { name: string }[] = (await call('GET', ADMIN)).body;
  assert.deepEqual(listed, [body[2], body[1], without(body[0])]);
  assert.equal((await call('GET', `${ADMIN}/${two.id}`)).status, 404);
});

test('PUT on the collection is all or nothing', async () => {
  const call = await createApi(server, await accounts.createTenant({ name: 'atomic' }));
  const other = await createApi(server, await accounts.createTenant({ name: 'atomic-other' }));
  const kept = await create({ name: 'kept' }, call);
  const foreign = await create({}, other);
  const before = (await call('GET', ADMIN)).body;
  const changed = { ...least, id: kept.id, name: 'changed' };
  const table: [body: unknown, status: number, member: string][] = [
    [[changed, { ...least, id: newId('sub') }], 400, '[1].id'],
    [[changed, { ...least, id: foreign.id }], 400, '[1].id'],
    [[changed, { ...changed }], 400, '[1].id'],
    [
      [
        { ...least, id: newId('sub') },
        { ...least, target_url: 'http://10.0.0.1/' },
      ],
      400,
      '[0].id',
    ],
    [[changed, { target_url: 'x', filter: ['a'] }], 400, '[1].filter'],
    [[changed, { ...least, target_url: 'http://10.0.0.1/' }], 422, '[1].target_url'],
    [{ ...least }, 400, 'body'],
  ];
  for (const [body, status, member] of table) {
    const answer = await call('PUT', ADMIN, body);
    assert.equal(answer.status, status, JSON.stringify(body));
    assert.ok(member in answer.body.errors, JSON.stringify(answer.body.errors));
    assert.deepEqual((await call('GET', ADMIN)).body, before);
  }
  assert.equal((await other('GET', `${ADMIN}/${foreign.id}`)).status, 200);
});

test('what only the store or the catalogue knows to be wrong is reported beside all else', async () => {
  const { id } = await create();
  const unknown = { ...least, id: newId('sub') };
  const letters = `${ADMIN.replace('subscriptions', 'deadletters')}?iterator=${'a'.repeat(39)}`;
  const table: [method: string, url: string, body: unknown, members: string[]][] = [
    ['PUT', ADMIN, [unknown, { ...least, filters: [] }], ['[0].id', '[1].filters']],
    ['PUT', `${ADMIN}?z=1`, [unknown], ['[0].id', 'z']],
    ['PUT', ADMIN, [unknown, unknown, { ...least, id: 5 }, null], ['[0].id', '[1].id', '[2].id', '[3]']],
    ['POST', `${ADMIN}/${id}/test?z=1`, { type: 'nope', y: 1 }, ['type', 'y', 'z']],
    ['GET', `${letters}&limit=0`, undefined, ['iterator', 'limit']],
  ];
  for (const [method, url, body, members] of table) {
    const answer = await api(method, url, body);
    assert.equal(answer.status, 400, url);
    assert.deepEqual(Object.keys(answer.body.errors).sort(), members, url);
  }
});

test('concurrent changes of a tenant follow each other', async () => {
  const call = await createApi(server, await accounts.createTenant({ name: 'concurrent' }));
  const created = await Promise.all(
    Array.from({ length: 20 }, (_, index) => create({ name: `n${index}` }, call)),
  );
  const lists = [created.slice(0, 10), created.slice(5, 15)].map((some) =>
    some.map((item) => ({ ...least, id: item.id })),
  );
  const answers = await Promise.all(lists.map((list) => call('PUT', ADMIN, list)));
  const left = (await call('GET', ADMIN)).body.length;
  // Whoever comes second names subscriptions that are gone, or finds all of its own.
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400]);
  assert.equal(left, 10);
});

test('deleting is 204, a second time 404; deleting all is 204 always', async () => {
  const call = await createApi(server, await accounts.createTenant({ name: 'deleting' }));
  const [one] = [await create({}, call), await create({}, call)];
  assert.deepEqual(await statusAndBody(call('DELETE', `${ADMIN}/${one.id}`)), [204, undefined]);
  assert.equal((await call('DELETE', `${ADMIN}/${one.id}`)).status, 404);
  assert.equal((await call('GET', ADMIN)).body.length, 1);
  assert.deepEqual(await statusAndBody(call('DELETE', ADMIN)), [204, undefined]);
  assert.deepEqual(await statusAndBody(call('DELETE', ADMIN)), [204, undefined]);
  assert.deepEqual((await call('GET', ADMIN)).body, []);
});

async function statusAndBody(answer: ReturnType<typeof api>): Promise<[number, unknown]> {
  const { status, body } = await answer;
  return [status, body];
}
