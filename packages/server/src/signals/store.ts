/** All SQL of the signals; that of the scripts stands in scripts/store.ts. */
import { lockBriefly } from '../kernel/db/brief-locks.ts';
import { lines, list, texts } from '../kernel/db/columns.ts';
import type { AnySql, Sql } from '../kernel/db/database.ts';
import { LOOKUP_PLANS } from '../kernel/db/plans.ts';
import { type Identifier, personOf } from '../profiles/index.ts';
import type { CartSignal } from './carts.ts';
import type { IdSlots } from './id-slots.ts';

/** For the connections that commit signals. A transaction that its client has left must not hold ids for long. */
export const SESSION_SETTINGS = {
  ...LOOKUP_PLANS,
  statement_timeout: '10s',
  idle_in_transaction_session_timeout: '15s',
};

/**
 * Takes ids, in the order given, and answers those that nobody had taken. Whoever takes the same id at the same time waits
 * for the outcome here. (`not exists` would be planned as a join, which reads a tenant's whole slot while it is small.)
 */
export async function claimIds(
  sql: AnySql,
  input: { tenantId: string; slots: IdSlots; ids: readonly string[] },
): Promise<string[]> {
  const { tenantId, slots, ids } = input;
  const rows = await sql<{ id: string }[]>`
    insert into signal_ids (tenant_id, slot, id)
    select ${tenantId}, ${slots.current}, given.id
    from unnest(string_to_array(${lines(ids)}, chr(10))) as given (id)
    where (
      select true from signal_ids known
      where known.tenant_id = ${tenantId} and known.slot = ${slots.previous} and known.id = given.id) is null
    on conflict do nothing returning id`;
  return rows.map(({ id }) => id);
}

/** Like `claimIds` for one slot, without a look at another. */
export async function claimIdsIn(
  sql: AnySql,
  input: { tenantId: string; slot: number; ids: readonly string[] },
): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    insert into signal_ids (tenant_id, slot, id)
    select ${input.tenantId}, ${input.slot}, id from unnest(string_to_array(${lines(input.ids)}, chr(10))) as given (id)
    on conflict do nothing returning id`;
  return rows.map(({ id }) => id);
}

/** Forgets the ids of a slot; there are days for it, so nobody has to wait because somebody reads it. */
export async function emptySlot(sql: Sql, slot: number): Promise<void> {
  const table = `signal_ids_${slot}`;
  const [row] = await sql`select 1 from ${sql(table)} limit 1`;
  if (row !== undefined) await lockBriefly(sql, (tx) => tx`truncate ${tx(table)}`);
}

export interface SignalRow {
  /** System id, 0 for nobody. */
  profile: number;
  receivedAt: number;
  id: string;
  time: number;
  signal: string;
  payload: string;
  marketingId: string | null;
  trackingParam: string | null;
}

/**
 * All columns but the person, for `unnest`, in the order of `received_at, id, time, signal, payload, marketing_id, tracking_param`.
 * None has a line break: JSON escapes them, ids and parameters were cleaned at the door.
 */
const columnsOf = (sql: AnySql, rows: readonly Omit<SignalRow, 'profile'>[]) => sql`
  ${list(rows.map(({ receivedAt }) => receivedAt))}::bigint[],
  string_to_array(${lines(rows.map(({ id }) => id))}, chr(10)),
  ${list(rows.map(({ time }) => time))}::bigint[],
  ${list(rows.map(({ signal }) => signal))}::text[],
  string_to_array(${lines(rows.map(({ payload }) => payload))}, chr(10)),
  string_to_array(${lines(rows.map(({ marketingId }) => marketingId ?? ''))}, chr(10), ''),
  string_to_array(${lines(rows.map(({ trackingParam }) => trackingParam ?? ''))}, chr(10), '')`;

export async function insertSignals(
  sql: AnySql,
  tenantId: string,
  rows: readonly SignalRow[],
): Promise<void> {
  await sql`
    insert into signals (tenant_id, profile, received_at, id, time, signal, payload, marketing_id, tracking_param)
    select ${tenantId}, profile, 'epoch'::timestamptz + received_at * interval '1 millisecond', id,
      'epoch'::timestamptz + time * interval '1 millisecond', signal, payload::json, marketing_id, tracking_param
    from unnest(
      ${list(rows.map(({ profile }) => profile))}::int[],
      ${columnsOf(sql, rows)}
    ) as new (profile, received_at, id, time, signal, payload, marketing_id, tracking_param)`;
}

export interface PlainRow extends Omit<SignalRow, 'profile'> {
  person: Identifier | null;
}

/** Rows of one request are stored together or not at all. */
export interface RequestRow {
  request: number;
  row: PlainRow;
}

/** A signal that was not simply stored; `outcome` is null when its request was left alone. */
export interface Exception {
  request: number;
  id: string;
  outcome: 'duplicate' | 'untracked' | null;
}

/**
 * All that plain signals need, in one statement: `claimIds`, a look at the persons, and `insertSignals`. Requests that name
 * somebody unknown are left alone. Nearly always there is nothing to answer. (`in (...) is true` is looked up in a hash
 * table; a plain `in` would become a join, for which these sessions have nothing but a loop in a loop.)
 */
export async function storePlain(
  sql: AnySql,
  input: { tenantId: string; slots: IdSlots; rows: readonly RequestRow[] },
): Promise<Exception[]> {
  const { tenantId, slots } = input;
  const rows = input.rows.map(({ row }) => row);
  return sql<Exception[]>`
    with named as materialized (
      select given.*, person.system_id, person.do_not_track
      from unnest(
        ${list(input.rows.map(({ request }) => request))}::int[],
        string_to_array(${lines(rows.map(({ person }) => person?.kind ?? ''))}, chr(10), ''),
        string_to_array(${lines(rows.map(({ person }) => person?.value ?? ''))}, chr(10), ''),
        ${columnsOf(sql, rows)}
      ) as given (request, kind, value, received_at, id, time, signal, payload, marketing_id, tracking_param)
      left join lateral (${personOf(sql, tenantId)}) as person on true
    ), settled as materialized (
      select *, (request in (select request from named where kind is not null and system_id is null)) is true as left_alone
      from named
    ), taken as (
      insert into signal_ids (tenant_id, slot, id)
      select ${tenantId}, ${slots.current}, id from settled
      where not left_alone and (
        select true from signal_ids known
        where known.tenant_id = ${tenantId} and known.slot = ${slots.previous} and known.id = settled.id) is null
      on conflict do nothing returning id
    ), stored as (
      insert into signals (tenant_id, profile, received_at, id, time, signal, payload, marketing_id, tracking_param)
      select ${tenantId}, coalesce(system_id, 0), 'epoch'::timestamptz + received_at * interval '1 millisecond', id,
        'epoch'::timestamptz + time * interval '1 millisecond', signal, payload::json, marketing_id, tracking_param
      from settled where do_not_track is not true and (id in (select id from taken)) is true
    )
    select request, id, case when left_alone then null when do_not_track and taken then 'untracked' else 'duplicate' end
      as outcome
    from (select *, (id in (select id from taken)) is true as taken from settled offset 0) as settled
    where left_alone or not taken or do_not_track`;
}

/** More than these of a person are not looked at, so that one on whom a test or a bot counts does not hold up the others. */
const MOST_LOOKED_AT = 1000;

/** The cart signals among the last ones of persons, the oldest first: those of some carts, and some transactions. */
export async function readCartSignals(
  sql: AnySql,
  input: {
    tenantId: string;
    profiles: readonly number[];
    carts: readonly string[];
    transactions: readonly string[];
    since: Date;
  },
): Promise<(CartSignal & { profile: number })[]> {
  const { tenantId, profiles, carts, transactions, since } = input;
  return sql<(CartSignal & { profile: number })[]>`
    select asked.profile, recent.signal, (extract(epoch from recent.time) * 1000)::float8 as time, recent.payload
    from unnest(${list(profiles)}::int[]) as asked (profile)
    cross join lateral (
      select signal, time, received_at, payload from signals
      where tenant_id = ${tenantId} and profile = asked.profile and received_at >= ${since}
      order by received_at desc limit ${MOST_LOOKED_AT}) as recent
    where recent.signal like 'cart/%' and (
      recent.payload ->> 'cartId' in (select json_array_elements_text(${texts(carts)}::text::json))
      or recent.payload ->> 'transactionId' in (select json_array_elements_text(${texts(transactions)}::text::json)))
    order by recent.time, recent.received_at`;
}

/** Removes the signals of persons; answers how many. */
export async function deleteSignals(
  sql: AnySql,
  tenantId: string,
  profiles: readonly number[],
): Promise<number> {
  const { count } = await sql`
    delete from signals where tenant_id = ${tenantId} and profile = any(${list(profiles)}::int[])`;
  return count;
}
