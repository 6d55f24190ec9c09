/** Feeds that are fetched from an address. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { until } from '../testing/wait.ts';
import { csv, row, startTestCatalog } from './catalog.fixture.ts';

const { call, pids } = await startTestCatalog();

/** The origin of a shop that answers so. */
async function startShop(answer: RequestListener): Promise<string> {
  const shop = createServer(answer).listen(0, '127.0.0.1');
  after(() => shop.close());
  await once(shop, 'listening');
  return `http://127.0.0.1:${(shop.address() as AddressInfo).port}`;
}

test('a feed is fetched from its address as soon as it is created, through the egress guard', async () => {
  const origin = await startShop((_request, answer) => answer.end(csv([row('fetched')])));
  const feed = { name: 'shop', url: `${origin}/feed.csv`, mode: 'delta' };
  const created = await call('POST', '/feeds', JSON.stringify(feed));
  assert.equal(created.status, 201);
  await until(async () => (await pids()).includes('fetched'));
  assert.equal((await call('POST', `/feeds/${created.body.id}/run`)).body.state, 'done');
  const refused = await call(
    'POST',
    '/feeds',
    JSON.stringify({ name: 'x', url: 'http://10.0.0.1/feed.csv' }),
  );
  assert.equal(refused.status, 400);
  for (const scope of [{ language: 'e' }, { language: 'nl', country: 'BE' }, { country: 'B1' }]) {
    const scoped = JSON.stringify({ ...feed, ...scope });
    assert.equal((await call('POST', '/feeds', scoped)).status, 400, scoped);
    assert.equal((await call('PUT', `/feeds/${created.body.id}`, scoped)).status, 400, scoped);
  }
  const bare = JSON.stringify({ name: 'shop', url: feed.url, enabled: false });
  const { body } = await call('PUT', `/feeds/${created.body.id}`, bare);
  assert.deepEqual([body.mode, body.every_minutes], ['full', 240], 'what is omitted');
  assert.equal((await call('DELETE', `/feeds/${created.body.id}`)).status, 200);
});

test('a feed whose address leads to another fails and names it: what follows could be anywhere', async () => {
  let asked = 0;
  const origin = await startShop((request, answer) => {
    asked += 1;
    if (request.url === '/moved.csv') return answer.writeHead(302, { location: '/feed.csv' }).end();
    answer.end(csv([row('followed')]));
  });
  const feed = { name: 'moved', url: `${origin}/moved.csv`, mode: 'delta', enabled: false };
  const { body } = await call('POST', '/feeds', JSON.stringify(feed));
  const run = await call('POST', `/feeds/${body.id}/run`);
  assert.equal(run.body.state, 'failed');
  assert.equal(run.body.message, 'the address answered 302 and names /feed.csv, which is not followed');
  assert.equal(asked, 1);
});

test('a packed feed that breaks off on its way fails and changes nothing', { timeout: 60_000 }, async () => {
  const rows = Array.from({ length: 5000 }, (_, i) => row(`cut${i}`, String(Math.sin(i))));
  const packed = gzipSync(csv(rows));
  const origin = await startShop((request, answer) => {
    if (request.url === '/whole') return answer.end(gzipSync(csv([row('packed')])));
    answer.writeHead(200, { 'content-encoding': 'gzip', 'content-length': packed.length });
    answer.write(packed.subarray(0, packed.length / 2), () => answer.destroy());
  });
  for (const [path, state] of [
    ['/cut.csv', 'failed'],
    ['/whole', 'done'],
  ]) {
    const feed = { name: 'shop', url: origin + path, mode: 'delta', enabled: false };
    const { body } = await call('POST', '/feeds', JSON.stringify(feed));
    const run = await call('POST', `/feeds/${body.id}/run`);
    assert.equal(run.body.state, state, run.body.message);
  }
  const known = await pids();
  assert.ok(known.includes('packed') && !known.includes('cut0'));
});
