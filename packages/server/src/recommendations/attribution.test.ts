/** Which carts and purchases are a widget's: those of whoever clicked there, within seven days, each once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabaseUrl } from '../testing/database.ts';
import { startTestServer } from '../testing/server.ts';
import { startTestShop } from './demo-shop.fixture.ts';
import type { NewInteraction } from './index.ts';
import type { Link } from './store/interactions.ts';

const databaseUrl = await createTestDatabaseUrl();
const shop = await startTestShop({ databaseUrl });
/** Of the tenant it knows nothing: there was no widget when it started. */
const elsewhere = await startTestServer({ databaseUrl });
const { server } = shop;
const { db, recommendations } = server.modules;
const DAY = 86_400_000;
const now = Date.now();
const record = (...rows: NewInteraction[]) =>
  db.transaction((tx) => recommendations.interactions.record(tx, server.tenant.id, rows));
const click = (widgetId: string, visitor: string, at: number): NewInteraction => ({
  kind: 'click',
  widgetId,
  visitor,
  itemPid: 'a',
  at,
});
const purchase = (visitor: string, at: number): NewInteraction => ({
  kind: 'purchase',
  visitor,
  itemPid: 'a',
  at,
  value: 10,
});
const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(`${server.origin}/signals/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': server.sdkKey, ...headers },
    body: JSON.stringify(body),
  });
/** A click of someone who is known, in a widget of its own. */
async function clicked(customerId: string): Promise<string> {
  const widget = await shop.widget();
  const [person] = await db.transaction((tx) =>
    server.modules.profiles.resolve(tx, server.tenant.id, [{ externalId: customerId }]),
  );
  await record({ ...click(widget, '', now - 1000), visitor: null, contact: person!.systemId });
  return widget;
}
/** Until what signals tell has been recorded. */
const followed = () => server.modules.lanes.idle('follow');
async function revenueOf(widgetId: string): Promise<number> {
  const { body } = await shop.call('GET', `/widgets/${widgetId}/report`);
  return body.revenue;
}

test('a purchase is a widget’s when the click came before it, by at most seven days, whenever it is heard of', async () => {
  const table: [visitor: string, days: number, revenue: number][] = [
    ['at once', 0, 10],
    ['after days', 6.9, 10],
    ['too late', 7.1, 0],
    ['before the click', -1, 0],
    ['long before it, imported', -400, 0],
  ];
  for (const [visitor, days, revenue] of table) {
    const widget = await shop.widget();
    const clicked = now - 10 * DAY;
    await record(click(widget, visitor, clicked));
    await record(purchase(visitor, clicked + days * DAY));
    assert.equal(await revenueOf(widget), revenue, visitor);
  }
});

test('the revenue is what people would add up: 0.10, 0.20 and 0.30 are 0.60', async () => {
  const widget = await shop.widget();
  await record(click(widget, 'frugal', now - DAY));
  for (const value of [0.1, 0.2, 0.3]) await record({ ...purchase('frugal', now), value });
  const { body } = await shop.call('GET', `/widgets/${widget}/report`);
  assert.deepEqual([body.revenue, body.items[0].revenue], [0.6, 0.6]);
  const { body: all } = await shop.call('GET', '/recommendations/report');
  assert.equal(all.widgets.find((one: { widget: string }) => one.widget === widget).revenue, 0.6);
});

test('a click that is told of late does not take what a later one has caused', async () => {
  const [first, second] = [await shop.widget(), await shop.widget()];
  await record(click(second, 'offline', now - DAY));
  await record(click(first, 'offline', now - 2 * DAY));
  await record(purchase('offline', now));
  assert.deepEqual([await revenueOf(first), await revenueOf(second)], [0, 10]);
  await record(click(second, 'both', now - DAY), click(first, 'both', now - 2 * DAY), purchase('both', now));
  assert.deepEqual([await revenueOf(first), await revenueOf(second)], [0, 20]);
});

test('a purchase that is told of after a further click belongs to the click before it', async () => {
  const [first, second] = [await shop.widget(), await shop.widget()];
  await record(click(first, 'returning', now - 3 * DAY));
  await record(click(second, 'returning', now - DAY));
  await record(purchase('returning', now - 2 * DAY));
  assert.deepEqual([await revenueOf(first), await revenueOf(second)], [10, 0]);
  await record(purchase('returning', now));
  assert.deepEqual([await revenueOf(first), await revenueOf(second)], [10, 10]);
});

test('a purchase finds the click of the visitor whom the buyer was, also in a process that has recommended nothing', async () => {
  const [buyer, merged] = await db.transaction((tx) =>
    server.modules.profiles.resolve(tx, server.tenant.id, [{ externalId: 'late' }, { externalId: 'other' }]),
  );
  const [contact, other] = [buyer!.systemId, merged!.systemId];
  const links: Link[] = [
    { key: 'vearly', contact: other },
    { key: `c${other}`, contact },
    { key: 'vphone', contact },
  ];
  await db.transaction((tx) => recommendations.interactions.record(tx, server.tenant.id, [], links));
  // Known for longer than what is new.
  await db.sql`update interaction_links set linked_at = linked_at - interval '1 hour'`;
  const sales: [what: string, NewInteraction][] = [
    ['of the contact', { ...purchase('', now), visitor: null, contact }],
    ['of another browser', purchase('phone', now)],
  ];
  for (const [what, sale] of sales) {
    const widget = await shop.widget();
    await record(click(widget, 'early', now - DAY));
    assert.equal(elsewhere.modules.recommendations.engines.peek(server.tenant.id), undefined);
    await elsewhere.modules.db.transaction((tx) =>
      elsewhere.modules.recommendations.interactions.record(tx, server.tenant.id, [sale]),
    );
    assert.equal(await revenueOf(widget), 10, what);
  }
});

test('a purchase signal that comes again, alone or in a batch, brings its revenue once', async () => {
  const customerId = 'buyer';
  const widget = await clicked(customerId);
  const payload = {
    cartId: '1',
    items: [{ sku: 'a', quantity: 2, netprice: 10 }],
    idType: 'external',
    customerId,
  };
  const event = { id: 'order-1', signal: 'cart/purchase', time: now, payload };
  const again = () => [
    post('/cart/purchase', payload, { 'idempotency-key': 'order-1' }),
    post('', { sentAt: Date.now(), events: [event, event] }),
  ];
  const answers = await Promise.all([...again(), ...again(), ...again()]);
  for (const answer of answers) assert.equal(answer.status, 200, await answer.text());
  await followed();
  assert.equal(await revenueOf(widget), 10);
});

test('a purchase without items buys what was put into the cart, once, also by someone who was known by another name', async () => {
  const widget = await clicked('guest');
  const email = 'guest@example.com';
  const guest = { idType: 'external', customerId: 'guest', cartId: 'c-9' };
  const items = [{ sku: 'a', quantity: 2, netprice: 20 }];
  const send = async (path: string, payload: object) => {
    const answer = await post(path, payload);
    assert.equal(answer.status, 200, await answer.text());
  };
  await send('/cart/add', { ...guest, items });
  await send('/cart/replace', { ...guest, items: [{ sku: 'a', quantity: 3, netprice: 30 }] });
  // Registered at the checkout, with an address that the shop knew already.
  await send('/identity/signin', { idType: 'email', email });
  await send('/identity/signin', { idType: 'email', email, customerId: 'guest' });
  for (const _ of 'reloaded')
    await send('/cart/purchase', { idType: 'email', email, cartId: 'c-9', transactionId: 't-9', total: 30 });
  await followed();
  const { body } = await shop.call('GET', `/widgets/${widget}/report`);
  assert.deepEqual([body.add_to_carts, body.purchases, body.revenue], [2, 1, 30]);
});
