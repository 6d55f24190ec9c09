/**
 * Tables that grow with time are partitioned by day; retention drops whole partitions, which costs the same for ten
 * rows as for ten million. A module declares its tables, the scheduler keeps partitions ahead of time and drops what
 * is past its keep.
 */
import { DAY } from '../clock.ts';
import type { AnySql, Sql, TransactionSql } from './database.ts';

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
    const { create, drop } = planPartitions(table, await listPartitions(sql, table), now);
    if (create.length + drop.length > 0) await sql.begin((tx) => carryOut(tx, table, now));
  }
}

/** Processes that start together take turns: this lock stands in the way of its like, not of reading and writing. */
async function carryOut(sql: TransactionSql, table: TimeTable, now: number): Promise<void> {
  await sql`lock table ${sql(table.table)} in share update exclusive mode`;
  const { create, drop } = planPartitions(table, await listPartitions(sql, table), now);
  for (const { name, from, until } of create) {
    await sql.unsafe(
      `create table ${name} partition of ${table.table} for values from ('${from}') to ('${until}')`,
    );
  }
  for (const name of drop) await sql.unsafe(`drop table ${name}`);
}

async function listPartitions(sql: AnySql, { table }: TimeTable): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select child.relname as name from pg_inherits
    join pg_class child on child.oid = inhrelid join pg_class parent on parent.oid = inhparent
    where parent.relname = ${table} and parent.relnamespace = current_schema()::regnamespace`;
  return rows.map(({ name }) => name);
}
