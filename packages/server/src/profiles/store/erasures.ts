/** All SQL by which persons are erased, and what their data is found by. */
import { arrayLiteral } from '../../kernel/db/columns.ts';
import type { AnySql, TransactionSql } from '../../kernel/db/database.ts';
import type { Subject } from '../../kernel/module.ts';
import { byLaneAndKey } from '../identifier.ts';
import { deleteIdentifiers, readIdentifiersOf } from './identifiers.ts';
import { lanesOf, lockProfiles, type ProfileRef, readRedirectsTo } from './profiles.ts';

/** What a living person's data is found by, in any module. */
export async function readSubject(
  sql: AnySql,
  tenantId: string,
  { id, systemId }: Pick<ProfileRef, 'id' | 'systemId'>,
): Promise<Subject> {
  const merged = await readRedirectsTo(sql, tenantId, [systemId]);
  const identifiers = await readIdentifiersOf(sql, tenantId, [systemId]);
  return {
    tenantId,
    profileIds: [id, ...merged.map((profile) => profile.id)],
    systemIds: [systemId, ...merged.map((profile) => profile.systemId)],
    identifiers: [...identifiers].sort(byLaneAndKey),
  };
}

/** Removes a living profile, its redirects and its identifiers, and returns what they were. */
export async function removeProfile(
  sql: TransactionSql,
  tenantId: string,
  systemId: number,
): Promise<Subject | undefined> {
  const [living] = await lockProfiles(sql, tenantId, [systemId]);
  if (living === undefined || living.mergedInto !== null) return undefined;
  const subject = await readSubject(sql, tenantId, living);
  const { systemIds, identifiers } = subject;
  await deleteIdentifiers(sql, tenantId, { systemId, identifiers });
  await sql`
    delete from profiles
    where tenant_id = ${tenantId} and lane = any(${lanesOf(systemIds)}::smallint[])
      and system_id = any(${arrayLiteral(systemIds)}::int[])`;
  return subject;
}

export async function insertErasure(
  sql: AnySql,
  { id, subject, now }: { id: string; subject: Subject; now: Date },
): Promise<void> {
  await sql`
    insert into profile_erasures (tenant_id, id, subject, requested_at)
    values (${subject.tenantId}, ${id}, ${sql.json(subject as never)}, ${now})`;
}

/** Erasures of all tenants that were asked for before a time and are not complete. */
export async function openErasures(sql: AnySql, before: Date): Promise<{ id: string; subject: Subject }[]> {
  return sql<{ id: string; subject: Subject }[]>`
    /* over all */ select id, subject from profile_erasures
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
