import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Log } from '../../kernel/telemetry/log.ts';
import { silentLog } from '../../kernel/telemetry/no-op.ts';
import { systemClock } from '../../kernel/time/clock.ts';
import { atEnd } from '../../testing/at-end.ts';
import { startTestServer } from '../../testing/server.ts';
import { createTenantEngines } from './tenant-engines.ts';

const server = await startTestServer({ config: { roles: ['api'] } });
const { db, catalog, recommendations } = server.modules;
const tenantId = server.tenant.id;

/** Counts what is logged, by level. */
function countingLog() {
  const counts = { info: 0, warn: 0, error: 0 };
  const count = (level: keyof typeof counts) => () => {
    counts[level] += 1;
  };
  const log: Log = { ...silentLog, info: count('info'), warn: count('warn'), error: count('error') };
  return { log, counts };
}

test('a snapshot of another release is told as information, a damaged one as a warning', async () => {
  await recommendations.build(tenantId);
  const cases = [
    { byte: 'SBXENGN'.length, expected: { info: 1, warn: 0, error: 0 } },
    { byte: 0, expected: { info: 0, warn: 1, error: 0 } },
  ];
  for (const { byte, expected } of cases) {
    await db.sql`update recommendation_snapshots set data = set_byte(data, ${byte}, 48) where tenant_id = ${tenantId}`;
    const { log, counts } = countingLog();
    const requestBuild = async () => true;
    const shops = await createTenantEngines({ db, clock: systemClock, log, catalog, requestBuild });
    atEnd(shops.close);
    await shops.get(tenantId);
    assert.deepEqual(counts, expected);
  }
});

test('instead of a snapshot of another release a build is asked for until that is heard, no more after it, and opened then', async () => {
  await recommendations.build(tenantId);
  await db.sql`update recommendation_snapshots set data = set_byte(data, 0, 255) where tenant_id = ${tenantId}`;
  let asked = 0;
  const wantsBuild = async () => ++asked > 1;
  const shops = await createTenantEngines({
    db,
    clock: systemClock,
    log: silentLog,
    catalog,
    requestBuild: wantsBuild,
  });
  atEnd(shops.close);
  const shop = await shops.get(tenantId);
  for (let n = 0; n < 3; n++) await shops.refresh(tenantId);
  assert.deepEqual([asked, shop.buildId], [2, null]);
  const { buildId } = await recommendations.build(tenantId);
  await shops.refresh(tenantId);
  assert.deepEqual([asked, shop.buildId], [2, buildId]);
});
