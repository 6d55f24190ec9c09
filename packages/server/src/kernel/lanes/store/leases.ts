/** The SQL of leases: who owns a lane, and who is alive. */
import { list } from '../../db/columns.ts';
import type { AnySql, TransactionSql } from '../../db/database.ts';
import { ALL_LANES } from '../lane-of.ts';

/**
 * Locks those of the given lanes that still carry the given token, so that no one can take them over before the
 * transaction ends. Always in the order of lanes: two transactions cannot wait for each other.
 */
export async function fence(
  sql: TransactionSql,
  queue: string,
  tokens: Map<number, number>,
): Promise<Set<number>> {
  const rows = await sql<{ lane: number; token: number }[]>`
    select lane, token from lanes where queue = ${queue} and lane = any(${list([...tokens.keys()])}::smallint[])
    order by lane for update`;
  return new Set(rows.filter(({ lane, token }) => tokens.get(lane) === token).map(({ lane }) => lane));
}

/**
 * A lease that ends later than any could have been taken for was taken before the database's clock was set back. Its owner, if it
 * lives, brings it forward with the next beat; a dead one's would bind the lane for as long as the clock was ahead.
 */
const TOO_LONG = 10;
const interval = (ms: number) => `${ms} milliseconds`;

/** Makes the lanes of a queue exist. */
export async function ensureLanes(sql: AnySql, queue: string): Promise<void> {
  await sql`
    insert into lanes (lane, queue) select lane, ${queue} from unnest(${list(ALL_LANES)}::smallint[]) as l (lane)
    on conflict do nothing`;
}

/** Says that a worker is alive and answers how many are. Leases use the database's clock: it is the shared one. */
export async function reportAlive(
  sql: AnySql,
  queue: string,
  worker: string,
  ttlMs: number,
): Promise<number> {
  await sql`
    insert into lane_workers (queue, id, expires_at)
    values (${queue}, ${worker}, now() + ${interval(ttlMs)}::interval)
    on conflict (queue, id) do update set expires_at = excluded.expires_at`;
  const [row] = await sql<{ alive: number }[]>`
    select count(*) as alive from lane_workers
    where queue = ${queue} and expires_at > now() and expires_at < now() + ${interval(TOO_LONG * ttlMs)}::interval`;
  return row!.alive;
}

export async function forgetWorker(sql: AnySql, queue: string, worker: string): Promise<void> {
  await sql`delete from lane_workers where queue = ${queue} and (id = ${worker} or expires_at < now())`;
}

type LaneToken = { lane: number; token: number };
const tokensOf = (rows: readonly LaneToken[]) => new Map(rows.map(({ lane, token }) => [lane, token]));

/** Takes up to `limit` lanes that no one owns, or whose owner let the lease run out; answers their tokens. */
export async function takeLanes(
  sql: AnySql,
  { queue, worker, ttlMs, limit }: { queue: string; worker: string; ttlMs: number; limit: number },
): Promise<Map<number, number>> {
  const rows = await sql<LaneToken[]>`
    with free as materialized (
      select lane from lanes where queue = ${queue}
        and (expires_at < now() or expires_at > now() + ${interval(TOO_LONG * ttlMs)}::interval)
      order by lane limit ${limit} for update skip locked)
    update lanes set owner = ${worker}, token = token + 1, expires_at = now() + ${interval(ttlMs)}::interval
    from free where lanes.lane = free.lane and lanes.queue = ${queue}
    returning lanes.lane, token`;
  return tokensOf(rows);
}

/** Prolongs the leases that a worker still holds and answers their tokens. */
export async function renewLanes(
  sql: AnySql,
  { queue, worker, ttlMs }: { queue: string; worker: string; ttlMs: number },
): Promise<Map<number, number>> {
  const rows = await sql<LaneToken[]>`
    with mine as materialized (
      select lane from lanes where queue = ${queue} and owner = ${worker} order by lane for update)
    update lanes set expires_at = now() + ${interval(ttlMs)}::interval
    from mine where lanes.lane = mine.lane and lanes.queue = ${queue}
    returning lanes.lane, token`;
  return tokensOf(rows);
}

/** Gives lanes back, so that others need not wait for the lease to run out. */
export async function releaseLanes(
  sql: AnySql,
  { queue, worker, lanes }: { queue: string; worker: string; lanes: readonly number[] },
): Promise<void> {
  await sql`
    with mine as materialized (
      select lane from lanes where queue = ${queue} and owner = ${worker} and lane = any(${list(lanes)}::smallint[])
      order by lane for update)
    update lanes set owner = null, expires_at = '-infinity'
    from mine where lanes.lane = mine.lane and lanes.queue = ${queue}`;
}

/**
 * Ends every lease at once. Only for whoever knows that no worker is alive: the holder of an embedded database at its
 * start. A crashed server then resumes without waiting for its own leases to run out.
 */
export async function endAllLeases(sql: AnySql): Promise<void> {
  await sql`
    with owned as materialized (
      select lane, queue from lanes where owner is not null order by queue, lane for update)
    update lanes set owner = null, expires_at = '-infinity'
    from owned where lanes.lane = owned.lane and lanes.queue = owned.queue`;
  await sql`delete from lane_workers`;
}
