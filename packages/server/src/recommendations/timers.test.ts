/** The timers of builds and feeds outlive whatever goes wrong when they ring, and nobody waits for what they began. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDatabase } from '../kernel/db/database.ts';
import { createManualClock } from '../kernel/time/clock.ts';
import { atEnd } from '../testing/at-end.ts';
import { createTestDatabaseUrl } from '../testing/database.ts';
import { startTestServer } from '../testing/server.ts';
import { until } from '../testing/wait.ts';

const clock = createManualClock(Date.now());
const server = await startTestServer({ clock });
const { db, catalog, recommendations } = server.modules;
const tenantId = server.tenant.id;

test('a timer that rings while a table cannot be used rings again, with all its attempts', async () => {
  const feed = { name: 'shop', url: 'http://127.0.0.1:9/feed.csv', enabled: false };
  const { id } = await catalog.createFeed(tenantId, feed);
  await db.transaction((tx) =>
    recommendations.interactions.record(tx, tenantId, [
      { kind: 'view', visitor: 'anna', itemPid: 'a', at: clock.now() },
    ]),
  );
  await db.sql`alter table catalog_revisions rename to catalog_revisions_away`;
  await catalog.updateFeed(tenantId, id, { ...feed, enabled: true });
  clock.advance(120_000);
  const later = async () => {
    const rows = await db.sql<{ queue: string; attempt: number }[]>`
      select queue, attempt from jobs
      where queue in ('recommendation-builds', 'catalog-feeds') and due_at > ${new Date(clock.now())} order by queue`;
    return rows.map(({ queue, attempt }) => `${queue} ${attempt}`);
  };
  await until(async () => (await later()).length === 2);
  assert.deepEqual(await later(), ['catalog-feeds 0', 'recommendation-builds 0']);
  await db.sql`alter table catalog_revisions_away rename to catalog_revisions`;
  clock.advance(5 * 3_600_000);
  await until(async () => (await catalog.imports.list(tenantId)).length > 0);
  await until(async () => {
    const models = await db.sql`
      select from recommendation_models where tenant_id = ${tenantId} and build_id is not null`;
    return models.length > 0;
  });
});

test('a feed that cannot be found for a while is fetched afterwards, with all its attempts', async () => {
  const { id } = await catalog.createFeed(tenantId, { name: 'away', url: 'http://127.0.0.1:9/away.csv' });
  const fetched = async () =>
    (await catalog.imports.list(tenantId)).filter(({ feedId }) => feedId === id).length;
  const timers = () => db.sql<{ attempt: number }[]>`
    select attempt from jobs where queue = 'catalog-feeds' and key = ${id} and due_at > ${new Date(clock.now())}`;
  await until(async () => (await timers()).length === 1);
  assert.equal(await fetched(), 1);
  await db.sql`alter table catalog_feeds rename to catalog_feeds_away`;
  clock.advance(24 * 3_600_000);
  await until(async () => (await timers()).length === 1);
  assert.deepEqual([...(await timers())], [{ attempt: 0 }]);
  await db.sql`alter table catalog_feeds_away rename to catalog_feeds`;
  clock.advance(60_000);
  await until(async () => (await fetched()) === 2);
});

test('a stop does not wait for a model that is being built, which is built after the next start', {
  timeout: 60_000,
}, async () => {
  const databaseUrl = await createTestDatabaseUrl();
  const config = { shutdownTimeoutMs: 600_000, secret: 'the same at every start' };
  const first = await startTestServer({ databaseUrl, config });
  const { tenant } = first;
  const blocker = openDatabase({ url: databaseUrl, connections: 2 });
  atEnd(() => blocker.close());
  const locked = Promise.withResolvers<void>();
  const free = Promise.withResolvers<void>();
  const lock = blocker.transaction(async ({ sql }) => {
    await sql`lock table interactions in access exclusive mode`;
    locked.resolve();
    await free.promise;
  });
  await locked.promise;
  // Whoever changes settings asks for a model.
  await first.modules.recommendations.settings.put(tenant.id, {});
  await until(async () => {
    const waiting = await blocker.sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    return waiting.length > 0;
  });
  await first.stop();
  free.resolve();
  await lock;
  await startTestServer({ databaseUrl, config });
  await until(
    async () => (await blocker.sql`select from recommendation_models where build_id is not null`).length > 0,
  );
});
