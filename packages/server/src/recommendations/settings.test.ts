/** Weights and half-lives of a tenant: over HTTP, into the next model, and out of it again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../testing/wait.ts';
import { startTestShop } from './demo-shop.fixture.ts';

const shop = await startTestShop();
const { recommendations } = shop.server.modules;
const knobs = () => recommendations.engines.peek(shop.server.tenant.id)!.engine.base.knobs;
const PATH = '/recommendations/settings';
const DEFAULTS = {
  weights: { view: 1, click: 1, add_to_cart: 4, purchase: 8 },
  half_life_hours: { popular: null, related: null, trending: 24, trending_baseline: 336 },
};

test('without a decision of the tenant the defaults are in force', async () => {
  assert.deepEqual(await shop.call('GET', PATH), { status: 200, body: { ...DEFAULTS, updated_at: null } });
});

const refused: [what: string, body: unknown, member: RegExp][] = [
  ['a negative weight', { weights: { view: -1 } }, /weights\/?\.?view/],
  ['a weight that is no number', { weights: { view: '3' } }, /weights\/?\.?view/],
  ['an unknown kind', { weights: { like: 1 } }, /like/],
  ['an unknown member', { half_lives: {} }, /half_lives/],
  ['no weight at all', { weights: { view: 0, click: 0, add_to_cart: 0, purchase: 0 } }, /weights/],
  ['a half-life of minutes', { half_life_hours: { popular: 0.5 } }, /half_life_hours\.popular/],
  ['a trend that never fades', { half_life_hours: { trending: 0 } }, /half_life_hours\/?\.?trending/],
  ['a trend that is no trend', { half_life_hours: { trending: 400 } }, /half_life_hours\.trending/],
];
for (const [what, body, member] of refused) {
  test(`${what} is refused by name, and nothing changes`, async () => {
    const answer = await shop.call('PUT', PATH, body);
    assert.equal(answer.status, 400);
    assert.equal(answer.body.result_code, 'ValidationFailed');
    assert.match(JSON.stringify(answer.body.errors), member);
    assert.equal((await shop.call('GET', PATH)).body.updated_at, null);
  });
}

test('a change is built into the next model by itself, counts live too, and can be taken back', async () => {
  const widget = await shop.widget({ algorithm: 'popular', size: 1 });
  const first = async () => (await shop.pids(`/r?widgetid=${widget}&lang=en`))[0];
  await shop.did({ visitor: 'buyer' }, 'purchase', 'b');
  for (const visitor of ['v1', 'v2', 'v3']) await shop.did({ visitor }, 'view', 'c');
  await until(async () => (await first()) === 'b');

  const put = await shop.call('PUT', PATH, { weights: { purchase: 2 }, half_life_hours: { popular: 72 } });
  assert.equal(put.status, 200);
  assert.deepEqual(put.body.weights, { ...DEFAULTS.weights, purchase: 2 });
  assert.deepEqual(put.body.half_life_hours, { ...DEFAULTS.half_life_hours, popular: 72 });
  await until(async () => (await first()) === 'c');
  await shop.did({ visitor: 'other' }, 'purchase', 'd');
  await shop.did({ visitor: 'another' }, 'view', 'd');
  assert.deepEqual(
    (
      await shop.pids(`/r?widgetid=${await shop.widget({ algorithm: 'popular', size: 3 })}&lang=en`)
    ).toSorted(),
    ['b', 'c', 'd'],
  );
  assert.equal(knobs().kinds.purchase, 2);

  assert.equal((await shop.call('PUT', PATH, {})).status, 200);
  await until(async () => knobs().kinds.purchase === 8);
  assert.equal(knobs().popularity.halfLife, 168 * 3_600_000);
  await until(async () => (await first()) !== 'c');
});

test('the settings of an organization that is not there are 404', async () => {
  const { origin, apiKey } = shop.server;
  const answer = await fetch(`${origin}/v2/organizations/nowhere${PATH}`, {
    headers: { 'x-apikey': apiKey },
  });
  assert.equal(answer.status, 404);
});
