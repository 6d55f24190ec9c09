/** Remembers what was seen, per tenant and kind, until it may be forgotten. */
import type postgres from 'postgres';
import type { AnySql, Sql } from './database.ts';

/**
 * Claims keys in the caller's transaction and answers those that are new. Two transactions with the same key wait for
 * each other: the second one learns what became of the first.
 *
 * @example const fresh = await claimKeys(tx.sql, { tenantId, kind: 'event', keys: [`${source} ${id}`], now, expiresAt })
 */
export async function claimKeys(
  sql: AnySql,
  input: { tenantId: string; kind: string; keys: string[]; now: number; expiresAt: number },
): Promise<Set<string>> {
  const { tenantId, kind, now, expiresAt } = input;
  // Sorted, so that two transactions with the same keys cannot wait for each other in a circle.
  const keys = [...new Set(input.keys)].sort();
  const rows = await sql<{ key: string }[]>`
    insert into dedupe_keys as known (tenant_id, kind, key, expires_at)
    select ${tenantId}, ${kind}, key, ${new Date(expiresAt)} from unnest(${keys}::text[]) as new (key)
    on conflict (tenant_id, kind, key) do update set expires_at = excluded.expires_at
      where known.expires_at <= ${new Date(now)}
    returning key`;
  return new Set(rows.map(({ key }) => key));
}

/**
 * Gives claimed keys back in the caller's transaction and answers those that were held, with the time until which they were.
 *
 * @example const held = await releaseKeys(tx.sql, { tenantId, kind: 'page', keys: [`${visitor} ${itemPid}`], now })
 */
export async function releaseKeys(
  sql: AnySql,
  { tenantId, kind, keys, now }: { tenantId: string; kind: string; keys: string[]; now: number },
): Promise<Map<string, number>> {
  const rows = await sql<{ key: string; expiresAt: number }[]>`
    delete from dedupe_keys where tenant_id = ${tenantId} and kind = ${kind} and key = any(${keys}::text[])
    returning key, (extract(epoch from expires_at) * 1000)::float8 as "expiresAt"`;
  return new Map(
    rows.filter(({ expiresAt }) => expiresAt > now).map(({ key, expiresAt }) => [key, expiresAt]),
  );
}

/**
 * For statements of others: whether a key was claimed and not given back, expired or not.
 *
 * @example sql`select id from things where not ${isClaimed(sql, { tenantId, kind: 'thing', key: sql`things.id::text` })}`
 */
export const isClaimed = (
  sql: AnySql,
  { tenantId, kind, key }: { tenantId: string; kind: string; key: postgres.Fragment },
) =>
  sql`exists (select 1 from dedupe_keys where tenant_id = ${tenantId} and kind = ${kind} and key = ${key})`;

const BATCH = 10_000;

/**
 * Forgets what is past its time, in batches that leave room for others. Past is asked twice: somebody may claim a key anew
 * between the search and the deletion, and it would be forgotten with its new time.
 */
export async function forgetExpiredKeys(sql: Sql, now: number): Promise<number> {
  let forgotten = 0;
  while (true) {
    const { count } = await sql`
      delete from dedupe_keys where expires_at <= ${new Date(now)} and (tenant_id, kind, key) in (
        select tenant_id, kind, key from dedupe_keys where expires_at <= ${new Date(now)} limit ${BATCH})`;
    forgotten += count;
    if (count < BATCH) return forgotten;
  }
}
