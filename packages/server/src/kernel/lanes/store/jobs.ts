/**
 * The SQL of jobs.
 *
 * Three ways to claim were considered. Marking claimed rows (`UPDATE ... FOR UPDATE SKIP LOCKED`) writes every row once
 * more and leaves a dead tuple behind each claim; holding row locks during the work ties a connection to every job.
 * Since a lane has one owner at a time, neither is needed: a claim only reads, the owner remembers what it has in hand,
 * and whatever changes a job is fenced by the lane's token. A job costs one insert and one delete.
 */
import type postgres from 'postgres';
import { arrayLiteral, jsonTextArray, newlineText } from '../../db/columns.ts';
import type { AnySql, Database, TransactionSql } from '../../db/database.ts';
import { toStorable } from '../../db/storable-text.ts';
import { allSettledOrThrow } from '../../db/together.ts';
import type { QueueDepth } from '../../telemetry/metrics.ts';
import { type Job, type Position, positionBefore, type Settled } from '../job.ts';
import { fence } from './leases.ts';

export type NewRow = Omit<Job, 'row' | 'slot'>;

/** Adds jobs to the lines that they name. */
export async function insertJobs(sql: AnySql, queue: string, jobs: NewRow[]): Promise<void> {
  if (jobs.length === 0) return;
  await sql`
    insert into jobs (lane, queue, siding, due_at, id, key, attempt, payload)
    select unnest(${arrayLiteral(jobs.map(({ lane }) => lane))}::smallint[]), ${queue},
      json_array_elements_text(${jsonTextArray(jobs.map(({ siding }) => siding))}::text::json),
      to_timestamp(unnest(${arrayLiteral(jobs.map(({ dueAt }) => Math.ceil(dueAt)))}::bigint[]) / 1000::float8),
      unnest(${arrayLiteral(jobs.map(({ id }) => id))}::uuid[]),
      json_array_elements_text(${jsonTextArray(jobs.map(({ key }) => key))}::text::json),
      unnest(${arrayLiteral(jobs.map(({ attempt }) => attempt))}::int[]),
      json_array_elements(${JSON.stringify(jobs.map(({ payload }) => payload))}::text::json)`;
}

/**
 * For a statement of another module that inserts jobs itself: inserts one for each of `rows`, a query with the columns
 * lane, due_at, id, key and payload. Each key lies in its lane (`keyInLane`). The caller announces the lanes after the
 * commit (`Lanes.announce`).
 *
 * @example sql`with queued as (${insertSelectedJobs(sql, 'follow', sql`select ...`)} returning lane) select ...`
 */
export const insertSelectedJobs = (sql: AnySql, queue: string, rows: postgres.Fragment) => sql`
  insert into jobs (lane, queue, siding, due_at, id, key, attempt, payload)
  select lane, ${queue}, '', due_at, id, key, 0, payload from (${rows}) as job`;

/**
 * Jobs of one line by the column, each a list of JSON; null when there are none. As one row for each job they took the worker
 * twice as long: to convert a value of the protocol costs more than to parse one of a list.
 */
interface JobColumns {
  /** In one text, with blanks between them: of such short texts in a list of JSON each is made a lasting one. */
  rows: string | null;
  /** Seconds since the epoch: read three times faster than a time. */
  dueAts: number[];
  ids: string[];
  /** Not on a siding, whose jobs have one key. */
  keys?: string[];
  attempts: number[];
  payloads: unknown[];
}

function jobsOf(
  { rows, dueAts, ids, keys, attempts, payloads }: JobColumns,
  lane: number,
  siding: string,
): Job[] {
  if (rows === null) return [];
  return rows.split(' ').map((row, place) => ({
    id: ids[place]!,
    row,
    slot: null,
    lane,
    siding,
    key: keys?.[place] ?? siding,
    dueAt: Math.floor(dueAts[place]! * 1000 + 0.0005),
    attempt: attempts[place]!,
    payload: payloads[place],
  }));
}

/** Where to read on in a line, and how many jobs at most. */
export interface LineWish {
  after: Position;
  limit: number;
}

export interface LineRead {
  jobs: Job[];
  /** When the first job falls due that is not due yet, or Infinity. */
  nextDue: number;
}

/**
 * Due jobs of the main lines of lanes, in their order. Joined through `lanes`, by lane, so that a database that is
 * distributed by lane can answer it in parts.
 */
export async function readMainLines(
  sql: AnySql,
  { queue, wishes, now }: { queue: string; wishes: Map<number, LineWish>; now: number },
): Promise<Map<number, LineRead>> {
  const lanes = arrayLiteral([...wishes.keys()]);
  const wish = [...wishes.values()];
  const place = sql`array_position(${lanes}::smallint[], lanes.lane)`;
  const dues = arrayLiteral(wish.map(({ after }) => after.dueAt));
  const ids = arrayLiteral(wish.map(({ after }) => after.id));
  const limits = arrayLiteral(wish.map(({ limit }) => limit));
  const found = await sql<(JobColumns & { lane: number })[]>`
    select lanes.lane, job.* from lanes cross join lateral (
      select string_agg("row"::text, ' ') as rows, json_agg("dueAt") as "dueAts", json_agg(id) as ids, json_agg(key) as keys,
        json_agg(attempt) as attempts, json_agg(payload) as payloads from (
          (select ctid as "row", date_part('epoch', due_at) as "dueAt", id, key, attempt, payload from jobs
            where jobs.lane = lanes.lane and jobs.queue = ${queue} and siding = '' and due_at <= ${new Date(now)}
              and (due_at, id) > (to_timestamp((${dues}::bigint[])[${place}] / 1000::float8),
                (${ids}::uuid[])[${place}])
            order by due_at, id limit (${limits}::int[])[${place}])
          union all
          (select ctid, date_part('epoch', due_at), id, key, attempt, null from jobs
            where jobs.lane = lanes.lane and jobs.queue = ${queue} and siding = '' and due_at > ${new Date(now)}
            order by due_at, id limit 1)) as job) as job
    where lanes.queue = ${queue} and lanes.lane = any(${lanes}::smallint[])`;
  const reads = new Map<number, LineRead>();
  for (const lane of wishes.keys()) reads.set(lane, { jobs: [], nextDue: Number.POSITIVE_INFINITY });
  for (const { lane, ...columns } of found) {
    const jobs = jobsOf(columns, lane, '');
    const isNotDue = (jobs.at(-1)?.dueAt ?? 0) > now;
    reads.set(lane, { nextDue: isNotDue ? jobs.pop()!.dueAt : Number.POSITIVE_INFINITY, jobs });
  }
  return reads;
}

/** Jobs on the sidings of keys of a lane, by key, in their order. */
export async function readSidings(
  sql: AnySql,
  { queue, lane, wishes }: { queue: string; lane: number; wishes: Map<string, LineWish> },
): Promise<Map<string, Job[]>> {
  const keys = [...wishes.keys()];
  const wish = [...wishes.values()];
  const found = await sql<(JobColumns & { place: number })[]>`
    select wanted.place::int, job.* from unnest(${keys}::text[], ${arrayLiteral(wish.map(({ after }) => after.dueAt))}::bigint[],
      ${arrayLiteral(wish.map(({ after }) => after.id))}::uuid[], ${arrayLiteral(wish.map(({ limit }) => limit))}::int[])
      with ordinality as wanted (key, due_at, id, most, place)
    cross join lateral (
      select string_agg("row"::text, ' ') as rows, json_agg("dueAt") as "dueAts", json_agg(id) as ids,
        json_agg(attempt) as attempts, json_agg(payload) as payloads from (
          select ctid as "row", date_part('epoch', due_at) as "dueAt", id, attempt, payload from jobs
          where lane = ${lane} and queue = ${queue} and siding = wanted.key
            and (due_at, id) > (to_timestamp(wanted.due_at / 1000::float8), wanted.id)
          order by due_at, id limit wanted.most) as job) as job`;
  // One text for all jobs of a key: it is looked up by whatever happens to them.
  return new Map(
    found.map(({ place, ...columns }) => [keys[place - 1]!, jobsOf(columns, lane, keys[place - 1]!)]),
  );
}

/** Those of the lanes that have jobs on any siding. */
export async function lanesWithSidings(
  sql: AnySql,
  queue: string,
  lanes: readonly number[],
): Promise<Set<number>> {
  const rows = await sql<{ lane: number }[]>`
    select lanes.lane from lanes cross join lateral (
      select 1 from jobs where jobs.lane = lanes.lane and jobs.queue = ${queue} and siding > '' limit 1) as job
    where lanes.queue = ${queue} and lanes.lane = any(${arrayLiteral(lanes)}::smallint[])`;
  return new Set(rows.map(({ lane }) => lane));
}

/**
 * The keys of a lane that have jobs on their siding, with the due time of the first: hops from key to key, not from job to
 * job.
 */
export async function sidingHeads(sql: AnySql, queue: string, lane: number): Promise<Map<string, number>> {
  const rows = await sql<{ siding: string; dueAt: Date }[]>`
    with recursive hop (siding, due_at) as (
      select ''::text, null::timestamptz
      union all
      select head.siding, head.due_at from hop cross join lateral (
        select siding, due_at from jobs where lane = ${lane} and queue = ${queue} and siding > hop.siding
        order by siding, due_at limit 1) as head)
    select siding, due_at as "dueAt" from hop where siding > ''`;
  return new Map(rows.map(({ siding, dueAt }) => [siding, dueAt.getTime()]));
}

/**
 * Moves due jobs of the given keys, except those in hand, from the main line to their sidings. Looks at the first
 * `limit` jobs of the line; answers whether that was all of it, and the earliest due time that was moved, by key.
 */
export async function moveToSidings(
  db: Database,
  input: {
    queue: string;
    lane: number;
    token: number;
    keys: string[];
    inHand: string[];
    now: number;
    limit: number;
  },
): Promise<{ all: boolean; earliest: Map<string, number> }> {
  const { queue, lane, token, keys, inHand, now, limit } = input;
  const tokens = new Map([[lane, token]]);
  const isDistributed = await db.isDistributed();
  return db.transaction(async ({ sql }) => {
    if ((await fence(sql, { queue, tokens, isDistributed })).size === 0)
      return { all: true, earliest: new Map() };
    const [end] = await sql<{ dueAt: Date; id: string }[]>`
      select due_at as "dueAt", id from jobs
      where lane = ${lane} and queue = ${queue} and siding = '' and due_at <= ${new Date(now)}
      order by due_at, id offset ${limit} limit 1`;
    const { dueAt, id } = end ?? { dueAt: new Date(now + 1), id: positionBefore(now).id };
    const moved = await sql<{ key: string; dueAt: Date }[]>`
      with moved as (
        update jobs set siding = key
        where lane = ${lane} and queue = ${queue} and siding = '' and due_at <= ${dueAt}
          and (due_at, id) < (${dueAt}, ${id}::uuid) and key = any(${keys}::text[])
          and (id in (select unnest(${arrayLiteral(inHand)}::uuid[]))) is false
        returning key, due_at)
      select key, min(due_at) as "dueAt" from moved group by key`;
    return {
      all: end === undefined,
      earliest: new Map(moved.map(({ key, dueAt }) => [key, dueAt.getTime()])),
    };
  });
}

/** When the first job of each main line falls due, whether in hand or not. */
export async function lineHeads(sql: AnySql, queue: string, lanes: number[]): Promise<Map<number, number>> {
  const rows = await sql<{ lane: number; dueAt: Date }[]>`
    select lanes.lane, head.due_at as "dueAt" from lanes cross join lateral (
      select due_at from jobs where jobs.lane = lanes.lane and jobs.queue = ${queue} and siding = ''
      order by due_at, id limit 1) as head
    where lanes.queue = ${queue} and lanes.lane = any(${arrayLiteral(lanes)}::smallint[])`;
  return new Map(rows.map(({ lane, dueAt }) => [lane, dueAt.getTime()]));
}

/**
 * Takes jobs off their lines and answers how many were there. The caller holds the fence on their lanes.
 *
 * The owner of a lane alone changes its jobs, so a row in hand stays where it was read, and is found there without a look
 * at the index: 2.5 ms for 1000 jobs. To look each one up took 8 ms, and minutes when the planner, without fresh
 * statistics, began at the wrong end. The id makes sure; a rewrite of the table (VACUUM FULL) is met by `findJobs`. It is
 * compared as a text, which takes PostgreSQL 2.7 instead of 3.2 us for a job: to read an id takes longer than to write it.
 *
 * A distributed database needs the lanes to ask only their shards. PostgreSQL must not have them: while the table is small it
 * would plan to read whole lanes by the index, and keep that plan when the table grows.
 */
export async function deleteJobs(
  sql: TransactionSql,
  { queue, jobs, isDistributed }: { queue: string; jobs: Job[]; isDistributed: boolean },
): Promise<number> {
  const rows = `{"${jobs.map(({ row }) => row).join('","')}"}`;
  const lanes = () => arrayLiteral([...new Set(jobs.map(({ lane }) => lane))]);
  const inLanes = isDistributed ? sql`queue = ${queue} and lane = any(${lanes()}::smallint[]) and` : sql``;
  const { count } = await sql`
    delete from jobs where ${inLanes} ctid = any(${rows}::tid[])
      and (id::text in (select unnest(string_to_array(${newlineText(jobs.map(({ id }) => id))}, chr(10))))) is true`;
  return count;
}

/**
 * The rows of those jobs that stand in their places, by id. One statement for each lane, because a distributed database
 * takes such a join within one shard only.
 */
export async function findJobs(
  sql: TransactionSql,
  queue: string,
  jobs: Job[],
): Promise<Map<string, string>> {
  const found = await allSettledOrThrow(
    [...Map.groupBy(jobs, ({ lane }) => lane)].map(
      ([lane, jobs]) => sql<{ id: string; row: string }[]>`
        select job.id, job.row from rows from (
          json_array_elements_text(${jsonTextArray(jobs.map(({ siding }) => siding))}::text::json),
          unnest(${arrayLiteral(jobs.map(({ dueAt }) => dueAt))}::bigint[]),
          unnest(${arrayLiteral(jobs.map(({ id }) => id))}::uuid[])
        ) as wanted (siding, due_at, id) cross join lateral (
          select id, ctid as "row" from jobs
          where lane = ${lane} and queue = ${queue} and siding = wanted.siding
            and due_at >= to_timestamp(wanted.due_at / 1000::float8)
            and due_at < to_timestamp((wanted.due_at + 1) / 1000::float8) and id = wanted.id
          limit 1) as job`,
    ),
  );
  return new Map(found.flat().map(({ id, row }) => [id, row]));
}

/** Whether a job of a queue is due, in hand or not. */
export async function hasDueJob(sql: AnySql, queue: string, now: number): Promise<boolean> {
  const { count } = await sql`
    select from jobs where queue = ${queue} and due_at <= ${new Date(now)} limit 1 /* over all */`;
  return count > 0;
}

/**
 * Writes what remains of jobs that were taken off their lines. One that comes back is inserted anew: it changes its place
 * in the only index, so an update would cost the same.
 */
export async function writeOutcomes(
  sql: TransactionSql,
  input: { queue: string; settled: Settled[]; keepDead: boolean; now: number },
): Promise<void> {
  const { queue, settled, keepDead, now } = input;
  const back: NewRow[] = [];
  const dead: DeadJob[] = [];
  for (const { job, outcome, unexpected } of settled) {
    if (outcome.kind === 'retry' || outcome.kind === 'hold') {
      const { dueAt, payload = job.payload } = outcome;
      back.push({
        ...job,
        siding: '',
        dueAt,
        payload,
        attempt: job.attempt + (outcome.kind === 'retry' ? 1 : 0),
      });
    } else if (outcome.kind === 'dead' && (keepDead || unexpected)) {
      dead.push({ job, reason: outcome.reason });
    }
  }
  await allSettledOrThrow([insertJobs(sql, queue, back), insertDead(sql, { queue, dead, now })]);
}

interface DeadJob {
  job: Job;
  reason: string;
}

async function insertDead(
  sql: TransactionSql,
  { queue, dead, now }: { queue: string; dead: DeadJob[]; now: number },
): Promise<void> {
  if (dead.length === 0) return;
  const jobs = dead.map(({ job }) => job);
  await sql`
    insert into dead_jobs (lane, queue, id, key, attempt, payload, reason, died_at)
    select unnest(${arrayLiteral(jobs.map(({ lane }) => lane))}::smallint[]), ${queue},
      unnest(${arrayLiteral(jobs.map(({ id }) => id))}::uuid[]),
      json_array_elements_text(${jsonTextArray(jobs.map(({ key }) => key))}::text::json),
      unnest(${arrayLiteral(jobs.map(({ attempt }) => attempt))}::int[]),
      json_array_elements(${JSON.stringify(jobs.map(({ payload }) => payload))}::text::json),
      json_array_elements_text(${jsonTextArray(dead.map(({ reason }) => toStorable(reason)))}::text::json),
      ${new Date(now)}`;
}

/** How much waits in each queue. Reads the whole index: for a scrape now and then. */
export async function queueDepths(sql: AnySql, now: number): Promise<QueueDepth[]> {
  return sql<QueueDepth[]>`
    select queue, count(*) as waiting, count(*) filter (where due_at <= ${new Date(now)}) as due,
      min(due_at) filter (where due_at <= ${new Date(now)}) as "oldestDue"
    from jobs group by queue /* over all */`;
}
