/**
 * Remembers keys, per tenant and kind, until they may be forgotten. A key lies in the lane of its text, unless the
 * caller names another, such as that of a person. All calls about a kind name lanes the same way.
 */
import { laneOf } from '../lanes/lane-of.ts';
import { arrayLiteral } from './columns.ts';
import type { AnySql, Sql, TransactionSql } from './database.ts';
import { allSettledOrThrow } from './together.ts';

/** By lane, then key, so that two transactions with the same keys cannot wait for each other in a circle. */
function placesOf(given: readonly string[], lane?: number) {
  const places = [...new Set(given)].map((key) => ({ key, lane: lane ?? laneOf(key) }));
  places.sort((one, other) => one.lane - other.lane || (one.key < other.key ? -1 : 1));
  return { keys: places.map(({ key }) => key), lanes: arrayLiteral(places.map(({ lane }) => lane)) };
}

/**
 * Claims keys in the caller's transaction and answers those that are new. Two transactions with the same key wait for
 * each other: the second one learns what became of the first.
 *
 * @param input.lane of all keys; by default that of each key
 * @example const fresh = await claimKeys(tx.sql, { tenantId, kind: 'event', keys: [`${source} ${id}`], now, expiresAt })
 */
export async function claimKeys(
  sql: TransactionSql,
  input: { tenantId: string; kind: string; keys: string[]; lane?: number; now: number; expiresAt: number },
): Promise<Set<string>> {
  const { tenantId, kind, now } = input;
  const { keys, lanes } = placesOf(input.keys, input.lane);
  const expiresAt = new Date(input.expiresAt);
  // Two statements, because Citus takes no parameter in ON CONFLICT of INSERT ... SELECT. In this order, because an
  // expired key may be forgotten at the same time. `is true` keeps the planner from the index on `expires_at`, which
  // would read all keys that expired since the last sweep.
  const found = await allSettledOrThrow([
    sql<{ key: string }[]>`
      update dedupe_keys set expires_at = ${expiresAt}
      where tenant_id = ${tenantId} and kind = ${kind} and key = any(${keys}::text[])
        and lane = any(${lanes}::smallint[]) and (expires_at <= ${new Date(now)}) is true
      returning key`,
    sql<{ key: string }[]>`
      insert into dedupe_keys (tenant_id, kind, key, expires_at, lane)
      select ${tenantId}, ${kind}, key, ${expiresAt}, lane
      from unnest(${keys}::text[], ${lanes}::smallint[]) as new (key, lane)
      on conflict do nothing returning key`,
  ]);
  return new Set(found.flat().map(({ key }) => key));
}

/**
 * Gives claimed keys back in the caller's transaction and answers those that were held, with the time until which they were.
 *
 * @example const held = await releaseKeys(tx.sql, { tenantId, kind: 'page', keys: [`${visitor} ${itemPid}`], now })
 */
export async function releaseKeys(
  sql: AnySql,
  input: { tenantId: string; kind: string; keys: string[]; lane?: number; now: number },
): Promise<Map<string, number>> {
  const { tenantId, kind, now } = input;
  const { keys, lanes } = placesOf(input.keys, input.lane);
  const rows = await sql<{ key: string; expiresAt: Date }[]>`
    delete from dedupe_keys
    where tenant_id = ${tenantId} and kind = ${kind} and key = any(${keys}::text[])
      and lane = any(${lanes}::smallint[])
    returning key, expires_at as "expiresAt"`;
  const held = rows.map(({ key, expiresAt }) => [key, expiresAt.getTime()] as const);
  return new Map(held.filter(([, expiresAt]) => expiresAt > now));
}

/** Those of the keys that were claimed and not given back, expired or not. */
export async function readClaimed(
  sql: AnySql,
  input: { tenantId: string; kind: string; keys: string[]; lane?: number },
): Promise<Set<string>> {
  const { keys, lanes } = placesOf(input.keys, input.lane);
  const rows = await sql<{ key: string }[]>`
    select key from dedupe_keys
    where tenant_id = ${input.tenantId} and kind = ${input.kind} and key = any(${keys}::text[])
      and lane = any(${lanes}::smallint[])`;
  return new Set(rows.map(({ key }) => key));
}

const BATCH = 10_000;

/**
 * Deletes expired keys, in batches that leave room for others. The condition is asked twice, because a key may be
 * claimed anew between the search and the deletion, and would be deleted with its new time.
 */
export async function forgetExpiredKeys(sql: Sql, now: number): Promise<number> {
  let forgotten = 0;
  while (true) {
    const { count } = await sql`
      delete from dedupe_keys where expires_at <= ${new Date(now)} and (tenant_id, kind, key, lane) in (
        select tenant_id, kind, key, lane from dedupe_keys where expires_at <= ${new Date(now)} limit ${BATCH})
      /* over all */`;
    forgotten += count;
    if (count < BATCH) return forgotten;
  }
}
