/** What pages wait for has less time than other requests: whoever looks at them does not wait for a store that stands still. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { loadConfig } from '../kernel/config.ts';
import { whileLocked } from '../testing/locks.ts';
import { startTestServer } from '../testing/server.ts';

test('signals have five seconds and recommendations two, unless it is set otherwise', () => {
  const { signalTimeoutMs, recommendationTimeoutMs } = loadConfig({ mode: 'development', env: {} });
  assert.deepEqual(
    { signalTimeoutMs, recommendationTimeoutMs },
    { signalTimeoutMs: 5000, recommendationTimeoutMs: 2000 },
  );
});

test('signals and recommendations that take longer are answered 408, each in its shape', async () => {
  const server = await startTestServer({ config: { signalTimeoutMs: 200, recommendationTimeoutMs: 200 } });
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
        [sent.status, ((await sent.json()) as { error: { code: string } }).error.code],
        [408, 'server'],
      );
      assert.deepEqual(
        [asked.status, typeof ((await asked.json()) as { message: string }).message],
        [408, 'string'],
      );
    },
  );
});
