import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { loadConfig } from './kernel/config.ts';
import { silentLog, silentMetrics } from './kernel/silent.ts';
import { createModules, runRoles } from './main.ts';
import { createTestDatabaseUrl } from './testing/database.ts';
import { createHome } from './testing/signalbox.ts';

test('a process that cannot listen gives back the lanes that it took', async (t) => {
  const other = createServer();
  await once(other.listen(0, '127.0.0.1'), 'listening');
  t.after(() => other.close());
  const config = loadConfig({
    mode: 'development',
    env: { SIGNALBOX_HOME: await createHome() },
    flags: { host: '127.0.0.1', port: String((other.address() as AddressInfo).port) },
  });
  const modules = await createModules({
    config,
    log: silentLog,
    metrics: silentMetrics,
    url: await createTestDatabaseUrl(),
  });
  t.after(() => modules.close());
  await assert.rejects(runRoles(modules), { code: 'EADDRINUSE' });
  const [lanes] = await modules.db.sql`select count(*) as all, count(owner) as owned from lanes`;
  assert.ok(lanes!.all > 0);
  assert.equal(lanes!.owned, 0);
});

test('what stops one after the other shares one deadline', async (t) => {
  const env = { SIGNALBOX_HOME: await createHome(), SIGNALBOX_SHUTDOWN_TIMEOUT: '100' };
  const config = loadConfig({ mode: 'development', env, flags: { roles: 'worker' } });
  const modules = await createModules({
    config,
    log: silentLog,
    metrics: silentMetrics,
    url: await createTestDatabaseUrl(),
  });
  t.after(() => modules.close());
  const given: number[] = [];
  // Each has something in flight that does not end by itself.
  const stubborn = async () => async (deadlineMs: number) => {
    given.push(deadlineMs);
    await delay(deadlineMs);
  };
  const running = await runRoles({
    ...modules,
    webhooks: { ...modules.webhooks, work: stubborn },
    catalog: { ...modules.catalog, work: stubborn },
    recommendations: { ...modules.recommendations, work: stubborn },
  });
  await running.stop();
  const together = given.reduce((sum, each) => sum + each);
  assert.equal(given.length, 3);
  assert.ok(together < 120, `${given} ms`); // each has a twentieth of it for sure
});
