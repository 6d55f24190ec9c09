/** The API reference in a real browser: everything comes from the server itself, and every operation can be seen. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../packages/server/src/testing/server.ts';
import { openBrowser } from './browser.ts';

const server = await startTestServer({ config: { roles: ['api'] } });
const browser = await openBrowser();

test('the reference shows the operations of every family without a request to anyone else', async () => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const strangers: string[] = [];
  const errors: string[] = [];
  await page.route('**/*', (route) => {
    const url = route.request().url();
    if (url.startsWith(`${server.origin}/`) || /^(data|blob):/.test(url)) return route.continue();
    strangers.push(url);
    return route.abort();
  });
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));

  await page.goto(`${server.origin}/docs`);
  await page.getByRole('heading', { name: 'Signalbox' }).first().waitFor();
  for (const summary of [
    'Check credentials',
    'Exchange client credentials for an access token',
    'List subscriptions',
  ]) {
    await page.getByText(summary).first().waitFor();
  }
  await page.getByText('Check credentials').first().click();
  await page.getByText('/v2/ping').first().waitFor();
  if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/docs.png` });
  assert.deepEqual(strangers, []);
  assert.deepEqual(errors, []);
});
