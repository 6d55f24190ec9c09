import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { DAY, HOUR } from '../kernel/time/clock.ts';
import { startTestServer } from '../testing/server.ts';
import { startSignalServer } from './server.fixture.ts';

const { clock, server, post, browse, batch, send, stored } = await startSignalServer({
  config: { roles: ['api'] },
});
const { sql } = server.modules.db;
const url = `${server.origin}/signals/v1`;

test('a batch is answered event by event, and what is accepted is stored', async () => {
  const [good, bad, other] = [
    browse(),
    browse({ payload: {} }),
    browse({ time: new Date(clock.now() - 1000).toISOString() }),
  ];
  const { status, body } = await send([good, bad, other]);
  assert.equal(status, 200);
  assert.deepEqual(body, {
    results: [
      { success: true },
      {
        success: false,
        error: {
          code: 'validation',
          message: 'sections is required',
          details: [{ path: 'sections', rule: 'required', message: 'sections is required' }],
        },
      },
      { success: true },
    ],
    serverTime: clock.now(),
  });
  const row = await stored(good.id);
  assert.deepEqual(row?.payload, { sections: [['home']] });
  assert.equal(row?.signal, 'browse');
  assert.equal(row?.profile, 0);
  assert.equal(row?.received_at.getTime(), clock.now());
  assert.equal(await stored(bad.id), undefined);
  assert.equal((await stored(other.id))?.time.getTime(), clock.now() - 1000);
});

test('an answer lists ten thousand violations, and after them the first of each event', async () => {
  const items = new Array(100).fill({ sku: 's' });
  const payload = { cartId: 'c', items };
  const { body } = await send(Array.from({ length: 102 }, () => browse({ signal: 'cart/add', payload })));
  assert.deepEqual(
    body.results.map(({ error }: { error: { details: unknown[] } }) => error.details.length),
    [...new Array(100).fill(100), 1, 1],
  );
  assert.equal(body.results[101].error.message, 'items[0].quantity is required');
});

test('an id counts once: again, in the same batch, at the same time, and for 7 days', async () => {
  const event = browse();
  const first = await send([event, { ...event, payload: { sections: [['other']] } }]);
  assert.deepEqual(first.body.results, [{ success: true }, { success: true, duplicate: true }]);
  clock.advance(1);
  assert.deepEqual((await send([event])).body.results, [{ success: true, duplicate: true }]);
  const at = browse();
  const answers = await Promise.all(Array.from({ length: 20 }, () => send([at, browse()])));
  const verdicts = answers.map(({ body }) => body.results[0]);
  assert.equal(verdicts.filter(({ duplicate }) => !duplicate).length, 1);
  assert.ok(answers.every(({ body }) => body.results[1].duplicate === undefined));
  assert.deepEqual((await stored(event.id))?.payload, { sections: [['home']] });
});

test('an id is a duplicate at the end of the 7 days too, and tenants do not share ids', async () => {
  const event = browse();
  await send([event]);
  const other = await server.modules.accounts.createTenant({ name: `other-${randomUUID().slice(0, 8)}` });
  const { key } = await server.modules.accounts.createSdkKey(other, { name: 'k' });
  assert.deepEqual((await send([event], { key })).body.results, [{ success: true }]);
  clock.advance(7 * DAY - 1);
  await server.modules.signals.maintain();
  assert.deepEqual((await send([event])).body.results, [{ success: true, duplicate: true }]);
});

test('an id that was refused is not used up', async () => {
  const event = browse({ payload: {} });
  assert.equal((await send([event])).body.results[0].success, false);
  assert.deepEqual((await send([{ ...event, payload: { sections: [['a']] } }])).body.results, [
    { success: true },
  ]);
});

test('times are corrected for the clock of the client and clamped (D31)', async () => {
  const now = clock.now();
  const table: [object, unknown, number][] = [
    [{ time: now - 5000 }, now, now - 5000],
    [{ time: now + HOUR - 5000 }, now + HOUR, now - 5000],
    [{ time: now + HOUR }, now, now],
    [{ time: now - 100 * HOUR }, now, now - 72 * HOUR],
    [{ time: new Date(now - 5000).toISOString() }, new Date(now).toISOString(), now - 5000],
    [{ time: now - 5000 }, undefined, now - 5000],
  ];
  for (const [over, sentAt, wanted] of table) {
    const event = browse(over);
    assert.deepEqual((await send([event], { sentAt })).body.results, [{ success: true }]);
    assert.equal((await stored(event.id))?.time.getTime(), wanted, JSON.stringify([over, sentAt]));
  }
});

test('text/plain and gzip are read as JSON is', async () => {
  const events = [browse(), browse(), browse(), browse()];
  const table: [string | Uint8Array, Record<string, string>][] = [
    [`\ufeff${JSON.stringify(batch([events[3]]))}`, { 'content-type': 'text/plain' }],
    [JSON.stringify(batch([events[0]])), { 'content-type': 'text/plain;charset=UTF-8' }],
    [gzipSync(JSON.stringify(batch([events[1]]))), { 'content-encoding': 'gzip' }],
    [
      gzipSync(JSON.stringify(batch([events[2]]))),
      { 'content-encoding': 'gzip', 'content-type': 'text/plain' },
    ],
  ];
  for (const [body, headers] of table) {
    const answer = await post('/signals/v1', body, headers);
    assert.deepEqual([answer.status, answer.body.results], [200, [{ success: true }]]);
  }
  for (const { id } of events) assert.ok(await stored(id));
});

test('a body that is no JSON, or has a member twice, is refused with the place, for batches and single signals', async () => {
  const headers = { 'x-api-key': server.sdkKey };
  const notJson = 'The body is not JSON: unexpected end at position 10.';
  const twice = 'events[0].payload.a must not be given more than once';
  const batch = await post('/signals/v1', '{"events":', headers);
  assert.deepEqual([batch.status, batch.body.error.message], [400, notJson]);
  const single = await post('/signals/v1/browse', '{"events":', headers);
  assert.deepEqual([single.status, single.body.error.message], [400, notJson]);
  const repeating = await post(
    '/signals/v1',
    '{"events": [{"id": "1", "signal": "browse", "payload": {"a": {"b": 1}, "\\u0061": 2}}]}',
    headers,
  );
  assert.deepEqual([repeating.status, repeating.body.error.message], [400, twice]);
  assert.deepEqual(
    repeating.body.error.details.map(({ path }: { path: string }) => path),
    ['events[0].payload.a'],
  );
  const one = await post('/signals/v1/browse', '{"sections": [["a"]], "sections": [["b"]]}', headers);
  assert.deepEqual(
    [one.status, one.body.error.code, one.body.error.details.map(({ path }: { path: string }) => path)],
    [400, 'validation', ['sections']],
  );
});

test('an envelope that cannot be read is refused as a whole', async () => {
  const gzip = { 'content-encoding': 'gzip' };
  const key = server.sdkKey;
  const table: [string, unknown, Record<string, string>, number, string][] = [
    ['not JSON', '{"events":', {}, 400, 'validation'],
    ['nothing', '', {}, 400, 'validation'],
    ['no object', [], {}, 400, 'validation'],
    ['no events', { key }, {}, 400, 'validation'],
    ['events that are no list', { key, events: 'x' }, {}, 400, 'validation'],
    ['a sentAt that is no time', { key, events: [], sentAt: 'now' }, {}, 400, 'validation'],
    ['a key that is no text', { key: 7, events: [] }, {}, 400, 'validation'],
    ['no gzip', 'plain', gzip, 400, 'validation'],
    ['half a gzip', gzipSync('{"events":[]}').subarray(0, 15), gzip, 400, 'validation'],
    ['another encoding', '{}', { 'content-encoding': 'br' }, 415, 'validation'],
    ['another type', 'a=b', { 'content-type': 'application/x-www-form-urlencoded' }, 415, 'validation'],
    ['more than 1 MiB', JSON.stringify({ key, events: [], x: 'x'.repeat(1_048_576) }), {}, 413, 'tooLarge'],
    [
      'more than 1 MiB unpacked',
      gzipSync(JSON.stringify({ key, events: [], x: 'x'.repeat(1_048_576) })),
      gzip,
      413,
      'tooLarge',
    ],
    ['more than 500 events', batch(Array.from({ length: 501 }, () => browse())), {}, 413, 'tooLarge'],
  ];
  for (const [name, body, headers, status, code] of table) {
    const answer = await post('/signals/v1', body, { origin: 'https://shop.example', ...headers });
    assert.equal(answer.status, status, name);
    assert.equal(answer.body.error.code, code, name);
    assert.ok(Array.isArray(answer.body.error.details) && answer.body.error.message !== '', name);
    assert.equal(answer.headers.get('access-control-allow-origin'), 'https://shop.example', name);
  }
  const most = Array.from({ length: 500 }, () => browse());
  assert.equal((await send(most)).body.results.length, 500);
  assert.deepEqual((await send([])).body.results, []);
});

test('a key is needed, known, not disabled, and good for the origin; the header wins over the body', async () => {
  const { accounts } = server.modules;
  const bound = await accounts.createSdkKey(server.tenant, {
    name: 'bound',
    origins: ['https://shop.example'],
  });
  const gone = await accounts.createSdkKey(server.tenant, { name: 'gone' });
  await accounts.revoke(server.tenant, 'sdkkey', gone.key);
  const any = server.sdkKey;
  const origin = (value: string) => ({ origin: value });
  const table: [string, { key?: string; headers?: Record<string, string> }, number, string?][] = [
    ['no key', {}, 401, 'noKey'],
    ['an empty key', { key: '' }, 401, 'noKey'],
    ['an unknown key', { key: 'sdk_nobody' }, 401, 'unauthorized'],
    ['a key that is no key', { key: `x\0'${'y'.repeat(500)}` }, 401, 'unauthorized'],
    ['a disabled key', { key: gone.key }, 401, 'unauthorized'],
    ['a key in the body', { key: any }, 200],
    ['a key in the header', { headers: { 'x-api-key': any } }, 200],
    ['a good header over a bad body', { key: 'sdk_nobody', headers: { 'x-api-key': any } }, 200],
    [
      'a bad header over a good body',
      { key: any, headers: { 'x-api-key': 'sdk_nobody' } },
      401,
      'unauthorized',
    ],
    ['any origin', { key: any, headers: origin('https://anywhere.example') }, 200],
    ['the right origin', { key: bound.key, headers: origin('https://shop.example') }, 200],
    [
      'a wrong origin',
      { key: bound.key, headers: origin('https://shop.example.evil.example') },
      403,
      'unauthorized',
    ],
    ['another scheme', { key: bound.key, headers: origin('http://shop.example') }, 403, 'unauthorized'],
    ['an opaque origin', { key: bound.key, headers: origin('null') }, 403, 'unauthorized'],
    ['no origin: a server', { key: bound.key }, 200],
  ];
  for (const [name, { key, headers = {} }, status, code] of table) {
    const answer = await send([browse()], { key }, headers);
    assert.equal(answer.status, status, name);
    assert.equal(answer.body.error?.code, code, name);
    assert.equal(answer.headers.get('access-control-allow-origin'), headers.origin ?? '*', name);
    assert.equal(answer.headers.get('access-control-expose-headers'), 'Retry-After', name);
  }
});

test('the preflight admits any origin, the headers of the SDK, and may be kept', async () => {
  const answer = await fetch(url, {
    method: 'OPTIONS',
    headers: {
      origin: 'https://shop.example',
      'access-control-request-method': 'POST',
      // Those of a page without parameters: one preflight is enough for pages with them, too.
      'access-control-request-headers': 'content-type,x-api-key,x-unheard-of',
    },
  });
  assert.equal(answer.status, 204);
  assert.equal(answer.headers.get('access-control-allow-origin'), 'https://shop.example');
  assert.match(answer.headers.get('access-control-allow-methods')!, /POST/);
  assert.equal(
    answer.headers.get('access-control-allow-headers'),
    'content-type, x-api-key, x-marketing-id, x-tracking-param, x-unheard-of',
  );
  assert.ok(Number(answer.headers.get('access-control-max-age')) >= 7200);
});

test('wrong methods and unknown signals are told so', async () => {
  assert.equal((await fetch(url)).status, 405);
  assert.equal((await post('/signals/v1/cart/eat', {}, { 'x-api-key': server.sdkKey })).status, 404);
  assert.equal(
    (await fetch(`${url}/`, { method: 'POST', body: JSON.stringify(batch([browse()])) })).status,
    200,
  );
});

test('marketing id and tracking parameter are kept, and the headers win', async () => {
  const event = browse({ marketingId: 'm-body', trackingParam: 't-body' });
  const other = browse({ marketingId: 'm-body' });
  await send([event]);
  await send([other], {}, { 'x-marketing-id': 'm-header', 'x-tracking-param': 't-header' });
  assert.deepEqual(
    [(await stored(event.id))?.marketing_id, (await stored(event.id))?.tracking_param],
    ['m-body', 't-body'],
  );
  assert.deepEqual(
    [(await stored(other.id))?.marketing_id, (await stored(other.id))?.tracking_param],
    ['m-header', 't-header'],
  );
});

test('ids and texts of any kind are stored as they are or not at all, and never disturb others', async () => {
  const ids = [
    'a\nb',
    'a\u0000b',
    'a,b',
    '{x}',
    '"q"',
    "it's",
    '\\',
    'NULL',
    '',
    'é\u{1f600}',
    '\ud83d',
    'x'.repeat(64),
    'x'.repeat(65),
  ];
  const events = ids.map((id) => browse({ id, payload: { sections: [['a\nb\\u0000', 'line']] } }));
  const { body } = await send([...events, ...events]);
  const isId = (id: string) => id !== '' && id.length <= 64 && !id.includes('\0') && id.isWellFormed();
  assert.deepEqual(
    body.results.map(({ success, duplicate = false }: { success: boolean; duplicate?: boolean }) => [
      success,
      duplicate,
    ]),
    [...ids.map((id) => [isId(id), false]), ...ids.map((id) => [isId(id), isId(id)])],
  );
  const [row] =
    await sql`select payload from signals where tenant_id = ${server.tenant.id} and id = ${'a%000ab'}`;
  assert.deepEqual(row?.payload, { sections: [['a\nb\\u0000', 'line']] });
});

test('servers send one signal at a time', async () => {
  const headers = { 'x-api-key': server.sdkKey };
  const cart = { cartId: 7, items: [{ sku: 's', quantity: '2' }] };
  const key = randomUUID();
  const first = await post('/signals/v1/cart/add', cart, { ...headers, 'idempotency-key': key });
  assert.deepEqual([first.status, first.body], [200, { success: true }]);
  assert.deepEqual((await stored(key))?.payload, { cartId: '7', items: [{ sku: 's', quantity: 2 }] });
  const again = await post('/signals/v1/cart/add', cart, { ...headers, 'idempotency-key': key });
  assert.deepEqual([again.status, again.body], [200, { success: true }]);

  const table: [string, unknown, Record<string, string>, number, string?][] = [
    ['/browse', { sections: [['a']] }, headers, 200],
    ['/signup', { objectType: 'newsletter' }, headers, 200],
    ['/cancel', { objectType: 'newsletter' }, headers, 200],
    ['/identity/signin', { email: 'ada@example.com' }, headers, 200],
    ['/identity/signout', {}, headers, 200],
    ['/identity/signout', '', headers, 200],
    ['/review/customerservice', { items: [{ name: 'n' }] }, headers, 200],
    ['/identity/signin', {}, headers, 400, 'validation'],
    ['/cart/add', { cartId: 'c' }, headers, 400, 'validation'],
    [
      '/cart/add',
      { cartId: 'c', items: [{ sku: 's', quantity: 1, itemAttributes: { x: 'x'.repeat(5000) } }] },
      headers,
      400,
      'tooLarge',
    ],
    ['/browse', { sections: [['a']] }, { ...headers, 'idempotency-key': 'x'.repeat(65) }, 400, 'validation'],
    ['/browse', { sections: [['a']] }, {}, 401, 'noKey'],
    ['/browse', { sections: [['a']], key: server.sdkKey }, {}, 401, 'noKey'],
    ['/browse', { sections: [['a']] }, { 'x-api-key': 'sdk_nobody' }, 401, 'unauthorized'],
    ['/browse', '{', headers, 400, 'validation'],
  ];
  for (const [path, body, sent, status, code] of table) {
    const answer = await post(`/signals/v1${path}`, body, sent);
    assert.equal(answer.status, status, path);
    assert.equal(answer.body.error?.code, code, path);
    if (status === 200) assert.deepEqual(answer.body, { success: true }, path);
  }
  const failed = await post('/signals/v1/cart/add', {}, headers);
  assert.equal(failed.body.success, false);
  assert.deepEqual(
    failed.body.error.details.map(({ path }: { path: string }) => path),
    ['cartId', 'items'],
  );
});

test('a key that sends more than its share is told when to come again', async () => {
  const limited = await startTestServer({
    clock,
    config: { rateLimitLoopback: true, rateLimitPerSdkKey: 5 },
  });
  const call = (count: number) =>
    fetch(`${limited.origin}/signals/v1`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain', origin: 'https://shop.example' },
      body: JSON.stringify({ key: limited.sdkKey, events: Array.from({ length: count }, () => browse()) }),
    });
  assert.equal((await call(5)).status, 200);
  const refused = await call(1);
  assert.equal(refused.status, 429);
  assert.equal(refused.headers.get('retry-after'), '1');
  assert.equal(refused.headers.get('access-control-allow-origin'), 'https://shop.example');
  assert.equal(((await refused.json()) as { error: { code: string } }).error.code, 'rateLimited');
  clock.advance(1000);
  assert.equal((await call(15)).status, 200, 'a batch may go into debt');
  clock.advance(1000);
  const deep = await call(1);
  assert.deepEqual([deep.status, deep.headers.get('retry-after')], [429, '2']);
});

test('a request with far too many signals takes no more of the rate than the largest batch', async () => {
  const limited = await startTestServer({
    clock,
    config: { rateLimitLoopback: true, rateLimitPerSdkKey: 500 },
  });
  const call = (events: unknown[]) =>
    fetch(`${limited.origin}/signals/v1`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain', origin: 'https://shop.example' },
      body: JSON.stringify({ key: limited.sdkKey, events }),
    });
  assert.equal((await call(Array.from({ length: 400_000 }, () => 0))).status, 413);
  clock.advance(1000);
  assert.equal((await call([browse()])).status, 200);
});
