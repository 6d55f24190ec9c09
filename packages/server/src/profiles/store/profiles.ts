/** All SQL of profiles and their numbers. A profile lies in the lane that its number and its id name. */
import { arrayLiteral, jsonTextArray } from '../../kernel/db/columns.ts';
import type { AnySql, TransactionSql } from '../../kernel/db/database.ts';
import { allSettledOrThrow } from '../../kernel/db/together.ts';
import { laneOfId, timeOfId } from '../../kernel/ids.ts';
import { laneOfNumber } from '../../kernel/lanes/lane-of.ts';
import { type Identifier, laneOfIdentifier } from '../identifier.ts';
import type { Attributes, Traits } from '../traits.ts';
import { readOwners, writeIdentifiers } from './identifiers.ts';

/** A profile as others refer to it. */
export interface ProfileRef {
  /** Opaque; what leaves the house. */
  id: string;
  /** An int32, unique per tenant (= `tpid`, = contact id). */
  systemId: number;
  doNotTrack: boolean;
}

export interface Profile extends ProfileRef, Traits {
  tenantId: string;
  email: string | null;
  externalId: string | null;
  /** When attributes and opt-ins were told last, to the hour where they were told again. */
  traitsAt: Date;
  createdAt: Date;
  updatedAt: Date;
}

/** A row as it is: `mergedInto` is null for a living profile. */
export type ProfileRow = Profile & { mergedInto: number | null };

const PROFILE = `tenant_id as "tenantId", system_id as "systemId", id, email, external_id as "externalId", attributes,
  opt_ins as "optIns", traits_at as "traitsAt", do_not_track as "doNotTrack", created_at as "createdAt",
  updated_at as "updatedAt", merged_into as "mergedInto"`;

/** A profile, and the names of it that are in force. */
export type Owner = ProfileRef & Pick<Profile, 'email' | 'externalId'>;

/** The living profiles that identifiers belong to. */
export async function readIdentifiers(
  sql: AnySql,
  tenantId: string,
  identifiers: readonly Identifier[],
): Promise<(Owner & Identifier)[]> {
  const owned = await readOwners(sql, tenantId, identifiers);
  const rows = await readRows(sql, tenantId, [...new Set(owned.map(({ systemId }) => systemId))]);
  const owners = new Map(rows.map((row) => [row.systemId, row]));
  return owned.flatMap(({ kind, value, systemId }) => {
    const owner = owners.get(systemId);
    // Merged or erased between the two statements.
    return owner === undefined || owner.mergedInto !== null ? [] : { ...owner, kind, value };
  });
}

type Row = Owner & Pick<ProfileRow, 'mergedInto'>;

async function readRows(sql: AnySql, tenantId: string, systemIds: readonly number[]): Promise<Row[]> {
  if (systemIds.length === 0) return [];
  return sql<Row[]>`
    select profile.* from unnest(${arrayLiteral(systemIds)}::int[], ${arrayLiteral(systemIds.map(laneOfNumber))}::smallint[])
      as given (number, of_lane)
    cross join lateral (
      select system_id as "systemId", id, do_not_track as "doNotTrack", email, external_id as "externalId",
        merged_into as "mergedInto" from profiles
      where tenant_id = ${tenantId} and lane = of_lane and system_id = number offset 0) as profile`;
}

/** The living profiles behind numbers, also behind those of merged profiles. Numbers of erased persons are absent. */
export async function readLiving(
  sql: AnySql,
  tenantId: string,
  systemIds: readonly number[],
): Promise<Map<number, ProfileRef>> {
  const living = new Map<number, ProfileRef>();
  // The number that was asked for, by the number to look up next.
  let asked = new Map([...new Set(systemIds)].map((systemId) => [systemId, [systemId]]));
  while (asked.size > 0) {
    const next = new Map<number, number[]>();
    for (const { id, systemId, doNotTrack, mergedInto } of await readRows(sql, tenantId, [...asked.keys()])) {
      const numbers = asked.get(systemId)!;
      if (mergedInto !== null) next.set(mergedInto, [...(next.get(mergedInto) ?? []), ...numbers]);
      else for (const number of numbers) living.set(number, { id, systemId, doNotTrack });
    }
    asked = next;
  }
  return living;
}

/** Locks profiles lane by lane, and by number within a lane. They do not change until the transaction ends. */
export async function lockProfiles(
  sql: TransactionSql,
  tenantId: string,
  systemIds: readonly number[],
): Promise<ProfileRow[]> {
  const lanes = Map.groupBy([...systemIds].sort(byLaneAndNumber), laneOfNumber);
  const rows = await allSettledOrThrow(
    Array.from(
      lanes,
      ([lane, own]) => sql<ProfileRow[]>`
        select ${sql.unsafe(PROFILE)} from profiles
        where tenant_id = ${tenantId} and lane = ${lane} and system_id = any(${arrayLiteral(own)}::int[])
        order by system_id for update`,
    ),
  );
  return rows.flat();
}

/** Keeps a living profile from being merged or erased until the transaction ends. Returns false if it was merged or erased before. */
export async function holdProfile(sql: TransactionSql, tenantId: string, systemId: number): Promise<boolean> {
  const { count } = await sql`
    select from profiles
    where tenant_id = ${tenantId} and lane = ${laneOfNumber(systemId)} and system_id = ${systemId}
      and merged_into is null for key share`;
  return count > 0;
}

export interface NewProfile {
  systemId: number;
  id: string;
  email: string | null;
  externalId: string | null;
}

export async function insertProfiles(
  sql: AnySql,
  input: { tenantId: string; profiles: readonly NewProfile[]; now: Date },
): Promise<void> {
  const { tenantId, profiles, now } = input;
  await sql`
    insert into profiles (tenant_id, system_id, id, email, external_id, created_at, updated_at, lane)
    select ${tenantId}, system_id, id, email, external_id, ${now}, ${now}, lane
    from rows from (
      unnest(${arrayLiteral(profiles.map(({ systemId }) => systemId))}::int[]),
      json_array_elements_text(${jsonTextArray(profiles.map(({ id }) => id))}::text::json),
      json_array_elements_text(${jsonTextArray(profiles.map(({ email }) => email))}::text::json),
      json_array_elements_text(${jsonTextArray(profiles.map(({ externalId }) => externalId))}::text::json),
      unnest(${arrayLiteral(profiles.map(({ systemId }) => laneOfNumber(systemId)))}::smallint[])
    ) as new (system_id, id, email, external_id, lane)`;
}

/** Writes what a profile is after others were linked to it or merged into it. */
export async function writeProfile(sql: AnySql, profile: Profile): Promise<void> {
  const { tenantId, systemId } = profile;
  await sql`
    update profiles set email = ${profile.email}, external_id = ${profile.externalId},
      attributes = ${sql.json(profile.attributes)}, opt_ins = ${sql.json(profile.optIns as Attributes)},
      traits_at = ${profile.traitsAt}, do_not_track = ${profile.doNotTrack}, updated_at = ${profile.updatedAt}
    where tenant_id = ${tenantId} and lane = ${laneOfNumber(systemId)} and system_id = ${systemId}`;
}

/** A profile that was merged into another. */
export interface Redirect {
  systemId: number;
  mergedInto: number;
}

/** The profiles that were merged into these. They lie in any lane. */
export const readRedirectsTo = (
  sql: AnySql,
  tenantId: string,
  systemIds: readonly number[],
): Promise<(Redirect & { id: string })[]> =>
  sql<(Redirect & { id: string })[]>`
    select system_id as "systemId", id, merged_into as "mergedInto" from profiles
    where tenant_id = ${tenantId} and merged_into is not null and merged_into = any(${arrayLiteral(systemIds)}::int[])
    order by system_id`;

/** Turns profiles, and those merged into them before, into redirects to the living one. The caller has locked the profiles. */
export async function redirectProfiles(
  sql: TransactionSql,
  input: { tenantId: string; from: readonly number[]; into: number; now: Date },
): Promise<void> {
  const { tenantId, from, into, now } = input;
  const earlier = await readRedirectsTo(sql, tenantId, from);
  const systemIds = [...from, ...earlier.map(({ systemId }) => systemId)];
  await sql`
    update profiles set merged_into = ${into}, email = null, external_id = null, attributes = '{}', opt_ins = '{}',
      updated_at = ${now}
    where tenant_id = ${tenantId} and lane = any(${lanesOf(systemIds)}::smallint[])
      and system_id = any(${arrayLiteral(systemIds)}::int[])`;
}

/** Also on the identifiers of the person. Follows redirects, including one that a merge left while this waited for it. */
export async function setDoNotTrack(
  sql: TransactionSql,
  input: { tenantId: string; systemId: number; doNotTrack: boolean; now: Date },
): Promise<void> {
  const { tenantId, systemId, doNotTrack, now } = input;
  const { count } = await sql`
    update profiles set do_not_track = ${doNotTrack}, updated_at = ${now}
    where tenant_id = ${tenantId} and lane = ${laneOfNumber(systemId)} and system_id = ${systemId}
      and merged_into is null`;
  if (count > 0) return writeIdentifiers(sql, { tenantId, from: [systemId], into: systemId, doNotTrack });
  const living = (await readLiving(sql, tenantId, [systemId])).get(systemId);
  if (living !== undefined) await setDoNotTrack(sql, { ...input, systemId: living.systemId });
}

/** Takes numbers in lanes, which are in order, and returns the first of each lane. Their rows are locked until the transaction ends. */
export async function takeNumbers(
  sql: AnySql,
  tenantId: string,
  wanted: readonly { lane: number; count: number }[],
): Promise<Map<number, number>> {
  const rows = await sql<{ lane: number; next: number }[]>`
    insert into profile_numbers (tenant_id, lane, next)
    select ${tenantId}, lane, 1 + count
    from unnest(${arrayLiteral(wanted.map(({ lane }) => lane))}::smallint[], ${arrayLiteral(wanted.map(({ count }) => count))}::int[])
      as wanted (lane, count)
    on conflict (tenant_id, lane) do update set next = profile_numbers.next + excluded.next - 1
    returning lane, next`;
  const counts = new Map(wanted.map(({ lane, count }) => [lane, count]));
  return new Map(rows.map(({ lane, next }) => [lane, next - counts.get(lane)!]));
}

/** The living profile behind a number, also behind the number of a merged profile. */
export async function findBySystemId(
  sql: AnySql,
  tenantId: string,
  systemId: number,
): Promise<Profile | undefined> {
  const [row] = await sql<ProfileRow[]>`
    select ${sql.unsafe(PROFILE)} from profiles
    where tenant_id = ${tenantId} and lane = ${laneOfNumber(systemId)} and system_id = ${systemId}`;
  return row && livingBehind(sql, row);
}

/** The living profile behind an id, also behind the id of a merged profile. */
export async function findById(sql: AnySql, tenantId: string, id: string): Promise<Profile | undefined> {
  const [row] = await sql<ProfileRow[]>`
    select ${sql.unsafe(PROFILE)} from profiles
    where tenant_id = ${tenantId} and lane = ${laneOfId(id)} and id = ${id}`;
  return row && livingBehind(sql, row);
}

export async function findByIdentifier(
  sql: AnySql,
  tenantId: string,
  identifier: Identifier,
): Promise<Profile | undefined> {
  const { kind, value } = identifier;
  const [owner] = await sql<{ systemId: number }[]>`
    select system_id as "systemId" from profile_identifiers
    where tenant_id = ${tenantId} and lane = ${laneOfIdentifier(identifier)} and kind = ${kind} and value = ${value}`;
  return owner && findBySystemId(sql, tenantId, owner.systemId);
}

function livingBehind(sql: AnySql, row: ProfileRow): Profile | Promise<Profile | undefined> {
  const { mergedInto, ...profile } = row;
  return mergedInto === null ? profile : findBySystemId(sql, profile.tenantId, mergedInto);
}

/** Those of the ids, also of merged profiles, whose persons must not be tracked. */
export async function readUntracked(
  sql: AnySql,
  tenantId: string,
  ids: readonly string[],
): Promise<string[]> {
  const own = ids.filter((id) => timeOfId('prf', id) !== null);
  if (own.length === 0) return [];
  const named = await sql<{ id: string; systemId: number }[]>`
    select given.id, named."systemId"
    from unnest(${arrayLiteral(own)}::text[], ${arrayLiteral(own.map(laneOfId))}::smallint[]) as given (id, lane)
    cross join lateral (
      select coalesce(merged_into, system_id) as "systemId" from profiles
      where tenant_id = ${tenantId} and lane = given.lane and id = given.id offset 0) as named`;
  const numbers = named.map(({ systemId }) => systemId);
  const living = await readLiving(sql, tenantId, numbers);
  return named.filter(({ systemId }) => living.get(systemId)?.doNotTrack).map(({ id }) => id);
}

/** As a literal of PostgreSQL. */
export const lanesOf = (systemIds: readonly number[]): string =>
  arrayLiteral([...new Set(systemIds.map(laneOfNumber))]);

/** The order in which transactions touch profiles, so that they cannot wait for each other in a circle. */
export const byLaneAndNumber = (a: number, b: number): number => laneOfNumber(a) - laneOfNumber(b) || a - b;
