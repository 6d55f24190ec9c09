/** The report: which carts and purchases are a widget's, and which widgets are told of. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTrackedWidget, startTestShop } from './demo-shop.fixture.ts';

const shop = await startTestShop();
const { server, universeId, send } = shop;
const { origin, tenant } = server;
const { widget, urlOf, countersOf } = await openTrackedWidget(shop);

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
  assert.deepEqual(await answer.json(), {
    accepted: 2,
    refused: ['events[2].item.price must be an amount, not below 0'],
  });
  assert.equal(await countersOf('i'), undefined);
});

test('a purchase of a value that no number holds counts, without the value', async () => {
  // With a parameter that the shop has added.
  await send([{ kind: 'click', item: { url: `${urlOf('h')}?utm_source=rec` } }], { visitor: 'rich' });
  for (const price of [1e300, 1e308, 7]) {
    const bought = { kind: 'purchase', item: { pid: 'h', price, quantity: price === 7 ? 1 : 1e10 } };
    assert.equal((await send([bought], { visitor: 'rich' })).status, 202, String(price));
  }
  assert.deepEqual((await countersOf('h')).slice(3), [3, 7]);
});
