/**
 * Tables that grow with time are partitioned by day; retention drops whole partitions, which costs the same for ten
 * rows as for ten million. A module declares its tables, the scheduler keeps partitions ahead of time and drops what
 * is past its keep.
 */
import { DAY } from '../clock.ts';
import type { Sql } from './database.ts';

export interface TimeTable {
  table: string;
  /** Whole days after which a partition is dropped. */
  keepDays: number;
}

/** Partitions are made this far ahead, so that a scheduler may be down for days. */
const DAYS_AHEAD = 7;
/** Rows stamped by a process whose clock runs behind still find their place. */
const DAYS_BEHIND = 1;

export interface PartitionPlan {
  create: { name: string; from: string; until: string }[];
  drop: string[];
}

const day = (time: number) => new Date(time).toISOString().slice(0, 10);

/** What to create and what to drop, given the partitions that exist. Pure, so that time can be tested. */
export function planPartitions(
  { table, keepDays }: TimeTable,
  existing: string[],
  now: number,
): PartitionPlan {
  const nameOf = (time: number) => `${table}_${day(time).replaceAll('-', '')}`;
  const create: PartitionPlan['create'] = [];
  for (let offset = -DAYS_BEHIND; offset <= DAYS_AHEAD; offset++) {
    const start = now + offset * DAY;
    if (existing.includes(nameOf(start))) continue;
    create.push({ name: nameOf(start), from: day(start), until: day(start + DAY) });
  }
  const oldest = nameOf(now - (keepDays + 1) * DAY);
  return { create, drop: existing.filter((name) => name.length === oldest.length && name < oldest) };
}

/** Creates the coming partitions of the tables and drops the expired ones; safe to run anywhere, any number of times. */
export async function maintainPartitions(sql: Sql, tables: TimeTable[], now: number): Promise<void> {
  for (const table of tables) {
    const rows = await sql<{ name: string }[]>`
      select child.relname as name from pg_inherits
      join pg_class child on child.oid = inhrelid join pg_class parent on parent.oid = inhparent
      where parent.relname = ${table.table} and parent.relnamespace = current_schema()::regnamespace`;
    const plan = planPartitions(
      table,
      rows.map(({ name }) => name),
      now,
    );
    for (const { name, from, until } of plan.create) {
      await sql.unsafe(
        `create table if not exists ${name} partition of ${table.table} for values from ('${from}') to ('${until}')`,
      );
    }
    for (const name of plan.drop) await sql.unsafe(`drop table if exists ${name}`);
  }
}
