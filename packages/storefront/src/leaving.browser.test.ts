/** How a browser leaves a page, in the whole of Chromium. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openShop, until } from '../testing/shop.ts';

test('what waits when the page is left arrives', async (t) => {
  const shop = await openShop({ leaving: true });
  t.after(() => shop.close());
  const page = await (await shop.visitor()).newPage();
  shop.page('/next', '');
  await page.goto(shop.page('/', '<a id="next" href="/next">next</a>'));
  await page.evaluate(() => {
    window.Signalbox!.track(
      { kind: 'purchase', item: { pid: 'P-1', price: 10, currency: 'EUR' } },
      { kind: 'purchase', item: { pid: 'P-2' } },
    );
    (document.querySelector('#next') as HTMLElement).click();
  });
  await page.waitForURL(/next/);
  await until(() => shop.events().length === 4);
  const summary = shop.events().map(({ kind, item }) => (item ? `${kind} ${item.pid}` : kind));
  assert.deepEqual(summary.sort(), ['page', 'page', 'purchase P-1', 'purchase P-2']);
});
