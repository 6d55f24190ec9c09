import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createHome, serve, TO_START } from '../packages/server/src/testing/signalbox.ts';
import { until } from '../packages/server/src/testing/wait.ts';
import { openBrowser, openPage } from './browser.ts';

interface Report {
  widgets: { widget: string; views: number; clicks: number }[];
}

test('in the demo shop the site tag collects, widgets show, a click goes through the redirect and is reported', async () => {
  const home = await createHome();
  const { origin, end } = await serve(['--dev'], { SIGNALBOX_HOME: home });
  const demo = JSON.parse(await readFile(join(home, 'demo.json'), 'utf8'));
  const browser = await openBrowser();
  const page = await openPage(browser);
  const collected: string[] = [];
  const foreign: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith('data:')) foreign.push(request.url());
    if (request.url().endsWith('/frontend/api/interactions')) collected.push(request.postData() ?? '');
  });

  const link = page.locator('[data-sb-widget] a').first();
  // A page waits two seconds for its recommendations (D17), which a busy machine may need for the first ones: then it is loaded again.
  const open = (path: string) =>
    until(
      async () => {
        await page.goto(`${origin}/demo/shop/${path}`);
        return link.waitFor({ timeout: 10_000 }).then(
          () => true,
          () => false,
        );
      },
      { ...TO_START, what: 'a widget with items' },
    );

  await open('nl');
  assert.deepEqual(await page.getByRole('heading').allTextContents(), ['Demowinkel', 'Voor jou']);
  assert.equal(await page.getByRole('region', { name: 'Voor jou' }).count(), 1);
  const box = await page.locator('[data-sb-widget]').boundingBox();
  assert.equal(box?.height, 19 * 16, 'the widget fits into the space that was kept for it');

  await open('en/TE-1g');
  assert.ok((await page.locator('[data-sb-widget] a').count()) >= 3, 'a widget with several items');
  assert.match((await link.getAttribute('href')) ?? '', new RegExp(`^${origin}/api/${demo.customerId}/t/`));

  await page.locator('button[data-sb-add-to-cart]').click();
  await until(() => collected.some((body) => body.includes('"addToCart"')), { what: 'the add-to-cart' });
  assert.ok(
    collected.some((body) => body.includes('"view"') && body.includes('TE-1g')),
    'the item view was sent',
  );
  await link.click();
  await page.waitForURL(/\/demo\/shop\/en\/(?!TE-1g)/);
  assert.deepEqual(foreign, [], 'nothing goes anywhere else');

  const report = async () => {
    const url = `${origin}/v2/organizations/default/recommendations/report`;
    const answer = await fetch(url, { headers: { 'x-apikey': demo.apiKey } });
    return (await answer.json()) as Report;
  };
  await until(async () => JSON.stringify(await report()).includes('"clicks":1'), {
    what: 'a reported click',
  });
  await browser.close();
  await end();
});
