/** Tracking addresses, what the site tag sends, and the report of it all (D14). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestShop } from './demo-shop.fixture.ts';

const shop = await startTestShop();
const { server, universeId } = shop;
const { origin, tenant } = server;
const widget = await shop.widget({ size: 12 });
const BROWSER = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0' };
const answer = await fetch(`${shop.api}/r?widgetid=${widget}&lang=nl`, {
  headers: { accept: 'application/json' },
});
const items = (await answer.json()) as { item_pid: string; tracking_url: string }[];
const urlOf = (pid: string) => items.find(({ item_pid }) => item_pid === pid)!.tracking_url;
const follow = (url: string, headers: Record<string, string> = BROWSER, method = 'GET') =>
  fetch(url, { redirect: 'manual', headers, method });
async function countersOf(pid: string) {
  const { body } = await shop.call('GET', `/widgets/${widget}/report`);
  const found = body.items.find((item: { item_pid: string }) => item.item_pid === pid);
  return found && [found.views, found.clicks, found.add_to_carts, found.purchases, found.revenue];
}
const send = (
  events: unknown[],
  options: { visitor?: string; origin?: string; type?: string; previous?: string } = {},
) =>
  fetch(`${origin}/frontend/api/interactions`, {
    method: 'POST',
    headers: {
      ...BROWSER,
      'content-type': options.type ?? 'text/plain;charset=UTF-8',
      origin: options.origin ?? 'https://www.shop.example',
    },
    body: JSON.stringify({
      universeId,
      visitor: options.visitor ?? 'visitor-1',
      previousVisitor: options.previous,
      events,
    }),
  });

test('a tracking address leads to the page of the item in its language and counts a click', async () => {
  const { status, headers } = await follow(urlOf('a'));
  assert.deepEqual([status, headers.get('location')], [302, 'https://shop.example/nl/a']);
  assert.deepEqual(await countersOf('a'), [0, 1, 0, 0, 0]);
});

test('a click is stored when its page is shown, so that no crash after it can lose it', async () => {
  const { sql } = server.modules.db;
  const stored = async () => {
    const [row] = await sql`
      select sum(clicks)::int as clicks, (select count(*)::int from jobs where queue = 'direct-clicks') as jobs
      from recommendation_statistics where tenant_id = ${tenant.id} and item_pid = 'd'`;
    return row;
  };
  assert.deepEqual(await stored(), { clicks: null, jobs: 1 });
  await follow(urlOf('d'));
  assert.deepEqual(await stored(), { clicks: 1, jobs: 2 });
});

test('where an item has a page of its own in a country, the address that was given out there leads to it', async () => {
  const { catalog } = server.modules;
  const { countries, ...rest } = await catalog.get(tenant.id, 'k');
  const there = { ...countries.BE, item_url: 'https://shop.be/k' };
  await catalog.put(tenant.id, { ...rest, countries: { ...countries, BE: there, NL: {} } });
  const only = await shop.widget({ filters: [{ field: 'item_pid', operator: 'equals', value: 'k' }] });
  const pages = ['BE', 'be', 'NL'].map(async (loc) => {
    const answer = await fetch(`${shop.api}/r?widgetid=${only}&lang=nl&loc=${loc}`, {
      headers: { accept: 'application/json' },
    });
    const [item] = (await answer.json()) as { item_url: string; tracking_url: string }[];
    return [item!.item_url, (await follow(item!.tracking_url)).headers.get('location')];
  });
  const [own, elsewhere] = ['https://shop.be/k', 'https://shop.example/nl/k'];
  assert.deepEqual(await Promise.all(pages), [
    [own, own],
    [own, own],
    [elsewhere, elsewhere],
  ]);
});

test('a visitor does not wait for a click that cannot be stored now, and it counts in the end', async () => {
  await server.modules.db.sql.begin(async (sql) => {
    await sql`lock table recommendation_statistics`;
    assert.equal((await follow(urlOf('e'))).status, 302);
  });
  assert.deepEqual(await countersOf('e'), [0, 1, 0, 0, 0]);
});

test('its image is a pixel and counts a view', async () => {
  const pixel = await follow(`${urlOf('b')}.gif`);
  assert.deepEqual([pixel.status, pixel.headers.get('content-type')], [200, 'image/gif']);
  assert.match(Buffer.from(await pixel.arrayBuffer()).toString('latin1'), /^GIF89a/);
  assert.deepEqual(await countersOf('b'), [1, 0, 0, 0, 0]);
});

test('a token is made once: the next answer carries the same one', async () => {
  const again = await fetch(`${shop.api}/r/?widgetid=${widget}&lang=nl&tpid=5`, {
    headers: { accept: '*/*' },
  });
  const other = ((await again.json()) as typeof items).find(({ item_pid }) => item_pid === 'a');
  assert.equal(other!.tracking_url, urlOf('a'));
});

test('bots, previews, HEAD and who asks not to be tracked are let through but not counted', async () => {
  const table: Record<string, string>[] = [
    { 'user-agent': 'Googlebot/2.1 (+http://www.google.com/bot.html)' },
    { 'user-agent': 'Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)' },
    { 'user-agent': 'facebookexternalhit/1.1' },
    { ...BROWSER, 'sec-purpose': 'prefetch' },
    { ...BROWSER, dnt: '1' },
    { ...BROWSER, 'sec-gpc': '1' },
  ];
  for (const headers of table) assert.equal((await follow(urlOf('c'), headers)).status, 302);
  assert.equal((await follow(urlOf('c'), BROWSER, 'HEAD')).status, 302);
  assert.equal(await countersOf('c'), undefined);
});

test('apps, scripts, browsers without a screen and who gives no name count, and a slash at the end does no harm', async () => {
  const agents = [
    'curl/8.5.0',
    'okhttp/4.9',
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/150.0.0.0 Safari/537.36',
    '',
  ];
  for (const agent of agents)
    assert.equal((await follow(`${urlOf('j')}/`, { 'user-agent': agent })).status, 302);
  assert.deepEqual(await countersOf('j'), [0, agents.length, 0, 0, 0]);
});

test('a forged token, or one of another customer, is 404 with a message', async () => {
  const token = urlOf('a').split('/').at(-1)!;
  const [content, signature] = token.split('.') as [string, string];
  const forged = Buffer.from(JSON.stringify([widget, 'b', 'nl'])).toString('base64url');
  const other = await server.modules.accounts.createTenant({ name: 'other' });
  const urls = [
    `${shop.api}/t/${forged}.${signature}`,
    `${shop.api}/t/${content}.${signature.slice(1)}`,
    `${shop.api}/t/${content}`,
    `${shop.api}/t/x.gif`,
    `${shop.api}/t/${token}.png`,
    `${origin}/api/${other.id}/t/${token}`,
    `${origin}/api/acme/t/${token}`,
  ];
  for (const url of urls) {
    const { status, ...rest } = await follow(url);
    assert.equal(status, 404, url);
    assert.ok(((await follow(url).then((one) => one.json())) as { message: string }).message, String(rest));
  }
});

test('a removed item keeps its page: the address that was given out still leads there', async () => {
  await server.modules.catalog.remove(tenant.id, 'd');
  assert.equal((await follow(urlOf('d'))).status, 302);
});

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

test('an event is known again by its id: in one batch, and under the name after identification', async () => {
  const bought = { id: 'order-1', kind: 'purchase', item: { pid: 'i', price: 5 } };
  const accepted = async (events: unknown[], options: Parameters<typeof send>[1]) =>
    ((await (await send(events, options)).json()) as { accepted: number }).accepted;
  assert.equal(await accepted([bought, bought], { visitor: 'anonymous-7' }), 1);
  assert.equal(await accepted([bought], { visitor: 'profile-7', previous: 'anonymous-7' }), 0);
  assert.equal(await accepted([bought], { visitor: 'profile-7' }), 0);
  assert.equal(await accepted([bought], { visitor: 'somebody-else' }), 1);
});

test('a click, then a cart and a purchase of the item, are attributed to the widget with their revenue', async () => {
  await send([{ kind: 'click', item: { url: urlOf('g') }, widget }], { visitor: 'buyer' });
  await send([{ kind: 'addToCart', item: { pid: 'g', price: 16 } }], { visitor: 'buyer' });
  await send([{ kind: 'purchase', item: { pid: 'g', price: 16, quantity: 2 } }], { visitor: 'buyer' });
  await send([{ kind: 'purchase', item: { pid: 'g', price: 16 } }], { visitor: 'somebody else' });
  assert.deepEqual(await countersOf('g'), [0, 0, 1, 1, 32]);
  const { body } = await shop.call('GET', '/recommendations/report');
  const total = body.widgets.find((one: { widget: string }) => one.widget === widget);
  assert.deepEqual([total.purchases, total.revenue], [1, 32]);
});

test('a sale is put down to the last click before it: before signing in, and between two clicks of one batch', async () => {
  const [first, second] = [await shop.widget({}), await shop.widget({})];
  const salesOf = async (id: string) => {
    const { add_to_carts, purchases, revenue } = (await shop.call('GET', `/widgets/${id}/report`)).body;
    return [add_to_carts, purchases, revenue];
  };
  const lookup = await fetch(`${origin}/frontend/api/track`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ universeId, customIdentifier: 'two-devices' }),
  });
  const { $$profileId: visitor } = (await lookup.json()) as { $$profileId: string };
  const time = Date.now() - 60_000;
  const item = { pid: 'k', price: 5 };
  await send([{ kind: 'click', time, item, widget: first }], { visitor });
  await send([{ kind: 'click', time: time + 1, item, widget: second }], { visitor: 'telephone' });
  await send([{ kind: 'purchase', time: time + 2, item }], { visitor, previous: 'telephone' });
  assert.deepEqual(
    [await salesOf(first), await salesOf(second)],
    [
      [0, 0, 0],
      [0, 1, 5],
    ],
  );
  await send([
    { kind: 'click', time, item, widget: first },
    { kind: 'addToCart', time: time + 1, item },
    { kind: 'click', time: time + 2, item, widget: second },
    { kind: 'purchase', time: time + 3, item },
  ]);
  assert.deepEqual(
    [await salesOf(first), await salesOf(second)],
    [
      [1, 0, 0],
      [0, 2, 10],
    ],
  );
});

test('a report without a first day begins 30 days before its last', async () => {
  const daysOf = async (query: string) => {
    const { status, body } = await shop.call('GET', `/recommendations/report?${query}`);
    return [status, body.from, body.until];
  };
  assert.deepEqual(await daysOf('until=2024-03-01'), [200, '2024-01-31', '2024-03-01']);
  assert.deepEqual(await daysOf('from=2024-02-29&until=2024-02-29'), [200, '2024-02-29', '2024-02-29']);
  assert.deepEqual(await daysOf('until=0001-01-15'), [200, '0001-01-01', '0001-01-15']);
  for (const query of ['from=2024-03-02&until=2024-03-01', 'from=0000-01-01', 'until=0000-12-31'])
    assert.equal((await daysOf(query))[0], 400, query);
});

test('a report is about the widgets of its organization, and about those that are deleted', async () => {
  const { accounts, recommendations } = server.modules;
  await accounts.createOrganization(tenant, { name: 'neighbour' });
  const theirs = await recommendations.widgets.create(tenant.id, 'neighbour', { name: 'theirs' });
  const [ours, deleted] = [await shop.widget({}), await shop.widget({})];
  const ids = [theirs.id, ours, deleted];
  for (const widgetId of ids)
    recommendations.statistics.count(tenant.id, { widgetId, itemPid: 'a', counter: 'views' });
  await shop.call('DELETE', `/widgets/${deleted}`);
  const { body } = await shop.call('GET', '/recommendations/report');
  const reported = body.widgets as { widget: string; name: string | null }[];
  const found = new Map(reported.map(({ widget, name }) => [widget, name]));
  assert.deepEqual(
    ids.map((id) => found.get(id)),
    [undefined, 'test', null],
  );
});

test("a widget that is made up is nobody's, and a price is never less than nothing", async () => {
  const events = [
    { kind: 'click', widget: 'made up', item: { pid: 'i' } },
    { kind: 'purchase', item: { pid: 'i', price: 5 } },
    { kind: 'purchase', item: { pid: 'i', price: -5 } },
  ];
  const answer = await send(events, { visitor: 'forger' });
  assert.deepEqual(await answer.json(), { accepted: 2, refused: ['events[2].item.price must be >= 0'] });
  assert.equal(await countersOf('i'), undefined);
});

test('a purchase of a value that no number holds counts, without the value', async () => {
  await send([{ kind: 'click', item: { url: urlOf('h') }, widget }], { visitor: 'rich' });
  for (const price of [1e300, 1e308, 7]) {
    const bought = { kind: 'purchase', item: { pid: 'h', price, quantity: price === 7 ? 1 : 1e10 } };
    assert.equal((await send([bought], { visitor: 'rich' })).status, 202, String(price));
  }
  assert.deepEqual((await countersOf('h')).slice(3), [3, 7]);
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
    { id: 'bad-1', kind: 'purchase', item: { pid: 4711, price: '5' } },
    { id: 'good-2', kind: 'purchase', item: { pid: 'b', price: 5 } },
  ];
  for (const type of ['text/plain', 'application/json']) {
    const answer = await send(events, { visitor: `careless ${type}`, type });
    assert.equal(answer.status, 202);
    assert.deepEqual(await answer.json(), {
      accepted: 2,
      refused: ['events[1].item.pid must be a string', 'events[1].item.price must be a number'],
    });
  }
  const [row] = await server.modules.db.sql<{ kinds: string[] }[]>`
    select array_agg(kind order by kind) as kinds from interactions
    where tenant_id = ${tenant.id} and visitor = 'careless text/plain'`;
  assert.deepEqual(row!.kinds, ['purchase', 'view']);
});

test('a batch of too many events is refused for that, and most of them are not looked at', async () => {
  const answer = await send(new Array(100_000).fill(0));
  const { message } = (await answer.json()) as { message: string };
  assert.equal(answer.status, 400);
  assert.match(message, /^events must NOT have more than 500 items; .*; request has 402 more violations$/);
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

test('signals of a person teach the engine in their own transaction', async () => {
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
