/** The API reference in a real browser: everything comes from the server itself, and every operation can be seen. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../packages/server/src/testing/server.ts';
import { openBrowser, openPage } from './browser.ts';

const server = await startTestServer({ config: { roles: ['api'] } });
const browser = await openBrowser();

const OPERATIONS = [
  ['Platform management', 'Check credentials', '/v2/ping'],
  ['Webhooks', 'List all subscriptions', '/api/webhooks/v1/admin/subscriptions'],
  ['Access tokens', 'Exchange client credentials for an access token', '/oauth/token'],
] as const;

test('the reference shows the operations of every family without a request to anyone else', async () => {
  const page = await openPage(browser, { viewport: { width: 1280, height: 900 } });
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
  const reference = page.getByRole('main');
  for (const [group, operation, path] of OPERATIONS) {
    await reference.getByRole('heading', { name: group, exact: true }).click();
    await reference.getByText(operation, { exact: true }).click();
    await reference.getByText(`curl ${server.origin}${path}`).waitFor();
  }
  if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/docs.png` });
  assert.deepEqual(strangers, []);
  assert.deepEqual(errors, []);
});
