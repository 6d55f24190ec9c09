/** What docs/tracker.md says about installing, done as it is written, on a page of another origin and with the demo's own key. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { runningPostgresUrl } from '@signalbox/embedded-postgres';
import { openDatabase } from '../packages/server/src/kernel/db/database.ts';
import { createHome, serve, TO_START } from '../packages/server/src/testing/signalbox.ts';
import { until } from '../packages/server/src/testing/wait.ts';
import { openBrowser, openPage } from './browser.ts';

const page = await readFile(new URL('../docs/tracker.md', import.meta.url), 'utf8');
const install = page.slice(page.indexOf('## Install'), page.indexOf('## Results'));
const blocks = [...install.matchAll(/```(html|js)\n(.*?)```/gs)].map(([, , text]) => text!);
const [twoLines, withStub, fromJavaScript] = blocks as [string, string, string];

const home = await createHome();
const { origin, end } = await serve(['--dev'], { SIGNALBOX_HOME: home });
const demo = JSON.parse(await readFile(join(home, 'demo.json'), 'utf8'));
const db = openDatabase({
  url: await runningPostgresUrl({ directory: join(home, 'postgres') }),
  connections: 1,
});
after(async () => {
  await db.close();
  await end();
});

const settled = (text: string) =>
  text
    .replaceAll('https://signals.example', origin)
    .replaceAll('/eu/shop/', `/${demo.region}/${demo.tenant}/`)
    .replaceAll('YOUR_KEY', demo.sdkKey);
const browse = (section: string) => `Tracker.browse({ sections: [['${section}']] });`;

const bodies: Record<string, string> = {
  '/two-lines': settled(twoLines),
  '/stub': settled(withStub).replace('</script>', `</script><script>${browse('early')}</script>`),
  '/javascript': `<script>${settled(fromJavaScript)}script.onload = () => ${browse('created')}</script>`,
};
const shop = createServer((request, response) => {
  response
    .setHeader('content-type', 'text/html')
    .end(`<!doctype html><title>Shop</title><body>${bodies[request.url!] ?? ''}`);
});
await new Promise<void>((resolve) => {
  shop.listen(0, '127.0.0.1', resolve);
});
after(() => shop.close());
const browser = await openBrowser();

const table = [
  ['/two-lines', 'the two lines of the page', ['shoes', 'trail']],
  ['/stub', 'the stub, with a call before the script is there', ['early']],
  ['/javascript', 'an element made by JavaScript', ['created']],
] as const;

test('the page has the three ways to install it', () => {
  assert.equal(twoLines.trim().split('\n').length, 2);
  assert.match(withStub, /stub\.js/);
  assert.match(fromJavaScript, /createElement/);
});

for (const [path, name, section] of table) {
  test(`${name}: the signal is stored, once`, async () => {
    const visit = await openPage(browser);
    const problems: string[] = [];
    visit.on('pageerror', ({ message }) => problems.push(message));
    visit.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text());
    });
    const stored = () => db.sql`
      select count(*)::int as times from signals
      where tenant_id = ${demo.customerId} and signal = 'browse' and payload->'sections'->>0 = ${JSON.stringify(section)}`;
    await visit.goto(`http://127.0.0.1:${(shop.address() as AddressInfo).port}${path}`);
    await until(async () => (await stored())[0]!.times > 0, { ...TO_START, what: 'a stored signal' });
    await visit.close();
    assert.equal((await stored())[0]!.times, 1);
    assert.deepEqual(problems, []);
  });
}
