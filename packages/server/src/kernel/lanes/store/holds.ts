/** The SQL of keys that wait. */
import { arrayLiteral } from '../../db/columns.ts';
import type { AnySql, TransactionSql } from '../../db/database.ts';
import { allSettledOrThrow } from '../../db/together.ts';
import { laneOf } from '../lane-of.ts';

/** Remembers until when keys wait, and forgets those whose time is past. */
export async function writeHolds(
  sql: TransactionSql,
  input: { queue: string; holds: Map<string, number>; now: number },
): Promise<void> {
  const { queue, holds, now } = input;
  if (holds.size === 0) return;
  const keys = [...holds.keys()];
  const lanes = arrayLiteral(keys.map(laneOf));
  await allSettledOrThrow([
    sql`
      insert into lane_holds (lane, queue, key, until)
      select lane, ${queue}, key, to_timestamp(until / 1000::float8)
      from unnest(${lanes}::smallint[], ${keys}::text[], ${arrayLiteral([...holds.values()].map(Math.ceil))}::bigint[])
        as hold (lane, key, until)
      on conflict (lane, queue, key) do update set until = excluded.until`,
    sql`
      delete from lane_holds
      where lane = any(${lanes}::smallint[]) and queue = ${queue} and until <= ${new Date(now)}`,
  ]);
}

export async function readHolds(
  sql: AnySql,
  queue: string,
  lanes: readonly number[],
): Promise<Map<string, number>> {
  const rows = await sql<{ key: string; until: Date }[]>`
    select key, until from lane_holds where lane = any(${arrayLiteral(lanes)}::smallint[]) and queue = ${queue}`;
  return new Map(rows.map(({ key, until }) => [key, until.getTime()]));
}
