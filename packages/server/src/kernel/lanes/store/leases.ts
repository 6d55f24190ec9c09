/** The SQL of leases: who owns a lane, and who is alive. */
import { arrayLiteral } from '../../db/columns.ts';
import type { AnySql, Database, TransactionSql } from '../../db/database.ts';
import { allSettledOrThrow } from '../../db/together.ts';
import { ALL_LANES } from '../lane-of.ts';

/**
 * Locks those of the given lanes that still have the given token, so that no one can take them over before the
 * transaction ends. Always in the order of lanes, so that two transactions cannot wait for each other. A distributed
 * database locks rows of one shard in a statement, so it gets one statement for each lane.
 */
export async function fence(
  sql: TransactionSql,
  { queue, tokens, isDistributed }: { queue: string; tokens: Map<number, number>; isDistributed: boolean },
): Promise<Set<number>> {
  const lanes = [...tokens.keys()].sort((one, other) => one - other);
  const locked = isDistributed
    ? lanes.map(
        (lane) => sql<LaneToken[]>`
          select lane, token from lanes where queue = ${queue} and lane = ${lane} for update`,
      )
    : [
        sql<LaneToken[]>`
          select lane, token from lanes where queue = ${queue} and lane = any(${arrayLiteral(lanes)}::smallint[])
          order by lane for update /* one database */`,
      ];
  const rows = (await allSettledOrThrow(locked)).flat();
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
    insert into lanes (lane, queue) select lane, ${queue} from unnest(${arrayLiteral(ALL_LANES)}::smallint[]) as l (lane)
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
  db: Database,
  { queue, worker, ttlMs, limit }: { queue: string; worker: string; ttlMs: number; limit: number },
): Promise<Map<number, number>> {
  const isDistributed = await db.isDistributed();
  return db.transaction(async ({ sql }) => {
    const isFree = sql`(expires_at < now() or expires_at > now() + ${interval(TOO_LONG * ttlMs)}::interval)`;
    // A machine that vanished within a transaction may still have the row of a lane locked. The beat must not wait for it.
    const unlocked = isDistributed ? sql`` : sql`for update skip locked /* one database */`;
    const free = await sql<{ lane: number }[]>`
      select lane from lanes where queue = ${queue} and ${isFree} order by lane limit ${limit} ${unlocked}`;
    // The condition is asked again, because another worker may have been faster.
    const rows = await sql<LaneToken[]>`
      update lanes set owner = ${worker}, token = token + 1, expires_at = now() + ${interval(ttlMs)}::interval
      where queue = ${queue} and lane = any(${arrayLiteral(free.map(({ lane }) => lane))}::smallint[]) and ${isFree}
      returning lane, token /* database clock */`;
    return tokensOf(rows);
  });
}

/**
 * Prolongs the leases that a worker still holds and answers their tokens. With its lanes named, PostgreSQL goes by the
 * index, so in the order of lanes, as a fence does.
 */
export async function renewLanes(
  sql: AnySql,
  { queue, worker, ttlMs }: { queue: string; worker: string; ttlMs: number },
): Promise<Map<number, number>> {
  const rows = await sql<LaneToken[]>`
    update lanes set expires_at = now() + ${interval(ttlMs)}::interval
    where queue = ${queue} and lane = any(${arrayLiteral(ALL_LANES)}::smallint[]) and owner = ${worker}
    returning lane, token /* database clock */`;
  return tokensOf(rows);
}

/** Gives lanes back, so that others need not wait for the lease to run out. */
export async function releaseLanes(
  sql: AnySql,
  { queue, worker, lanes }: { queue: string; worker: string; lanes: readonly number[] },
): Promise<void> {
  await sql`
    update lanes set owner = null, expires_at = '-infinity'
    where queue = ${queue} and lane = any(${arrayLiteral(lanes)}::smallint[]) and owner = ${worker}`;
}

/**
 * Ends every lease at once. Only for a caller that knows that no worker is alive: the holder of an embedded database at its
 * start. A crashed server then resumes without waiting for its own leases to run out.
 */
export async function endAllLeases(sql: TransactionSql): Promise<void> {
  await sql`
    update lanes set owner = null, expires_at = '-infinity'
    where lane = any(${arrayLiteral(ALL_LANES)}::smallint[]) and owner is not null`;
  await sql`delete from lane_workers`;
}
