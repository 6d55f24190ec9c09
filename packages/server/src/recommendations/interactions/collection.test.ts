/** What the site tag sends: what is taken of it, once, and what the engine learns from it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { itemOf } from '../../catalog/index.ts';
import { BROWSER, startTestShop } from '../demo-shop.fixture.ts';

const shop = await startTestShop();
const { server, universeId, send } = shop;
const { origin, tenant } = server;

test('the site tag is taken as text, each event once, and teaches the engine at once', async () => {
  const seen = await shop.widget({ algorithm: 'recently-viewed', size: 2 });
  const event = {
    id: 'e1',
    time: Date.now(),
    kind: 'view',
    item: { pid: 'e' },
    url: 'https://shop.example/p/e',
  };
  assert.deepEqual(await (await send([event])).json(), { accepted: 1 });
  assert.deepEqual(await (await send([event])).json(), { accepted: 0 });
  const page = { id: 'e2', kind: 'page', url: 'https://shop.example/p/f?utm_source=x' };
  assert.equal((await send([page], { type: 'application/json' })).status, 202);
  const pids = await shop.pids(`/r/?widgetid=${seen}&lang=en&tpid=0&sid=visitor-1`);
  assert.deepEqual(pids, ['f', 'e']);
});

test('the page of an item and the item on it are one view, also when they come one after the other', async () => {
  const pageOf = (pid: string) => ({ kind: 'page', url: `https://shop.example/p/${pid}` });
  const viewOf = (pid: string) => ({ kind: 'view', item: { pid } });
  const table: [visitor: string, batches: object[][], expected: string[]][] = [
    ['together', [[pageOf('e'), viewOf('e')]], ['e']],
    ['apart', [[pageOf('e')], [viewOf('e')]], ['e']],
    ['page-alone', [[pageOf('e')]], ['e']],
    ['view-alone', [[viewOf('e')]], ['e']],
    ['two-visits', [[pageOf('e')], [viewOf('e')], [pageOf('e')], [viewOf('e')]], ['e', 'e']],
    ['two-visits-at-once', [[pageOf('e'), viewOf('e'), pageOf('e'), viewOf('e')]], ['e', 'e']],
    ['another-item', [[pageOf('e')], [viewOf('f')]], ['e', 'f']],
    ['seen-again', [[pageOf('e')], [viewOf('e')], [viewOf('f')], [viewOf('e')]], ['e', 'f', 'e']],
  ];
  for (const [visitor, batches, expected] of table) {
    for (const batch of batches) assert.equal((await send(batch, { visitor })).status, 202);
    const rows = await server.modules.db.sql<{ item_pid: string }[]>`
      select item_pid from interactions where tenant_id = ${tenant.id} and visitor = ${visitor} order by at, id`;
    assert.deepEqual(rows.map(({ item_pid }) => item_pid).sort(), expected.toSorted(), visitor);
  }
});

test('a page that several items share is a view of the one that the tag saw on it, also when it is told of later', async () => {
  const url = 'https://shop.example/p/shared';
  for (const pid of ['size-41', 'size-42', 'size-43'])
    await server.modules.catalog.put(tenant.id, itemOf({ item_pid: pid, item_url: url }));
  const page = { kind: 'page', url: `${url}?utm_source=x` };
  const viewOf = (pid: string, itemUrl?: string) => ({ kind: 'view', item: { pid, url: itemUrl } });
  const table: [visitor: string, batches: object[][], expected: string[]][] = [
    ['page alone', [[page]], ['size-43']],
    ['sees the newest', [[page, viewOf('size-43', url)]], ['size-43']],
    ['sees another', [[page, viewOf('size-41', url)]], ['size-41']],
    ['sees it later', [[page], [viewOf('size-41', url)]], ['size-41']],
    ['chooses', [[page, viewOf('size-41', url)], [viewOf('size-43', url)]], ['size-41', 'size-43']],
    ['chooses later', [[page], [viewOf('size-41', url)], [viewOf('size-43', url)]], ['size-41', 'size-43']],
    [
      'comes twice',
      [[page], [viewOf('size-41', url)], [page], [viewOf('size-42', url)]],
      ['size-41', 'size-42'],
    ],
    ['names no page', [[page, viewOf('e')]], ['e', 'size-43']],
    ['is called otherwise', [[page], [viewOf('sku-of-the-tag', url)]], ['size-43', 'sku-of-the-tag']],
  ];
  for (const [visitor, batches, expected] of table) {
    for (const batch of batches) assert.equal((await send(batch, { visitor })).status, 202);
    const rows = await server.modules.db.sql<{ item_pid: string }[]>`
      select item_pid from interactions where tenant_id = ${tenant.id} and visitor = ${visitor}`;
    assert.deepEqual(rows.map(({ item_pid }) => item_pid).sort(), expected.toSorted(), visitor);
  }
});

test('the view of an item is known for its page’s under the name after identification', async () => {
  await send([{ kind: 'page', url: 'https://shop.example/p/e' }], { visitor: 'anonymous-9' });
  await send([{ kind: 'view', item: { pid: 'e' } }], { visitor: 'profile-9', previous: 'anonymous-9' });
  const [row] = await server.modules.db.sql<{ views: number }[]>`
    select count(*)::int as views from interactions
    where tenant_id = ${tenant.id} and visitor in ('anonymous-9', 'profile-9')`;
  assert.equal(row!.views, 1);
});

test('a time of an event is believed for three days back and never ahead; without one it is now', async () => {
  const DAY = 86_400_000;
  const before = Date.now();
  const times = {
    future: before + 9 * DAY,
    recent: before - 2 * DAY,
    old: before - 30 * DAY,
    none: undefined,
  };
  for (const [visitor, time] of Object.entries(times)) {
    const answer = await send([{ kind: 'view', item: { pid: 'i' }, time }], { visitor });
    assert.deepEqual(await answer.json(), { accepted: 1 });
  }
  const after = Date.now();
  const rows = await server.modules.db.sql<{ visitor: string; at: Date }[]>`
    select visitor, at from interactions where tenant_id = ${tenant.id} and visitor = any(${Object.keys(times)})`;
  const kept = new Map(rows.map(({ visitor, at }) => [visitor, at.getTime()]));
  const isBetween = (time: number, ago: number) => time >= before - ago && time <= after - ago;
  assert.ok(isBetween(kept.get('future')!, 0));
  assert.ok(isBetween(kept.get('none')!, 0));
  assert.ok(isBetween(kept.get('old')!, 3 * DAY));
  assert.equal(kept.get('recent'), times.recent);
});

test('times of a batch that tells when it was sent are corrected for the clock of the browser', async () => {
  const MINUTE = 60_000;
  const DAY = 86_400_000;
  const before = Date.now();
  const ahead = before + 9 * DAY;
  const table: [visitor: string, times: { time?: number; sentAt: number }, ago: number][] = [
    ['right', { time: before - 5 * MINUTE, sentAt: before }, 5 * MINUTE],
    ['fast', { time: ahead - 5 * MINUTE, sentAt: ahead }, 5 * MINUTE],
    ['slow', { time: 1000, sentAt: 1000 + 5 * MINUTE }, 5 * MINUTE],
    ['timeless', { sentAt: ahead }, 0],
    ['told backwards', { time: ahead + MINUTE, sentAt: ahead }, 0],
    ['offline for long', { time: ahead - 4 * DAY, sentAt: ahead }, 3 * DAY],
  ];
  for (const [visitor, { time, sentAt }] of table)
    await send([{ kind: 'view', item: { pid: 'i' }, time }], { visitor, sentAt });
  const after = Date.now();
  const rows = await server.modules.db.sql<{ visitor: string; at: Date }[]>`
    select visitor, at from interactions where tenant_id = ${tenant.id} and visitor = any(${table.map(([visitor]) => visitor)})`;
  const kept = new Map(rows.map(({ visitor, at }) => [visitor, at.getTime()]));
  for (const [visitor, , ago] of table) {
    const at = kept.get(visitor)! + ago;
    assert.ok(at >= before && at <= after, `${visitor}: ${at - before}`);
  }
});

test('an event is known again by its id: in one batch, and under the name after identification', async () => {
  const bought = { id: 'order-1', kind: 'purchase', item: { pid: 'i', price: 5 } };
  const accepted = async (events: unknown[], options: Parameters<typeof send>[1]) =>
    ((await (await send(events, options)).json()) as { accepted: number }).accepted;
  assert.equal(await accepted([bought, bought], { visitor: 'anonymous-7' }), 1);
  assert.equal(await accepted([bought], { visitor: 'profile-7', previous: 'anonymous-7' }), 0);
  assert.equal(await accepted([bought], { visitor: 'profile-7' }), 0);
  assert.equal(await accepted([bought], { visitor: 'somebody-else' }), 1);
});

test('texts that cannot be stored are 400 and named, in text as in JSON', async () => {
  const view = { kind: 'view', item: { pid: 'a' } };
  const table: [member: string, change: object][] = [
    ['universeId', { universeId: 'u\0' }],
    ['visitor', { visitor: '\0' }],
    ['previousVisitor', { previousVisitor: '\ud800' }],
    ['events[0].id', { events: [{ ...view, id: 'e\0' }] }],
    ['events[0].item.pid', { events: [{ ...view, item: { pid: '\0a' } }] }],
    ['events[0].widget', { events: [{ ...view, widget: '\0' }] }],
  ];
  for (const [member, change] of table) {
    for (const type of ['text/plain', 'application/json']) {
      const answer = await fetch(`${origin}/frontend/api/interactions`, {
        method: 'POST',
        headers: { ...BROWSER, 'content-type': type },
        body: JSON.stringify({ universeId, visitor: 'v', events: [view], ...change }),
      });
      const { message } = (await answer.json()) as { message: string };
      assert.equal(answer.status, 400, `${member}: ${message}`);
      assert.ok(message.includes(member), message);
    }
  }
});

test('an event that is wrong is named and left out, and costs the others of its batch nothing', async () => {
  const events = [
    { id: 'good-1', kind: 'view', item: { pid: 'a' } },
    { id: 'bad-1', kind: 'purchase', item: { pid: 47.11, price: 'five', quantity: '-1' } },
    { id: 'good-2', kind: 'purchase', item: { pid: 'b', price: 5 } },
  ];
  for (const type of ['text/plain', 'application/json']) {
    const answer = await send(events, { visitor: `careless ${type}`, type });
    assert.equal(answer.status, 202);
    assert.deepEqual(await answer.json(), {
      accepted: 2,
      refused: [
        'events[1].item.price must be an amount, not below 0',
        'events[1].item.quantity must be an amount, not below 0',
        'events[1].item.pid must be a string of at most 255 characters or an integer from -9007199254740991 to 9007199254740991',
      ],
    });
  }
  const [row] = await server.modules.db.sql<{ kinds: string[] }[]>`
    select array_agg(kind order by kind) as kinds from interactions
    where tenant_id = ${tenant.id} and visitor = 'careless text/plain'`;
  assert.deepEqual(row!.kinds, ['purchase', 'view']);
});

test('an id may be a number and an amount a text, as in feeds', async () => {
  const table: [told: object, kept: { item_pid: string; value: number | null; quantity: number | null }][] = [
    [
      { pid: 4711, price: '19.90' },
      { item_pid: '4711', value: 19.9, quantity: null },
    ],
    [
      { pid: '4711', price: '€ 1.299,00', quantity: '2' },
      { item_pid: '4711', value: 2598, quantity: 2 },
    ],
    [
      { pid: -7, price: ' 5 ', quantity: 3 },
      { item_pid: '-7', value: 15, quantity: 3 },
    ],
    [
      { pid: 0, price: '', quantity: ' ' },
      { item_pid: '0', value: null, quantity: null },
    ],
    [
      { url: 'https://shop.example/p/e', price: '5 EUR' },
      { item_pid: 'e', value: 5, quantity: null },
    ],
  ];
  for (const [index, [item, kept]] of table.entries()) {
    const visitor = `writes ${index}`;
    assert.deepEqual(await (await send([{ kind: 'purchase', item }], { visitor })).json(), { accepted: 1 });
    const rows = await server.modules.db.sql`
      select item_pid, value::float8 as value, quantity::float8 as quantity from interactions
      where tenant_id = ${tenant.id} and visitor = ${visitor}`;
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      [kept],
    );
  }
  const refused: object[] = [
    { pid: 2 ** 53 },
    { pid: true },
    { pid: 'a', price: 'free' },
    { pid: 'a', price: -1 },
  ];
  for (const item of refused) assert.equal((await send([{ kind: 'purchase', item }])).status, 400);
});

test('an event that names nothing is refused, and a batch of such with 400', async () => {
  const events = [
    { kind: 'view' },
    { kind: 'purchase', item: { price: 5 } },
    { kind: 'page', url: 'nowhere' },
    { kind: 'page', url: 'https://shop.example/about' },
  ];
  assert.deepEqual(await (await send(events)).json(), {
    accepted: 1,
    refused: [
      'events[0].item must have pid or url',
      'events[1].item must have pid or url',
      'events[2].url must be an absolute http(s) address',
    ],
  });
  assert.equal((await send(events.slice(0, 3))).status, 400);
});

test('a batch of too many events is refused for that, and most of them are not looked at', async () => {
  const answer = await send(new Array(100_000).fill(0));
  const { message } = (await answer.json()) as { message: string };
  assert.equal(answer.status, 400);
  assert.match(message, /^events must have at most 500 entries; .*; request has 402 more violations$/);
});

test('a visitor who is identified takes the anonymous past along', async () => {
  const seen = await shop.widget({ algorithm: 'recently-viewed', size: 1 });
  await send([{ kind: 'view', item: { pid: 'h' } }], { visitor: 'before-login' });
  const lookup = await fetch(`${origin}/frontend/api/track`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ universeId, customIdentifier: 'customer-7' }),
  });
  const { $$profileId: sid, $$thirdPartyId: tpid } = (await lookup.json()) as Record<string, string>;
  assert.equal((await send([], { visitor: sid!, previous: 'before-login' })).status, 202);
  assert.deepEqual(await shop.pids(`/r/?widgetid=${seen}&lang=en&tpid=${tpid}`), ['h']);
  assert.deepEqual(await shop.pids(`/r/?widgetid=${seen}&lang=en&tpid=${tpid}&sid=${sid}`), ['h']);
});

test('signals of a person teach the engine', async () => {
  const seen = await shop.widget({ algorithm: 'recently-viewed', size: 1 });
  const payload = {
    cartId: '1',
    items: [{ sku: 'j', quantity: 1 }],
    idType: 'external',
    customerId: 'customer-8',
  };
  const stored = await fetch(`${origin}/signals/v1/cart/add`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': server.sdkKey },
    body: JSON.stringify(payload),
  });
  assert.equal(stored.status, 200, await stored.text());
  await server.modules.lanes.idle('follow');
  const person = await server.modules.profiles.find(tenant.id, { externalId: 'customer-8' });
  assert.deepEqual(await shop.pids(`/r/?widgetid=${seen}&lang=en&tpid=${person!.systemId}`), ['j']);
});

test('a stranger origin is 401, an unknown universe 404, nonsense 400; DNT keeps nothing', async () => {
  assert.equal((await send([], { origin: 'https://evil.example' })).status, 401);
  const post = (body: string, headers: Record<string, string> = {}) =>
    fetch(`${origin}/frontend/api/interactions`, {
      method: 'POST',
      headers: { ...BROWSER, 'content-type': 'text/plain', ...headers },
      body,
    });
  const unknown = JSON.stringify({ universeId: 'nope', visitor: 'v', events: [] });
  assert.equal((await post(unknown)).status, 404);
  assert.equal((await post('{')).status, 400);
  const bad = await post(JSON.stringify({ universeId, visitor: 'v', events: [{ kind: 'dance' }] }));
  assert.equal(bad.status, 400);
  assert.match(((await bad.json()) as { message: string }).message, /events\[0\]\.kind/);
  const quiet = JSON.stringify({ universeId, visitor: 'v', events: [{ kind: 'view', item: { pid: 'a' } }] });
  assert.deepEqual(await (await post(quiet, { dnt: '1' })).json(), { accepted: 0 });
});
