/** The recommendations of a database of their own, without a server and without workers. */
import { createCatalog } from '../catalog/index.ts';
import { createPartitions } from '../kernel/db/schema/partitions.ts';
import { createLanes } from '../kernel/lanes/index.ts';
import { createMetrics } from '../kernel/telemetry/metrics.ts';
import { silentLog } from '../kernel/telemetry/no-op.ts';
import type { Clock } from '../kernel/time/clock.ts';
import { createProfiles } from '../profiles/index.ts';
import { createSignals } from '../signals/index.ts';
import { createSite } from '../site/index.ts';
import { atEnd } from '../testing/at-end.ts';
import { createTestDatabase } from '../testing/database.ts';
import { createRecommendations } from './index.ts';
import { KEEP_DAYS } from './manifest.ts';

export async function openRecommendations(clock: Clock) {
  const db = await createTestDatabase();
  await createPartitions(db.sql, [{ table: 'interactions', keepDays: KEEP_DAYS }], clock.now());
  const common = { db, clock, log: silentLog };
  const metrics = createMetrics();
  const lanes = createLanes({ ...common, metrics });
  atEnd(lanes.close);
  const profiles = createProfiles({ ...common, lanes });
  const catalog = createCatalog({
    ...common,
    lanes,
    config: { mode: 'development', egressAllow: [], requestTimeoutMs: 10_000 },
  });
  atEnd(catalog.close);
  const signals = createSignals({ ...common, metrics, lanes, profiles });
  const site = await createSite({ ...common, profiles, signals });
  atEnd(site.close);
  const recommendations = await createRecommendations({
    ...common,
    lanes,
    config: { publicUrl: 'http://localhost', recommendationTimeoutMs: 10_000 },
    secret: 'secret',
    accounts: { listOrganizations: async () => [] },
    catalog,
    profiles,
    site,
  });
  atEnd(recommendations.close);
  return { db, profiles, recommendations };
}
