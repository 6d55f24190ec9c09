import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../kernel/telemetry/no-op.ts';
import { systemClock } from '../../kernel/time/clock.ts';
import { atEnd } from '../../testing/at-end.ts';
import { startTestServer } from '../../testing/server.ts';
import { createTenantEngines } from './tenant-engines.ts';

const server = await startTestServer({ config: { roles: ['api'] } });
const { db, catalog, recommendations } = server.modules;
const tenantId = server.tenant.id;

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
