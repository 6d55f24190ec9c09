/** SQL of who was erased since the stored model was built. */
import type { AnySql } from '../../kernel/db/database.ts';

export interface Forgotten {
  /** Key of the visitor (interactions/people.ts). */
  visitor: string;
  /** Epoch milliseconds: what happened up to then is to be forgotten. */
  at: number;
}

export async function addForgotten(
  sql: AnySql,
  { tenantId, visitors, at }: { tenantId: string; visitors: readonly string[]; at: number },
): Promise<void> {
  await sql`
    insert into recommendation_forgotten (tenant_id, visitor, forgotten_at)
    select ${tenantId}, visitor, ${new Date(at)} from unnest(${visitors.toSorted()}::text[]) as erased (visitor)
    on conflict (tenant_id, visitor) do update set forgotten_at = excluded.forgotten_at`;
}

export async function readForgotten(sql: AnySql, tenantId: string): Promise<Forgotten[]> {
  return sql<Forgotten[]>`
    select visitor, (extract(epoch from forgotten_at) * 1000)::float8 as at from recommendation_forgotten
    where tenant_id = ${tenantId}`;
}

/** Drops what a model has been built without; a visitor who was erased again since stays. */
export async function deleteForgotten(
  sql: AnySql,
  { tenantId, visitors, until }: { tenantId: string; visitors: readonly string[]; until: number },
): Promise<void> {
  await sql`
    delete from recommendation_forgotten
    where tenant_id = ${tenantId} and visitor = any(${visitors as string[]}) and forgotten_at <= ${new Date(until)}`;
}

/** Tenants of whose persons some were erased after a time. */
export async function tenantsWithForgotten(
  sql: AnySql,
  tenantIds: string[],
  after: number,
): Promise<string[]> {
  const rows = await sql<{ tenantId: string }[]>`
    select tenant_id as "tenantId" from recommendation_forgotten
    where tenant_id = any(${tenantIds}) and forgotten_at > ${new Date(after)} group by tenant_id`;
  return rows.map(({ tenantId }) => tenantId);
}
