/** SQL of the stored signals. */
import { arrayLiteral, newlineText } from '../../kernel/db/columns.ts';
import type { AnySql } from '../../kernel/db/database.ts';
import { LOOKUP_PLANS } from '../../kernel/db/plans.ts';
import { laneOfNumber } from '../../kernel/lanes/lane-of.ts';

/** For connections that store signals. A transaction that its client has left must not hold ids for long. */
export const SESSION_SETTINGS = {
  ...LOOKUP_PLANS,
  statement_timeout: '10s',
  idle_in_transaction_session_timeout: '15s',
};

/** Whether a live signal was signed (D8b), or came with an import of history. */
export type Origin = 'signed' | 'claimed' | 'import';

export interface SignalRow {
  /** System id, 0 for an anonymous visitor. */
  profile: number;
  lane: number;
  /**
   * Microseconds since the epoch: the arrival, and the position in its request. It orders what a person told at the same time, and makes
   * every signal of a request a row of its own.
   */
  arrivedAt: number;
  id: string;
  /** Epoch milliseconds. */
  time: number;
  signal: string;
  /** JSON. */
  payload: string;
  marketingId: string | null;
  trackingParam: string | null;
  origin: Origin;
}

/**
 * All columns but person and lane, for `unnest`: `arrived_at, id, time, signal, payload, marketing_id, tracking_param, origin`.
 * None has a line break: JSON escapes them, ids and parameters were cleaned when they were read.
 */
export const columnsOf = (sql: AnySql, rows: readonly Omit<SignalRow, 'profile' | 'lane'>[]) => sql`
  ${arrayLiteral(rows.map(({ arrivedAt }) => arrivedAt))}::bigint[],
  string_to_array(${newlineText(rows.map(({ id }) => id))}, chr(10)),
  ${arrayLiteral(rows.map(({ time }) => time))}::bigint[],
  ${arrayLiteral(rows.map(({ signal }) => signal))}::text[],
  string_to_array(${newlineText(rows.map(({ payload }) => payload))}, chr(10)),
  string_to_array(${newlineText(rows.map(({ marketingId }) => marketingId ?? ''))}, chr(10), ''),
  string_to_array(${newlineText(rows.map(({ trackingParam }) => trackingParam ?? ''))}, chr(10), ''),
  ${arrayLiteral(rows.map(({ origin }) => origin))}::text[]`;

/** The same columns as they are stored. */
export const storedColumns = (sql: AnySql) => sql`
  'epoch'::timestamptz + arrived_at * interval '1 microsecond', id, 'epoch'::timestamptz + time * interval '1 millisecond',
  signal, payload::json, marketing_id, tracking_param, origin`;

/** Rows by lane, then person: the order in which every transaction writes them. */
export async function insertSignals(
  sql: AnySql,
  tenantId: string,
  rows: readonly SignalRow[],
): Promise<void> {
  const sorted = rows.toSorted((a, b) => a.lane - b.lane || a.profile - b.profile);
  await sql`
    insert into signals (tenant_id, profile, lane, received_at, id, time, signal, payload, marketing_id, tracking_param, origin)
    select ${tenantId}, profile, lane, ${storedColumns(sql)}
    from unnest(
      ${arrayLiteral(sorted.map(({ profile }) => profile))}::int[],
      ${arrayLiteral(sorted.map(({ lane }) => lane))}::smallint[],
      ${columnsOf(sql, sorted)}
    ) as new (profile, lane, arrived_at, id, time, signal, payload, marketing_id, tracking_param, origin)`;
}

/** By what a signal of a person is found. */
export interface SignalPlace {
  profile: number;
  arrivedAt: number;
  id: string;
}

export interface StoredSignal extends SignalPlace {
  time: number;
  signal: string;
  payload: Record<string, unknown>;
  origin: Origin;
}

const arrivedAt = '(extract(epoch from received_at) * 1000000)::float8';

/** Those of the places at which a signal stands. */
export async function readSignals(
  sql: AnySql,
  tenantId: string,
  places: readonly SignalPlace[],
): Promise<StoredSignal[]> {
  if (places.length === 0) return [];
  return sql<StoredSignal[]>`
    select named.profile, named.arrived_at as "arrivedAt", stored.*
    from unnest(
      ${arrayLiteral(places.map(({ profile }) => profile))}::int[],
      ${arrayLiteral(places.map(({ profile }) => laneOfNumber(profile)))}::smallint[],
      ${arrayLiteral(places.map(({ arrivedAt }) => arrivedAt))}::bigint[],
      string_to_array(${newlineText(places.map(({ id }) => id))}, chr(10))
    ) as named (profile, lane, arrived_at, id)
    cross join lateral (
      select id, (extract(epoch from time) * 1000)::float8 as time, signal, payload, origin from signals
      where tenant_id = ${tenantId} and lane = named.lane and profile = named.profile and id = named.id
        and received_at = 'epoch'::timestamptz + named.arrived_at * interval '1 microsecond' offset 0) as stored`;
}

/** More signals of a person are not looked at, so that one on whom a test or a bot counts does not hold up the others. */
const MAX_HISTORY = 1000;

/** The cart signals among the last signals of persons. */
export async function readCartSignals(
  sql: AnySql,
  input: { tenantId: string; profiles: readonly number[]; since: Date },
): Promise<Omit<StoredSignal, 'origin'>[]> {
  const { tenantId, profiles, since } = input;
  if (profiles.length === 0) return [];
  return sql<Omit<StoredSignal, 'origin'>[]>`
    select asked.profile, recent.id, ${sql.unsafe(arrivedAt)} as "arrivedAt", recent.signal,
      (extract(epoch from recent.time) * 1000)::float8 as time, recent.payload
    from unnest(${arrayLiteral(profiles)}::int[], ${arrayLiteral(profiles.map(laneOfNumber))}::smallint[]) as asked (profile, lane)
    cross join lateral (
      select id, signal, time, received_at, payload from signals
      where tenant_id = ${tenantId} and lane = asked.lane and profile = asked.profile and received_at >= ${since}
      order by received_at desc limit ${MAX_HISTORY}) as recent
    where recent.signal like 'cart/%'`;
}

/** Where a signal stands among those of its person. */
export type SignalCursor = Pick<SignalPlace, 'arrivedAt' | 'id'>;

/** A signal as people are shown it. */
export interface ListedSignal extends SignalCursor {
  signal: string;
  time: Date;
  received_at: Date;
  payload: Record<string, unknown>;
  marketing_id: string | null;
  tracking_param: string | null;
  origin: Origin;
}

/**
 * The signals of a person behind the given place, newest first. Each number is read in the order of the primary key, so any page costs as
 * much as the first. One statement reads all numbers: a merge that moves signals meanwhile neither hides nor repeats one.
 */
export async function listSignals(
  sql: AnySql,
  input: { tenantId: string; profiles: readonly number[]; after: SignalCursor | null; limit: number },
): Promise<ListedSignal[]> {
  const { tenantId, profiles, after, limit } = input;
  const before = after && sql`('epoch'::timestamptz + ${after.arrivedAt}::bigint * interval '1 microsecond')`;
  return sql<ListedSignal[]>`
    select recent.id, recent.signal, recent.time, recent.received_at, recent.payload, recent.marketing_id, recent.tracking_param,
      recent.origin, ${sql.unsafe(arrivedAt)} as "arrivedAt"
    from unnest(${arrayLiteral(profiles)}::int[], ${arrayLiteral(profiles.map(laneOfNumber))}::smallint[]) as asked (profile, lane)
    cross join lateral (
      select id, signal, time, received_at, payload, marketing_id, tracking_param, origin from signals
      where tenant_id = ${tenantId} and lane = asked.lane and profile = asked.profile
        ${before === null ? sql`` : sql`and received_at <= ${before} and (received_at, id) < (${before}, ${after!.id})`}
      order by received_at desc, id desc limit ${limit}) as recent
    order by recent.received_at desc, recent.id desc limit ${limit}`;
}

/** Removes the signals of persons and returns how many. */
export async function deleteSignals(
  sql: AnySql,
  tenantId: string,
  profiles: readonly number[],
): Promise<number> {
  const { count } = await sql`
    delete from signals where tenant_id = ${tenantId} and lane = any(${arrayLiteral(profiles.map(laneOfNumber))}::smallint[])
      and profile = any(${arrayLiteral(profiles)}::int[])`;
  return count;
}

/** Moves up to `limit` signals of a person to the number and lane of another and returns how many. */
export async function moveSignals(
  sql: AnySql,
  input: { tenantId: string; from: number; into: number; limit: number },
): Promise<number> {
  const { tenantId, from, into, limit } = input;
  const rows = await sql<Omit<SignalRow, 'lane' | 'profile'>[]>`
    select ${sql.unsafe(arrivedAt)} as "arrivedAt", id, (extract(epoch from time) * 1000)::float8 as time, signal,
      payload::text, marketing_id as "marketingId", tracking_param as "trackingParam", origin
    from signals
    where tenant_id = ${tenantId} and lane = ${laneOfNumber(from)} and profile = ${from} limit ${limit}`;
  if (rows.length === 0) return 0;
  await insertSignals(
    sql,
    tenantId,
    rows.map((row) => ({ ...row, profile: into, lane: laneOfNumber(into) })),
  );
  const times = rows.map(({ arrivedAt }) => arrivedAt);
  await sql`
    delete from signals
    where tenant_id = ${tenantId} and lane = ${laneOfNumber(from)} and profile = ${from}
      and (received_at, id) in (
        select 'epoch'::timestamptz + arrived_at * interval '1 microsecond', id
        from unnest(${arrayLiteral(times)}::bigint[], string_to_array(${newlineText(rows.map(({ id }) => id))}, chr(10)))
          as moved (arrived_at, id))`;
  return rows.length;
}

/** All signals of persons, the oldest first. */
export async function exportSignals(
  sql: AnySql,
  tenantId: string,
  profiles: readonly number[],
): Promise<readonly object[]> {
  return sql<object[]>`
    select id, signal, time, received_at, payload, marketing_id, tracking_param, origin from signals
    where tenant_id = ${tenantId} and lane = any(${arrayLiteral(profiles.map(laneOfNumber))}::smallint[])
      and profile = any(${arrayLiteral(profiles)}::int[]) order by received_at, id`;
}
