import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createClient } from './index.ts';

test('on a server the client recommends, for a person that the request names, and remembers nobody', async (t) => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url!);
    response.end('[]');
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = createClient({ origin, customerId: 'c', universeId: 'u' });

  await client.recommend({ widget: 'w', lang: 'nl', personal: true });
  await client.recommend({ widget: 'w', lang: 'nl', personal: { tpid: 7, sid: 's' } });
  client.track({ kind: 'view', item: { pid: 'x' } });
  assert.equal(await client.identify({ customIdentifier: 'ann' }), null);
  assert.deepEqual(asked, ['/api/c/r?widgetid=w&lang=nl', '/api/c/r/?widgetid=w&lang=nl&tpid=7&sid=s']);
});
