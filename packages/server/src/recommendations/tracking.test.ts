/** Tracking addresses: where they lead, and who counts (D14). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { until } from '../testing/wait.ts';
import { BROWSER, openTrackedWidget, startTestShop } from './demo-shop.fixture.ts';
import { CLICK_PATIENCE_MS } from './http/routes.ts';

const shop = await startTestShop();
const { server } = shop;
const { origin, tenant } = server;
const { widget, urlOf, countersOf } = await openTrackedWidget(shop);
const follow = (url: string, headers: Record<string, string> = BROWSER, method = 'GET') =>
  fetch(url, { redirect: 'manual', headers, method });

test('a tracking address leads to the page of the item in its language and counts a click', async () => {
  const { status, headers } = await follow(urlOf('a'));
  assert.deepEqual([status, headers.get('location')], [302, 'https://shop.example/nl/a']);
  assert.deepEqual(await countersOf('a'), [0, 1, 0, 0, 0]);
});

test('a click is stored when its page is shown, so that no crash after it can lose it', async () => {
  const { sql } = server.modules.db;
  const stored = async () => {
    const [row] = await sql<{ clicks: number; jobs: number }[]>`
      select coalesce(sum(clicks), 0)::int as clicks, (
        select count(*)::int from jobs where queue = 'direct-clicks' and payload::jsonb @> '[{"itemPid": "d"}]') as jobs
      from recommendation_statistics where tenant_id = ${tenant.id} and item_pid = 'd'`;
    return row!;
  };
  // Of a click that takes longer than the server waits, as on a machine that stands still, nothing is promised: the next one tells.
  for (let inTime = false; !inTime; ) {
    const { clicks, jobs } = await stored();
    const startedAt = performance.now();
    await follow(urlOf('d'));
    inTime = performance.now() - startedAt < CLICK_PATIENCE_MS;
    const expected = { clicks: clicks + 1, jobs: jobs + 1 };
    if (inTime) assert.deepEqual(await stored(), expected);
    else await until(async () => isDeepStrictEqual(await stored(), expected));
  }
});

test('where an item has a page of its own in a country, the address that was given out there leads to it', async () => {
  const { catalog } = server.modules;
  const { countries, ...rest } = await catalog.get(tenant.id, 'k');
  const there = { ...countries.BE, item_url: 'https://shop.be/k' };
  await catalog.put(tenant.id, { ...rest, countries: { ...countries, BE: there, NL: {} } });
  const only = await shop.widget({ filters: [{ field: 'item_pid', operator: 'equals', value: 'k' }] });
  const pages = ['BE', 'be', 'NL'].map(async (loc) => {
    const answer = await shop.ask(`/r?widgetid=${only}&lang=nl&loc=${loc}`);
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
  const again = await shop.ask(`/r/?widgetid=${widget}&lang=nl&tpid=5`, { accept: '*/*' });
  const other = ((await again.json()) as { item_pid: string; tracking_url: string }[]).find(
    ({ item_pid }) => item_pid === 'a',
  );
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
  ];
  for (const url of urls) {
    const { status, ...rest } = await follow(url);
    assert.equal(status, 404, url);
    assert.ok(((await follow(url).then((one) => one.json())) as { message: string }).message, String(rest));
  }
});

test('a customer that is no guid is a bad parameter', async () => {
  const answer = await follow(urlOf('a').replace(tenant.id, 'acme'));
  assert.deepEqual([answer.status, await answer.json()], [400, { message: 'customerId must be a guid' }]);
});

test('a removed item keeps its page: the address that was given out still leads there', async () => {
  await server.modules.catalog.remove(tenant.id, 'd');
  assert.equal((await follow(urlOf('d'))).status, 302);
});
