/** A port for the probes alone: what a process without the role `api` can be watched by. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { freePort } from '@signalbox/embedded-postgres/free-port';
import { loadConfig } from '../kernel/config/config.ts';
import { createMetrics } from '../kernel/telemetry/metrics.ts';
import { silentLog } from '../kernel/telemetry/no-op.ts';
import { createModules, type Modules, runRoles } from '../main.ts';
import { type Config, MANIFESTS } from '../manifests.ts';
import { createTestDatabaseUrl } from '../testing/database.ts';
import { createHome } from '../testing/signalbox.ts';
import { until } from '../testing/wait.ts';

async function startRoles(
  t: TestContext,
  roles: string,
  changed: (modules: Modules) => Partial<Modules> = () => ({}),
) {
  const [port, probePort] = [await freePort(), await freePort()];
  const config: Config = loadConfig({
    manifests: MANIFESTS,
    mode: 'development',
    env: { SIGNALBOX_HOME: await createHome() },
    flags: { host: '127.0.0.1', port: String(port), 'probe-port': String(probePort), roles },
  });
  const modules: Modules = await createModules({
    config,
    log: silentLog,
    metrics: createMetrics(),
    url: await createTestDatabaseUrl(),
  });
  const running = await runRoles({ ...modules, ...changed(modules) });
  t.after(() => running.stop().finally(() => modules.close()));
  const probe = (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${probePort}${path}`, init);
  return { running, probe, origin: `http://127.0.0.1:${port}` };
}

test('a process without the API tells there that it is ready, and what it counts, and nothing else', async (t) => {
  const { running, probe, origin } = await startRoles(t, 'worker,scheduler');
  assert.equal(running.address, null);
  await assert.rejects(fetch(origin), 'nobody listens on its other port');
  assert.deepEqual(await (await probe('/healthz')).json(), { status: 'ok' });
  assert.deepEqual(await (await probe('/readyz')).json(), { status: 'ready' });
  const figures = await probe('/metrics');
  assert.match(figures.headers.get('content-type')!, /^text\/plain; version=0\.0\.4/);
  assert.match(await figures.text(), /^signalbox_webhook_delivery_seconds_count 0$/m);
  for (const path of ['/', '/docs', '/openapi.json', '/v2/ping', '/errors/invalid'])
    assert.equal((await probe(path)).status, 404, path);
  const refused = await probe('/metrics', { method: 'POST' });
  assert.deepEqual([refused.status, refused.headers.get('allow')], [405, 'GET, HEAD']);
});

test('a process with the API has the probes on both ports, and counts the requests of its own', async (t) => {
  const { probe, origin } = await startRoles(t, 'api');
  for (const path of ['/healthz', '/readyz']) {
    assert.equal((await fetch(origin + path)).status, 200);
    assert.equal((await probe(path)).status, 200);
  }
  const own = 'signalbox_http_request_seconds_count{method="GET",route="/readyz",status="200"} 1\n';
  await until(async () => (await (await probe('/metrics')).text()).includes(own));
});

test('a process that stops is not ready, and lives until all is done', async (t) => {
  const inFlight = Promise.withResolvers<void>();
  const { running, probe } = await startRoles(t, 'worker', ({ webhooks }) => ({
    webhooks: { ...webhooks, work: async () => () => inFlight.promise },
  }));
  const stopped = running.stop();
  await until(async () => (await probe('/readyz')).status === 503);
  assert.equal((await probe('/healthz')).status, 200);
  inFlight.resolve();
  await stopped;
  await assert.rejects(probe('/healthz'));
});
