import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createClient, type RecommendRequest, startSite } from './index.ts';

test('on a server the client recommends, for a person that the request names, and remembers nobody', async (t) => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url!);
    response.end('[]');
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const start of [createClient, startSite]) {
    asked.length = 0;
    const client = start({ origin, customerId: 'c', universeId: 'u' });

    await client.recommend({ widget: 'w', lang: 'nl', personal: true });
    await client.recommend({ widget: 'w', lang: 'nl', personal: { tpid: 7, sid: 's' } });
    client.track({ kind: 'view', item: { pid: 'x' } });
    assert.equal(await client.identify({ customIdentifier: 'ann' }), null);
    assert.deepEqual(asked, ['/api/c/r?widgetid=w&lang=nl', '/api/c/r/?widgetid=w&lang=nl&tpid=7&sid=s']);
  }
});

test('on a server a request that leaves to the page what there is none to tell is refused in words', async () => {
  const client = createClient({ origin: 'http://127.0.0.1:9', customerId: 'c', universeId: 'u' });
  const item = { pid: 'x', url: 'https://shop.example/x' };
  const table: [request: RecommendRequest, refusal: RegExp][] = [
    [{ widget: 'w' }, /has to name its lang/],
    [{ widget: 'w', item }, /has to name its lang/],
    [{ widget: 'w', lang: 'nl', item: { pid: 'x' } }, /the url of its item/],
    // Good: nobody is there to answer.
    [{ widget: 'w', lang: 'nl', item }, /fetch failed/],
    [{ widget: 'w', lang: 'nl', context: item.url }, /fetch failed/],
  ];
  for (const [request, refusal] of table) await assert.rejects(client.recommend(request), refusal);
});

test('a call that leaves everything out is refused in words', async () => {
  const client = createClient({ origin: 'http://127.0.0.1:9', customerId: 'c', universeId: 'u' });
  const { recommend, identify } = client as unknown as Record<
    string,
    (...args: object[]) => Promise<unknown>
  >;
  for (const args of [[], [{}]]) {
    await assert.rejects(recommend!(...args), { name: 'Error', message: 'widget is required' });
    await assert.rejects(identify!(...args), { name: 'Error', message: 'customIdentifier is required' });
  }
});
