import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { loadConfig } from './kernel/config/config.ts';
import { claimKeys } from './kernel/db/dedupe.ts';
import { createPartitions } from './kernel/db/schema/partitions.ts';
import { guid } from './kernel/ids.ts';
import type { Log } from './kernel/telemetry/log.ts';
import { silentLog, silentMetrics } from './kernel/telemetry/no-op.ts';
import { createManualClock, DAY, MINUTE } from './kernel/time/clock.ts';
import { createModules, runRoles } from './main.ts';
import { maintain, prepareDatabase } from './maintenance.ts';
import { MANIFESTS } from './manifests.ts';
import { insertInteractions, upsertClicks } from './recommendations/store/interactions.ts';
import { createTestDatabaseUrl } from './testing/database.ts';
import { createHome } from './testing/signalbox.ts';
import { until } from './testing/wait.ts';

const VIEW = {
  id: guid(),
  kind: 'view',
  visitor: 'v',
  contact: null,
  itemPid: 'a',
  page: null,
  widgetId: null,
  country: null,
  quantity: null,
  value: null,
} as const;

const CLICK = { visitor: 'vv', widgetId: 'w' };

test('a process that cannot listen gives back the lanes that it took', async (t) => {
  const other = createServer();
  await once(other.listen(0, '127.0.0.1'), 'listening');
  t.after(() => other.close());
  const config = loadConfig({
    manifests: MANIFESTS,
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

test('a start that is told to stop opens no shops of tenants', async (t) => {
  const failures: string[] = [];
  const config = loadConfig({
    manifests: MANIFESTS,
    mode: 'development',
    env: { SIGNALBOX_HOME: await createHome() },
    flags: { host: '127.0.0.1', port: '0', roles: 'api' },
  });
  const modules = await createModules({
    config,
    log: { ...silentLog, error: (_: unknown, text: string) => failures.push(text) } as unknown as Log,
    metrics: silentMetrics,
    url: await createTestDatabaseUrl(),
  });
  t.after(() => modules.close());
  const { sql } = modules.db;
  const { id } = await modules.accounts.createTenant({ name: 'acme' });
  await sql`insert into recommendation_widgets (tenant_id, id, organization, name, definition, created_at, updated_at)
    values (${id}, 'w', 'default', 'w', '{}', now(), now())`;
  // Whichever shop is opened fails, and is told of.
  await sql`alter table recommendation_forgotten rename to gone`;
  await (await runRoles(modules, { stopping: AbortSignal.abort() })).stop();
  assert.deepEqual(failures, []);
  await (await runRoles(modules)).stop();
  assert.deepEqual(failures, ['recommendations not opened ahead']);
});

test('what stops one after the other shares one deadline', async (t) => {
  const env = { SIGNALBOX_HOME: await createHome(), SIGNALBOX_SHUTDOWN_TIMEOUT: '100' };
  const config = loadConfig({ manifests: MANIFESTS, mode: 'development', env, flags: { roles: 'worker' } });
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
    all: [{ work: stubborn }, { work: stubborn }, { work: stubborn }],
  });
  await running.stop();
  const together = given.reduce((sum, each) => sum + each);
  assert.equal(given.length, 3);
  assert.ok(together < 120, `${given} ms`); // each has a twentieth of it for sure
});

test('what is past its keep goes by a clock that is right, and never because a command was run', async (t) => {
  const clock = createManualClock(Date.now());
  const troubles: string[] = [];
  const log = {
    ...silentLog,
    error: ({ chore }: { chore: string }) => troubles.push(chore),
  } as unknown as Log;
  const config = loadConfig({
    manifests: MANIFESTS,
    mode: 'development',
    env: { SIGNALBOX_HOME: await createHome() },
  });
  const url = await createTestDatabaseUrl();
  const modules = await createModules({ config, log, metrics: silentMetrics, url, clock });
  t.after(() => modules.close());
  const { sql } = modules.db;
  const old = clock.now() - 400 * DAY;
  await createPartitions(sql, [{ table: 'interactions', keepDays: 180 }], old);
  const tenantId = guid();
  await insertInteractions(sql, { tenantId, receivedAt: old, rows: [{ ...VIEW, at: old }] });
  await insertInteractions(sql, { tenantId, receivedAt: Date.now(), rows: [{ ...VIEW, at: Date.now() }] });
  const claimed = { tenantId, kind: 'k', keys: ['k'], now: old, expiresAt: clock.now() + DAY };
  await modules.db.transaction(({ sql }) => claimKeys(sql, claimed));
  const kept = async () => {
    const [row] = await sql`
      select (select count(*) from interactions) as interactions, (select count(*) from dedupe_keys) as keys`;
    return { ...row };
  };

  clock.advance(365 * DAY);
  await prepareDatabase(modules.db, clock);
  await maintain(modules);
  assert.deepEqual(await kept(), { interactions: 2, keys: 1 });
  assert.deepEqual(troubles.splice(0), ['old partitions', 'expired keys', 'ids of signals', 'old clicks']);

  clock.advance(-365 * DAY);
  await prepareDatabase(modules.db, clock);
  assert.deepEqual(await kept(), { interactions: 2, keys: 1 });
  await maintain(modules);
  assert.deepEqual(await kept(), { interactions: 1, keys: 1 });
  assert.deepEqual(troubles, []);
});

test('a process that lives for minutes forgets what it has to, and after a sleep of days it makes room for what comes', async (t) => {
  const clock = createManualClock(Date.now());
  const env = { SIGNALBOX_HOME: await createHome() };
  const config = loadConfig({
    manifests: MANIFESTS,
    mode: 'development',
    env,
    flags: { roles: 'scheduler' },
  });
  const url = await createTestDatabaseUrl();
  const modules = await createModules({ config, log: silentLog, metrics: silentMetrics, url, clock });
  const { sql } = modules.db;
  const key = {
    tenantId: guid(),
    kind: 'k',
    keys: ['k'],
    now: clock.now() - DAY,
    expiresAt: clock.now() - 1,
  };
  await modules.db.transaction(({ sql }) => claimKeys(sql, key));
  const clicks = [9, 7].map((days) => ({ ...CLICK, itemPid: `${days} days`, at: clock.now() - days * DAY }));
  await upsertClicks(sql, { tenantId: guid(), clicks });
  t.mock.timers.enable({ apis: ['setInterval'] });
  const running = await runRoles(modules);
  t.after(() => running.stop().finally(() => modules.close()));
  t.mock.timers.tick(2 * MINUTE);
  await until(async () => (await sql`select from dedupe_keys`).length === 0);
  await until(async () => (await sql`select from interaction_clicks`).length === 1);

  const store = () =>
    insertInteractions(sql, {
      tenantId: guid(),
      receivedAt: clock.now(),
      rows: [{ ...VIEW, at: clock.now() }],
    });
  clock.advance(9 * DAY);
  await assert.rejects(store(), /no partition/);
  const isStored = () =>
    store().then(
      () => true,
      () => false,
    );
  await until(() => {
    t.mock.timers.tick(2 * MINUTE);
    return isStored();
  });
});
