/** SQL of the tenants' settings. */
import type { AnySql } from '../../kernel/db/database.ts';
import type { RecommendationSettings } from '../models/settings/settings.ts';

export async function findSettings(
  sql: AnySql,
  tenantId: string,
): Promise<(RecommendationSettings & { updatedAt: Date }) | undefined> {
  const [row] = await sql<(RecommendationSettings & { updatedAt: Date })[]>`
    select weights, half_life_hours, updated_at as "updatedAt" from recommendation_settings
    where tenant_id = ${tenantId}`;
  return row;
}

export async function upsertSettings(
  sql: AnySql,
  settings: RecommendationSettings & { tenantId: string; updatedAt: Date },
): Promise<void> {
  const { tenantId, weights, half_life_hours: hours, updatedAt } = settings;
  await sql`
    insert into recommendation_settings (tenant_id, weights, half_life_hours, updated_at)
    values (${tenantId}, ${sql.json(weights)}, ${sql.json(hours)}, ${updatedAt})
    on conflict (tenant_id) do update set weights = excluded.weights, half_life_hours = excluded.half_life_hours,
      updated_at = excluded.updated_at`;
}
