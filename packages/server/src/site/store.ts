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

export interface Visits {
  visits: number;
  lastSeen: Date;
}

/** Counts a visit, or only that the person was here. */
export async function recordVisit(
  sql: AnySql,
  input: { tenantId: string; systemId: number; visits: 0 | 1; now: Date },
): Promise<Visits> {
  const [row] = await sql<Visits[]>`
    insert into site_visits as known (tenant_id, system_id, visits, last_seen)
    values (${input.tenantId}, ${input.systemId}, ${input.visits}, ${input.now})
    on conflict (tenant_id, system_id) do update set visits = known.visits + excluded.visits,
      last_seen = greatest(known.last_seen, excluded.last_seen)
    returning visits, last_seen as "lastSeen"`;
  return row!;
}

export async function deleteVisits(sql: AnySql, tenantId: string, systemIds: number[]): Promise<number> {
  const { count } = await sql`
    delete from site_visits where tenant_id = ${tenantId} and system_id = any(${systemIds})`;
  return count;
}

/** A merged person has been here as often as both were. In one statement, so that a visit that is counted meanwhile is not lost. */
export async function mergeVisits(
  sql: AnySql,
  input: { tenantId: string; into: number; from: number[] },
): Promise<void> {
  await sql`
    with gone as (
      delete from site_visits where tenant_id = ${input.tenantId} and system_id = any(${input.from})
      returning tenant_id, visits, last_seen
    )
    insert into site_visits as known (tenant_id, system_id, visits, last_seen)
    select tenant_id, ${input.into}, sum(visits), max(last_seen) from gone group by tenant_id
    on conflict (tenant_id, system_id) do update set visits = known.visits + excluded.visits,
      last_seen = greatest(known.last_seen, excluded.last_seen)`;
}
