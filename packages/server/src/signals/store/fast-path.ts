/**
 * The one statement of the fast path (ingestion/fast-path.ts): it claims the ids, finds the persons, stores the signals and inserts the
 * jobs of the follower. One round trip instead of five.
 */
import { arrayLiteral, newlineText } from '../../kernel/db/columns.ts';
import type { AnySql } from '../../kernel/db/database.ts';
import { guid } from '../../kernel/ids.ts';
import { insertSelectedJobs } from '../../kernel/lanes/index.ts';
import { LANE_LIST, LANES } from '../../kernel/lanes/lane-of.ts';
import { FOLLOW_QUEUE, type Identifier, personOf } from '../../profiles/index.ts';
import type { IdSlots } from '../id-slots.ts';
import type { Claim } from './signal-ids.ts';
import { columnsOf, type SignalRow, storedColumns } from './signals.ts';

/** A signal whose person is looked up by the statement. */
export interface PlainRow extends Omit<SignalRow, 'profile' | 'lane'> {
  person: Identifier | null;
  claim: Claim;
}

/** Rows of one request are stored together or not at all. */
export interface RequestRow {
  request: number;
  row: PlainRow;
}

/** A signal that was not simply stored. */
export interface Exception {
  request: number;
  /** The key of its claim. */
  key: string;
  outcome: 'duplicate' | 'untracked' | 'needsFullPath';
}

/**
 * Stores plain signals. Requests that name an unknown person are left alone; nearly always there is no exception. `lanes` are those in
 * which jobs were inserted. (`in (...) is true` is looked up in a hash table; a plain `in` would become a join, for which these
 * sessions have nothing but a loop in a loop.)
 */
export async function storePlain(
  sql: AnySql,
  input: { tenantId: string; slots: IdSlots; rows: readonly RequestRow[]; now: number },
): Promise<{ exceptions: Exception[]; lanes: number[] }> {
  const { tenantId, slots, now } = input;
  const rows = input.rows.map(({ row }) => row);
  const identified = rows.filter(({ person }) => person !== null).length;
  const jobIds = Array.from({ length: Math.min(identified, LANES) }, guid);
  const found = await sql<(Exception & { lane: number | null })[]>`
    with given as materialized (
      select given.*, person.system_id, person.do_not_track
      from unnest(
        ${arrayLiteral(input.rows.map(({ request }) => request))}::int[],
        string_to_array(${newlineText(rows.map(({ person }) => person?.kind ?? ''))}, chr(10), ''),
        string_to_array(${newlineText(rows.map(({ person }) => person?.value ?? ''))}, chr(10), ''),
        string_to_array(${newlineText(rows.map(({ claim }) => claim.key))}, chr(10)),
        ${arrayLiteral(rows.map(({ claim }) => claim.lane))}::smallint[],
        ${columnsOf(sql, rows)}
      ) as given (request, kind, value, key, lane, arrived_at, id, time, signal, payload, marketing_id, tracking_param,
        origin)
      left join lateral (${personOf(sql, tenantId)}) as person on true
    ), settled as materialized (
      select *, (request in (select request from given where kind is not null and system_id is null)) is true
          as needs_full_path,
        coalesce((${LANE_LIST}::smallint[])[(system_id & ${LANES - 1}) + 1], lane) as person_lane
      from given
    ), claimed as (
      insert into signal_ids (tenant_id, slot, id, lane)
      select ${tenantId}, ${slots.current}, key, lane from settled
      where not needs_full_path and (
        select true from signal_ids known
        where known.tenant_id = ${tenantId} and known.slot = ${slots.previous} and known.id = settled.key
          and known.lane = settled.lane) is null
      on conflict do nothing returning id
    ), kept as materialized (
      select * from settled where do_not_track is not true and (key in (select id from claimed)) is true
    ), inserted as (
      insert into signals (tenant_id, profile, lane, received_at, id, time, signal, payload, marketing_id, tracking_param, origin)
      select ${tenantId}, coalesce(system_id, 0), person_lane, ${storedColumns(sql)} from kept
    ), queued as (
      ${insertSelectedJobs(
        sql,
        FOLLOW_QUEUE,
        sql`
          select person_lane as lane, ${new Date(now)}::timestamptz as due_at,
            (${arrayLiteral(jobIds)}::uuid[])[row_number() over (order by person_lane)] as id,
            '@' || person_lane || '/' || ${tenantId}::text as key,
            json_build_object('tenant', ${tenantId}::text, 'signals',
              json_agg(json_build_array(system_id, arrived_at, id))) as payload
          from kept where system_id is not null group by person_lane`,
      )}
      returning lane
    )
    select request, key, case when needs_full_path then 'needsFullPath' when do_not_track and is_claimed then 'untracked'
      else 'duplicate' end as outcome, null::smallint as lane
    from (select *, (key in (select id from claimed)) is true as is_claimed from settled offset 0) as settled
    where needs_full_path or not is_claimed or do_not_track
    union all select null, null, null, lane from queued`;
  const exceptions: Exception[] = [];
  const lanes: number[] = [];
  for (const { lane, ...exception } of found) {
    if (lane === null) exceptions.push(exception);
    else lanes.push(lane);
  }
  return { exceptions, lanes };
}
