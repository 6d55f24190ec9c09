/** All SQL of identifiers. They may lie in other lanes than their profiles, so no statement names both tables. */
import { arrayLiteral, jsonTextArray } from '../../kernel/db/columns.ts';
import type { AnySql, TransactionSql } from '../../kernel/db/database.ts';
import { type Identifier, laneOfIdentifier } from '../identifier.ts';

export type OwnedIdentifier = Identifier & { systemId: number };

/**
 * The numbers of the profiles that identifiers belong to. A profile that is new may not be written yet. The lookups are spelled out
 * (`lateral`, and `offset 0` that keeps them apart): left to itself, or asked for `any` of the values, the planner reads all rows of a
 * tenant as long as its statistics call them few, 7 ms instead of 1 ms for 64 identifiers among 4000 persons.
 */
export async function readOwners(
  sql: AnySql,
  tenantId: string,
  identifiers: readonly Identifier[],
): Promise<OwnedIdentifier[]> {
  return sql<OwnedIdentifier[]>`
    select given.kind, given.value, owner.system_id as "systemId"
    from rows from (
      json_array_elements_text(${jsonTextArray(identifiers.map(({ kind }) => kind))}::text::json),
      json_array_elements_text(${jsonTextArray(identifiers.map(({ value }) => value))}::text::json),
      unnest(${arrayLiteral(identifiers.map(laneOfIdentifier))}::smallint[])) as given (kind, value, lane)
    cross join lateral (${personOf(sql, tenantId)}) as owner`;
}

/** For statements of others: the person of whom `given` has the columns `kind`, `value` and `lane`. */
export const personOf = (sql: AnySql, tenantId: string) => sql`
  select system_id, do_not_track from profile_identifiers
  where tenant_id = ${tenantId} and lane = given.lane and kind = given.kind and value = given.value offset 0`;

/** Adds identifiers that are not there yet, in the order given: callers sort by lane, then key. */
export async function addIdentifiers(
  sql: AnySql,
  tenantId: string,
  identifiers: readonly OwnedIdentifier[],
): Promise<void> {
  await sql`
    insert into profile_identifiers (tenant_id, kind, value, system_id, lane)
    select ${tenantId}, kind, value, system_id, lane
    from rows from (
      json_array_elements_text(${jsonTextArray(identifiers.map(({ kind }) => kind))}::text::json),
      json_array_elements_text(${jsonTextArray(identifiers.map(({ value }) => value))}::text::json),
      unnest(${arrayLiteral(identifiers.map(({ systemId }) => systemId))}::int[]),
      unnest(${arrayLiteral(identifiers.map(laneOfIdentifier))}::smallint[])) as new (kind, value, system_id, lane)
    on conflict (tenant_id, kind, value, lane) do nothing`;
}

/** The identifiers of some profiles. They do not change while the caller has locked the profiles. */
export const readIdentifiersOf = (
  sql: AnySql,
  tenantId: string,
  systemIds: readonly number[],
): Promise<Identifier[]> =>
  sql<Identifier[]>`
    select kind, value from profile_identifiers
    where tenant_id = ${tenantId} and system_id = any(${arrayLiteral(systemIds)}::int[])`;

/** Gives all identifiers of some profiles to one of them, with its `do_not_track`. The caller has locked the profiles. */
export async function writeIdentifiers(
  sql: TransactionSql,
  input: { tenantId: string; from: readonly number[]; into: number; doNotTrack: boolean },
): Promise<void> {
  const { tenantId, from, into, doNotTrack } = input;
  const lanes = lanesOf(await readIdentifiersOf(sql, tenantId, from));
  await sql`
    update profile_identifiers set system_id = ${into}, do_not_track = ${doNotTrack}
    where tenant_id = ${tenantId} and lane = any(${arrayLiteral(lanes)}::smallint[])
      and system_id = any(${arrayLiteral(from)}::int[]) and (system_id <> ${into} or do_not_track <> ${doNotTrack})`;
}

export async function deleteIdentifiers(
  sql: TransactionSql,
  tenantId: string,
  { systemId, identifiers }: { systemId: number; identifiers: readonly Identifier[] },
): Promise<void> {
  await sql`
    delete from profile_identifiers
    where tenant_id = ${tenantId} and lane = any(${arrayLiteral(lanesOf(identifiers))}::smallint[]) and system_id = ${systemId}`;
}

const lanesOf = (identifiers: readonly Identifier[]) => [...new Set(identifiers.map(laneOfIdentifier))];
