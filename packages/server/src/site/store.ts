/** All SQL of the site. */
import type { AnySql } from '../kernel/db/database.ts';
import type { Universe } from './universe.ts';

const UNIVERSE = `id, tenant_id as "tenantId", name, domain, demands_origin as "demandsOrigin", created_at as "createdAt"`;

export async function insertUniverse(sql: AnySql, universe: Universe): Promise<void> {
  const { id, tenantId, name, domain, demandsOrigin, createdAt } = universe;
  await sql`insert into site_universes (id, tenant_id, name, domain, demands_origin, created_at)
    values (${id}, ${tenantId}, ${name}, ${domain}, ${demandsOrigin}, ${createdAt})`;
}

/** Answers the universe as it is then, which keeps the time of its creation. */
export async function updateUniverse(
  sql: AnySql,
  { id, tenantId, name, domain, demandsOrigin }: Omit<Universe, 'createdAt'>,
): Promise<Universe | undefined> {
  const [row] = await sql<Universe[]>`
    update site_universes set name = ${name}, domain = ${domain}, demands_origin = ${demandsOrigin}
    where id = ${id} and tenant_id = ${tenantId} returning ${sql.unsafe(UNIVERSE)}`;
  return row;
}

export async function findUniverse(sql: AnySql, id: string): Promise<Universe | undefined> {
  const [row] = await sql<Universe[]>`select ${sql.unsafe(UNIVERSE)} from site_universes where id = ${id}`;
  return row;
}

export async function listUniverses(sql: AnySql, tenantId: string): Promise<Universe[]> {
  return sql<Universe[]>`
    select ${sql.unsafe(UNIVERSE)} from site_universes where tenant_id = ${tenantId} order by created_at, id`;
}

export async function deleteUniverse(sql: AnySql, tenantId: string, id: string): Promise<boolean> {
  const { count } = await sql`delete from site_universes where tenant_id = ${tenantId} and id = ${id}`;
  return count > 0;
}
