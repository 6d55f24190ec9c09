import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FakePage } from '../testing/fake-page.ts';
import { items, outcome, start } from '../testing/fake-tracker.ts';

describe('the cart', () => {
  const carts = (page: FakePage) => page.events().map(({ signal, payload }) => `${signal} ${payload.cartId}`);

  test('holds signals without cartId, across pages, and sends them in order with the first cartId', async () => {
    const { page, tracker } = start();
    assert.deepEqual(await tracker.addToCart({ items }), { success: true });
    assert.deepEqual(await tracker.removeFromCart({ items, cartId: null }), { success: true });
    assert.deepEqual(tracker.replaceCartSync({ items }), { success: true });
    await page.pass(1000);
    assert.equal(page.posts.length, 0);
    const { page: next, tracker: later } = start({ storages: page.storages, now: 1_800_000_060_000 });
    assert.deepEqual(await outcome(next, later.setCartId('c-1')), { success: true });
    assert.deepEqual(carts(next), ['cart/add c-1', 'cart/remove c-1', 'cart/replace c-1']);
    assert.deepEqual(
      next.events().map(({ time }) => time),
      [1_800_000_000_000, 1_800_000_000_001, 1_800_000_000_002],
    );
  });

  test('sends what is held before the signal that names the cart, then collects again', async () => {
    const { page, tracker } = start();
    await tracker.addToCart({ items });
    await outcome(page, tracker.purchaseCart({ cartId: 0 }));
    assert.deepEqual(carts(page), ['cart/add 0', 'cart/purchase 0']);
    await tracker.addToCart({ items });
    await page.pass(1000);
    assert.equal(page.events().length, 2);
    await outcome(page, tracker.setCartId('d'));
    assert.deepEqual(carts(page).slice(2), ['cart/add d']);
    assert.deepEqual(await tracker.setCartId('e'), { success: true });
    assert.equal(page.events().length, 3);
  });

  test('is named by 0 as well where the page does not validate', async () => {
    const { page, tracker } = start();
    await tracker.setOptions({ clientValidationEnabled: false });
    await tracker.addToCart({ items });
    await outcome(page, tracker.purchaseCart({ cartId: 0 }));
    assert.deepEqual(carts(page), ['cart/add 0', 'cart/purchase 0']);
  });

  test('refuses at once what is wrong besides', async () => {
    const { tracker } = start();
    const { error } = await tracker.addToCart({} as never);
    assert.deepEqual(
      error?.details.map(({ path }) => path),
      ['items'],
    );
    assert.equal((await tracker.addToCart({ cartId: '', items })).error?.details[0]?.path, 'cartId');
    for (const cartId of ['', {}, null, true])
      assert.equal((await tracker.setCartId(cartId as never)).success, false);
  });

  test('keeps what is held until there is a key', async () => {
    const { page, tracker } = start();
    await tracker.addToCart({ items });
    const { page: next, tracker: later } = start({ storages: page.storages });
    await later.setApiKey('');
    assert.equal((await later.setCartId('c')).error?.code, 'noKey');
    await later.setApiKey('key');
    assert.deepEqual(await outcome(next, later.setCartId('c')), { success: true });
    assert.equal(next.events().length, 1);
  });

  test('remembers who was signed in when the signal was made, and signs in at once', async () => {
    const { page, tracker } = start();
    await tracker.addToCart({ items, email: 'ada@example.com' });
    await page.pass(500);
    assert.deepEqual(
      page.events().map(({ signal }) => signal),
      ['identity/signin'],
    );
    await outcome(page, tracker.signOut());
    await outcome(page, tracker.setCartId('c'));
    assert.equal(page.events().at(-1)?.payload.email, 'ada@example.com');
  });

  test('holds 200 signals, then the oldest give way and are counted', async () => {
    const { page, tracker } = start();
    for (let index = 0; index < 203; index++)
      await tracker.addToCart({ items: [{ sku: `${index}`, quantity: 1 }] });
    await outcome(page, tracker.setCartId('c'));
    await page.pass(1000);
    assert.equal(page.events().length, 200);
    assert.deepEqual(page.events()[0]?.payload.items, [{ sku: '3', quantity: 1 }]);
    assert.match(page.posts[0]!.body.sdk, /\{"overflow":3\}$/);
  });

  test('tells the verdict on the last held signal', async () => {
    const { page, tracker } = start();
    await tracker.addToCart({ items });
    page.answer = () => ({ status: 401 });
    assert.equal((await outcome(page, tracker.setCartId('c'))).error?.code, 'unauthorized');
  });

  test('refuses what cannot be sent before it is held, and loses nothing else by it', async () => {
    const { page, tracker } = start();
    await tracker.setOptions({ clientValidationEnabled: false });
    const cycle: Record<string, unknown> = {};
    cycle.itself = cycle;
    await tracker.addToCart({ items });
    assert.equal((await tracker.addToCart({ items, eventAttributes: cycle } as never)).success, false);
    await tracker.removeFromCart({ items });
    assert.deepEqual(await outcome(page, tracker.setCartId('c')), { success: true });
    assert.deepEqual(carts(page), ['cart/add c', 'cart/remove c']);
  });
});
