/** SQL of the ids that were accepted (D31). */
import { lockBriefly } from '../../kernel/db/brief-locks.ts';
import { arrayLiteral, newlineText } from '../../kernel/db/columns.ts';
import type { AnySql, Sql } from '../../kernel/db/database.ts';
import type { IdSlots } from '../id-slots.ts';

/** An id as it is remembered, and the lane that it lies in. */
export interface Claim {
  /** The id, of an identified signal with a mark of the identification (`claimOf`). */
  key: string;
  lane: number;
}

/** By lane, then key: two transactions that claim the same ids cannot wait for each other in a circle. */
export const byLaneAndKey = (one: Claim, other: Claim): number =>
  one.lane - other.lane || (one.key < other.key ? -1 : 1);

/**
 * Claims ids, in the order given, and returns those that were free. A transaction that claims the same id at the same time waits
 * here for the outcome. (`not exists` would be planned as a join, which reads a tenant's whole slot while it is small.)
 */
export async function claimIds(
  sql: AnySql,
  input: { tenantId: string; slots: IdSlots; claims: readonly Claim[] },
): Promise<string[]> {
  const { tenantId, slots, claims } = input;
  const rows = await sql<{ id: string }[]>`
    insert into signal_ids (tenant_id, slot, id, lane)
    select ${tenantId}, ${slots.current}, given.id, given.lane
    from unnest(string_to_array(${keysOf(claims)}, chr(10)), ${lanesOf(claims)}::smallint[]) as given (id, lane)
    where (
      select true from signal_ids known
      where known.tenant_id = ${tenantId} and known.slot = ${slots.previous} and known.id = given.id
        and known.lane = given.lane) is null
    on conflict do nothing returning id`;
  return rows.map(({ id }) => id);
}

/** Like `claimIds` for one slot, without a look at another. */
export async function claimIdsIn(
  sql: AnySql,
  input: { tenantId: string; slot: number; claims: readonly Claim[] },
): Promise<string[]> {
  const { tenantId, slot, claims } = input;
  const rows = await sql<{ id: string }[]>`
    insert into signal_ids (tenant_id, slot, id, lane)
    select ${tenantId}, ${slot}, id, lane
    from unnest(string_to_array(${keysOf(claims)}, chr(10)), ${lanesOf(claims)}::smallint[]) as given (id, lane)
    on conflict do nothing returning id`;
  return rows.map(({ id }) => id);
}

const keysOf = (claims: readonly Claim[]) => newlineText(claims.map(({ key }) => key));
const lanesOf = (claims: readonly Claim[]) => arrayLiteral(claims.map(({ lane }) => lane));

/** Forgets the ids of a slot. There are days for it, so nobody has to wait for a reader. */
export async function emptySlot(sql: Sql, slot: number): Promise<void> {
  const table = `signal_ids_${slot}`;
  const [row] = await sql`select 1 from ${sql(table)} /* over all */ limit 1`;
  if (row !== undefined) await lockBriefly(sql, (tx) => tx`truncate ${tx(table)}`);
}
