/** All SQL of the profiles. */
import { list, texts } from '../kernel/db/columns.ts';
import type { AnySql, TransactionSql } from '../kernel/db/database.ts';
import { type Identifier, keyOf } from './identifier.ts';
import type { Attributes, OptIns, Traits } from './traits.ts';

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

const PROFILE = `tenant_id as "tenantId", system_id as "systemId", id, email, external_id as "externalId", attributes,
  opt_ins as "optIns", traits_at as "traitsAt", do_not_track as "doNotTrack", created_at as "createdAt", updated_at as "updatedAt"`;

/** A profile, and the names of it that are in force. */
export type Owner = ProfileRef & Pick<Profile, 'email' | 'externalId'>;

/**
 * Whom the identifiers belong to. The lookups are spelled out (`lateral`, and `offset 0` that keeps them apart): left to
 * itself, the planner joins a tenant's whole tables as long as its statistics call them small, 33 ms instead of 1 ms for 64
 * identifiers among 2000 persons.
 */
export async function readIdentifiers(
  sql: AnySql,
  tenantId: string,
  identifiers: readonly Identifier[],
): Promise<(Owner & Identifier)[]> {
  return sql<(Owner & Identifier)[]>`
    select given.kind, given.value, owner.system_id as "systemId", profile.id, profile.do_not_track as "doNotTrack",
      profile.email, profile.external_id as "externalId"
    from rows from (
      json_array_elements_text(${texts(identifiers.map(({ kind }) => kind))}::text::json),
      json_array_elements_text(${texts(identifiers.map(({ value }) => value))}::text::json)) as given (kind, value)
    cross join lateral (
      select system_id from profile_identifiers
      where tenant_id = ${tenantId} and kind = given.kind and value = given.value offset 0) as owner
    cross join lateral (
      select id, do_not_track, email, external_id from profiles
      where tenant_id = ${tenantId} and system_id = owner.system_id offset 0) as profile`;
}

/** For statements of others: the person of whom `given` has the columns `kind` and `value`. */
export const personOf = (sql: AnySql, tenantId: string) => sql`
  select owner.system_id, profile.do_not_track
  from (
    select system_id from profile_identifiers
    where tenant_id = ${tenantId} and kind = given.kind and value = given.value offset 0) as owner
  cross join lateral (
    select do_not_track from profiles
    where tenant_id = ${tenantId} and system_id = owner.system_id offset 0) as profile`;

/** Like `readIdentifiers`, of identifiers whose profile may not be written yet. */
export async function readOwners(
  sql: AnySql,
  tenantId: string,
  identifiers: readonly Identifier[],
): Promise<(Identifier & { systemId: number })[]> {
  return sql<(Identifier & { systemId: number })[]>`
    select given.kind, given.value, owner.system_id as "systemId"
    from rows from (
      json_array_elements_text(${texts(identifiers.map(({ kind }) => kind))}::text::json),
      json_array_elements_text(${texts(identifiers.map(({ value }) => value))}::text::json)) as given (kind, value)
    cross join lateral (
      select system_id from profile_identifiers
      where tenant_id = ${tenantId} and kind = given.kind and value = given.value offset 0) as owner`;
}

/** Adds identifiers that are not there yet, in the order given: callers sort, so that they cannot wait in a circle. */
export async function addIdentifiers(
  sql: AnySql,
  tenantId: string,
  identifiers: readonly (Identifier & { systemId: number })[],
): Promise<void> {
  await sql`
    insert into profile_identifiers (tenant_id, kind, value, system_id)
    select ${tenantId}, kind, value, system_id
    from rows from (
      json_array_elements_text(${texts(identifiers.map(({ kind }) => kind))}::text::json),
      json_array_elements_text(${texts(identifiers.map(({ value }) => value))}::text::json),
      unnest(${list(identifiers.map(({ systemId }) => systemId))}::int[])) as new (kind, value, system_id)
    on conflict (tenant_id, kind, value) do nothing`;
}

/** Hands all identifiers of some profiles to another. */
export async function moveIdentifiers(
  sql: AnySql,
  input: { tenantId: string; from: readonly number[]; into: number },
): Promise<void> {
  const { tenantId, from, into } = input;
  await sql`
    update profile_identifiers set system_id = ${into}
    where tenant_id = ${tenantId} and system_id = any(${list(from)}::int[])`;
}

export type LockedProfile = Profile & { mergedInto: number | null };

/** Locks profiles in the order of their numbers; what concerns them stands still until the transaction ends. */
export async function lockProfiles(
  sql: AnySql,
  tenantId: string,
  systemIds: readonly number[],
): Promise<LockedProfile[]> {
  return sql<LockedProfile[]>`
    select ${sql.unsafe(PROFILE)}, merged_into as "mergedInto" from profiles
    where tenant_id = ${tenantId} and system_id = any(${list(systemIds)}::int[])
    order by system_id for update`;
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
    insert into profiles (tenant_id, system_id, id, email, external_id, created_at, updated_at)
    select ${tenantId}, system_id, id, email, external_id, ${now}, ${now}
    from rows from (
      unnest(${list(profiles.map(({ systemId }) => systemId))}::int[]),
      json_array_elements_text(${texts(profiles.map(({ id }) => id))}::text::json),
      json_array_elements_text(${JSON.stringify(profiles.map(({ email }) => email))}::text::json),
      json_array_elements_text(${JSON.stringify(profiles.map(({ externalId }) => externalId))}::text::json)
    ) as new (system_id, id, email, external_id)`;
}

/** Writes what a profile is after others were linked to it or merged into it. */
export async function writeProfile(sql: AnySql, profile: Profile): Promise<void> {
  await sql`
    update profiles set email = ${profile.email}, external_id = ${profile.externalId},
      attributes = ${sql.json(profile.attributes)}, opt_ins = ${sql.json(profile.optIns as Attributes)},
      traits_at = ${profile.traitsAt}, do_not_track = ${profile.doNotTrack}, updated_at = ${profile.updatedAt}
    where tenant_id = ${profile.tenantId} and system_id = ${profile.systemId}`;
}

/** Turns profiles, and those merged into them before, into signposts to the one that lives on. */
export async function leaveSignposts(
  sql: AnySql,
  input: { tenantId: string; from: readonly number[]; into: number; now: Date },
): Promise<void> {
  const { tenantId, from, into, now } = input;
  await sql`
    update profiles set merged_into = ${into}, email = null, external_id = null, attributes = '{}', opt_ins = '{}',
      updated_at = ${now}
    where tenant_id = ${tenantId}
      and (system_id = any(${list(from)}::int[]) or merged_into = any(${list(from)}::int[]))`;
}

export interface TraitChange {
  systemId: number;
  attributes: Attributes;
  optIns: OptIns;
  /** Epoch milliseconds. */
  at: number;
}

/**
 * Joins attributes and opt-ins to what is known, where later words win, whenever they are heard. Most signals repeat what the last one
 * said, and a row that would not change is written once an hour, for the time alone. Attributes that would grow a profile beyond
 * `mostBytes` are not taken. Answers those that were merged into another meanwhile, of whom nothing was written.
 */
export async function mergeTraits(
  sql: AnySql,
  input: { tenantId: string; changes: readonly TraitChange[]; mostBytes: number; now: Date },
): Promise<Signpost[]> {
  const { tenantId, changes, mostBytes, now } = input;
  const byNumber = Object.fromEntries(
    changes.map(({ systemId, at, ...told }) => [systemId, { ...told, at: new Date(at) }]),
  );
  const told = sql`changes -> system_id::text`;
  const at = sql`(${told} ->> 'at')::timestamptz`;
  const later = sql`${at} >= traits_at`;
  const attributes = sql`case when ${later} then attributes || (${told} -> 'attributes') else (${told} -> 'attributes') || attributes end`;
  const optIns = sql`case when ${later} then opt_ins || (${told} -> 'optIns') else (${told} -> 'optIns') || opt_ins end`;
  const isKnown = sql`(${attributes}) = attributes and (${optIns}) = opt_ins`;
  await sql`
    update profiles set
      attributes = case when octet_length((${attributes})::text) <= ${mostBytes} then ${attributes} else attributes end,
      opt_ins = ${optIns}, traits_at = greatest(traits_at, ${at}),
      updated_at = case when ${isKnown} then updated_at else ${now} end
    from (select ${JSON.stringify(byNumber)}::text::jsonb as changes offset 0) as given
    where tenant_id = ${tenantId} and system_id = any(${list(changes.map(({ systemId }) => systemId))}::int[])
      and merged_into is null and not (${isKnown} and traits_at > ${at} - interval '1 hour')`;
  // A statement of its own: it sees the merge that the update had to wait for.
  return sql<Signpost[]>`
    select system_id as "systemId", merged_into as "mergedInto" from profiles
    where tenant_id = ${tenantId} and system_id = any(${list(changes.map(({ systemId }) => systemId))}::int[])
      and merged_into is not null`;
}

/** A profile that was merged into another. */
export interface Signpost {
  systemId: number;
  mergedInto: number;
}

/** The profiles that were merged into these. */
export const readSignpostsTo = (
  sql: AnySql,
  tenantId: string,
  systemIds: readonly number[],
): Promise<Signpost[]> =>
  sql<Signpost[]>`
    select system_id as "systemId", merged_into as "mergedInto" from profiles
    where tenant_id = ${tenantId} and merged_into is not null and merged_into = any(${list(systemIds)}::int[])`;

/** Follows the signposts, also one that was put up while it waited. */
export async function setDoNotTrack(
  sql: AnySql,
  input: { tenantId: string; systemId: number; doNotTrack: boolean; now: Date },
): Promise<void> {
  const [written] = await sql<{ mergedInto: number | null }[]>`
    update profiles set do_not_track = ${input.doNotTrack}, updated_at = ${input.now}
    where tenant_id = ${input.tenantId} and system_id = ${input.systemId} returning merged_into as "mergedInto"`;
  if (written?.mergedInto != null) await setDoNotTrack(sql, { ...input, systemId: written.mergedInto });
}

/** Takes `count` numbers and answers the first. The lock on the tenant's row lasts until the transaction ends. */
export async function takeNumbers(sql: AnySql, tenantId: string, count: number): Promise<number> {
  const [row] = await sql<{ next: number }[]>`
    insert into profile_numbers (tenant_id, next) values (${tenantId}, ${1 + count})
    on conflict (tenant_id) do update set next = profile_numbers.next + ${count} returning next`;
  return row!.next - count;
}

/** The living profile behind a number, also behind the number of one that was merged into it. */
export async function findBySystemId(
  sql: AnySql,
  tenantId: string,
  systemId: number,
): Promise<Profile | undefined> {
  const [profile] = await sql<Profile[]>`
    select ${sql.unsafe(PROFILE)} from profiles where tenant_id = ${tenantId} and system_id = (
      select coalesce(merged_into, system_id) from profiles where tenant_id = ${tenantId} and system_id = ${systemId})`;
  return profile;
}

/** The living profile behind an id, also behind the id of one that was merged into it. */
export async function findById(sql: AnySql, tenantId: string, id: string): Promise<Profile | undefined> {
  const [profile] = await sql<Profile[]>`
    select ${sql.unsafe(PROFILE)} from profiles where tenant_id = ${tenantId} and system_id = (
      select coalesce(merged_into, system_id) from profiles where tenant_id = ${tenantId} and id = ${id})`;
  return profile;
}

/** Which of these ids, also of merged profiles, are those of persons of whom nothing more is kept. */
export async function readUntracked(
  sql: AnySql,
  tenantId: string,
  ids: readonly string[],
): Promise<{ id: string }[]> {
  return sql<{ id: string }[]>`
    select given.id from json_array_elements_text(${texts(ids)}::text::json) as given (id)
    cross join lateral (
      select coalesce(merged_into, system_id) as system_id from profiles
      where tenant_id = ${tenantId} and id = given.id offset 0) as named
    cross join lateral (
      select do_not_track from profiles
      where tenant_id = ${tenantId} and system_id = named.system_id offset 0) as profile
    where profile.do_not_track`;
}

export async function findByIdentifier(
  sql: AnySql,
  tenantId: string,
  { kind, value }: Identifier,
): Promise<Profile | undefined> {
  const [profile] = await sql<Profile[]>`
    select ${sql.unsafe(PROFILE)} from profiles where tenant_id = ${tenantId} and system_id = (
      select system_id from profile_identifiers
      where tenant_id = ${tenantId} and kind = ${kind} and value = ${value})`;
  return profile;
}

/** What a person's data is found by, in any module. */
export interface Subject {
  /** Opaque ids, the living profile's first. */
  profileIds: string[];
  /** Numbers of the living profile and of all that were merged into it. */
  systemIds: number[];
  identifiers: Identifier[];
}

/** Removes a living profile, its signposts and its identifiers, and answers what it was. */
export async function removeProfile(
  sql: TransactionSql,
  tenantId: string,
  systemId: number,
): Promise<Subject | undefined> {
  const living = await sql`
    select system_id from profiles
    where tenant_id = ${tenantId} and system_id = ${systemId} and merged_into is null for update`;
  if (living.length === 0) return undefined;
  const identifiers = await sql<Identifier[]>`
    delete from profile_identifiers where tenant_id = ${tenantId} and system_id = ${systemId} returning kind, value`;
  const profiles = await sql<{ id: string; systemId: number }[]>`
    delete from profiles where tenant_id = ${tenantId} and (system_id = ${systemId} or merged_into = ${systemId})
    returning id, system_id as "systemId"`;
  const ordered = [...profiles].sort(
    (a, b) => Number(b.systemId === systemId) - Number(a.systemId === systemId),
  );
  return {
    profileIds: ordered.map(({ id }) => id),
    systemIds: ordered.map((profile) => profile.systemId),
    identifiers: [...identifiers].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)),
  };
}

export async function insertErasure(
  sql: AnySql,
  erasure: { tenantId: string; id: string; subject: Subject; now: Date },
): Promise<void> {
  await sql`
    insert into profile_erasures (tenant_id, id, subject, requested_at)
    values (${erasure.tenantId}, ${erasure.id}, ${sql.json(erasure.subject as never)}, ${erasure.now})`;
}

/** Erasures of all tenants that were asked for before a time and are not complete. */
export async function openErasures(
  sql: AnySql,
  before: Date,
): Promise<{ tenantId: string; id: string; subject: Subject }[]> {
  return sql<{ tenantId: string; id: string; subject: Subject }[]>`
    select tenant_id as "tenantId", id, subject from profile_erasures
    where completed_at is null and requested_at <= ${before} order by requested_at limit 1000`;
}

export async function completeErasure(
  sql: AnySql,
  input: { tenantId: string; id: string; now: Date },
): Promise<void> {
  await sql`
    update profile_erasures set completed_at = ${input.now}, subject = null
    where tenant_id = ${input.tenantId} and id = ${input.id}`;
}
