/** What pages wait for has less time than other requests: whoever looks at them does not wait for a store that stands still. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { loadConfig } from '../kernel/config/config.ts';
import { MANIFESTS } from '../manifests.ts';
import { whileLocked } from '../testing/locks.ts';
import { startTestServer } from '../testing/server.ts';

test('signals have five seconds and recommendations two, unless it is set otherwise', () => {
  const { signalTimeoutMs, recommendationTimeoutMs } = loadConfig({
    manifests: MANIFESTS,
    mode: 'development',
    env: {},
  });
  assert.deepEqual(
    { signalTimeoutMs, recommendationTimeoutMs },
    { signalTimeoutMs: 5000, recommendationTimeoutMs: 2000 },
  );
});

test('signals that take longer are answered 503, recommendations 408, each in its shape', async () => {
  const server = await startTestServer({
    config: { roles: ['api'], signalTimeoutMs: 200, recommendationTimeoutMs: 200 },
  });
  const { db, recommendations } = server.modules;
  const widget = await recommendations.widgets.create(server.tenant.id, server.organization, {
    name: 'slow',
    algorithm: 'popular',
  });
  const event = { id: randomUUID(), signal: 'browse', payload: { sections: [['home']] } };
  const send = () =>
    fetch(`${server.origin}/signals/v1`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ key: server.sdkKey, events: [event] }),
    });
  const ask = () => fetch(`${server.origin}/api/${server.tenant.id}/r?widgetid=${widget.id}&lang=en`);
  await whileLocked(
    db,
    (sql) => sql`lock table signals, catalog_items in access exclusive mode`,
    async () => {
      const [sent, asked] = await Promise.all([send(), ask()]);
      assert.deepEqual(
        [
          sent.status,
          sent.headers.get('retry-after'),
          ((await sent.json()) as { error: { code: string } }).error.code,
        ],
        [503, '1', 'server'],
      );
      assert.deepEqual(
        [asked.status, typeof ((await asked.json()) as { message: string }).message],
        [408, 'string'],
      );
    },
  );
});

test('signals whose body does not come are told that it is they who are late', async () => {
  const server = await startTestServer({ config: { roles: ['api'], signalTimeoutMs: 200 } });
  const { hostname, port } = new URL(server.origin);
  const socket = connect(Number(port), hostname);
  socket.write(
    'POST /signals/v1 HTTP/1.1\r\nhost: x\r\ncontent-type: text/plain\r\ncontent-length: 100\r\n\r\n{',
  );
  const [answer] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  assert.match(answer.toString(), /^HTTP\/1\.1 408 /);
});
