/**
 * Tables that grow with time are partitioned by day; retention drops whole partitions, which costs the same for ten
 * rows as for ten million. A module declares its tables, the scheduler keeps partitions ahead of time and drops what
 * is past its keep.
 */
import type { Log } from '../../telemetry/log.ts';
import { DAY, dayOf } from '../../time/clock.ts';
import { isLockTimeout, lockBriefly } from '../brief-locks.ts';
import type { AnySql, Sql, TransactionSql } from '../database.ts';

export interface TimeTable {
  table: string;
  /** Whole days after which a partition is dropped. */
  keepDays: number;
}

/** Partitions are made this far ahead, so that a scheduler may be down for days. */
const DAYS_AHEAD = 7;
/** Rows stamped by a process whose clock runs behind still find their place. */
const DAYS_BEHIND = 1;

/**
 * A partition only grows, and is searched by its indexes alone. PostgreSQL would look at it every few seconds while it is young, and read a
 * page for each of 30,000 rows: of 5,000 webhook deliveries a second the slowest percent then took 180 ms from publication to receipt,
 * else 54. It looks when there is half as much again, and at a tenth of the rows.
 */
const GROWING = 'autovacuum_analyze_scale_factor = 0.5, autovacuum_vacuum_insert_scale_factor = 0.5';
const STATISTICS_TARGET = 10;

export interface PartitionPlan {
  create: { name: string; from: string; until: string }[];
  drop: string[];
}

/** What to create and what to drop, given the partitions that exist. Pure, so that time can be tested. */
export function planPartitions(
  { table, keepDays }: TimeTable,
  existing: string[],
  now: number,
): PartitionPlan {
  const nameOf = (time: number) => `${table}_${dayOf(time).replaceAll('-', '')}`;
  const create: PartitionPlan['create'] = [];
  for (let offset = -DAYS_BEHIND; offset <= DAYS_AHEAD; offset++) {
    const start = now + offset * DAY;
    if (existing.includes(nameOf(start))) continue;
    create.push({ name: nameOf(start), from: dayOf(start), until: dayOf(start + DAY) });
  }
  const oldest = nameOf(now - (keepDays + 1) * DAY);
  return { create, drop: existing.filter((name) => name.length === oldest.length && name < oldest) };
}

/** Creates the coming partitions of the tables; safe to run anywhere, any number of times, beside any reading and writing. */
export async function createPartitions(sql: Sql, tables: TimeTable[], now: number): Promise<void> {
  for (const table of tables) {
    const { create } = planPartitions(table, await listPartitions(sql, table), now);
    if (create.length > 0) await sql.begin((tx) => createMissing(tx, table, now));
  }
}

/**
 * `create table ... partition of` would wait for every reader, and every writer for it. A table that is made alike is attached
 * as it is: it has the indexes, and no rows to look at.
 */
async function createMissing(sql: TransactionSql, table: TimeTable, now: number): Promise<void> {
  await takeTurns(sql, table);
  const { create } = planPartitions(table, await listPartitions(sql, table), now);
  const sampling = (await listColumns(sql, table)).map(
    (column) => `alter ${column} set statistics ${STATISTICS_TARGET}`,
  );
  for (const { name, from, until } of create) {
    await sql.unsafe(`create table ${name} (like ${table.table} including all) with (${GROWING})`);
    await sql.unsafe(`alter table ${name} ${sampling}`);
    await sql.unsafe(
      `alter table ${table.table} attach partition ${name} for values from ('${from}') to ('${until}')`,
    );
  }
}

/**
 * Drops the expired partitions of the tables. That needs the whole table for a moment; while somebody reads it, its partitions
 * stay for another time. (`detach ... concurrently` would wait for the readers without being in the way, but a distributed
 * PostgreSQL does not know it.)
 */
export async function dropPartitions({
  sql,
  tables,
  now,
  log,
}: {
  sql: Sql;
  tables: TimeTable[];
  now: number;
  log: Log;
}): Promise<void> {
  for (const table of tables) {
    const { drop } = planPartitions(table, await listPartitions(sql, table), now);
    try {
      // One by one: a lock is not kept while the next is waited for.
      for (const name of drop) await lockBriefly(sql, (tx) => dropIfThere(tx, table, name));
    } catch (err) {
      if (!isLockTimeout(err)) throw err;
      log.warn({ table: table.table }, 'partitions past their keep are in use, and stay until the next time');
    }
  }
}

/** Another process may have been faster; PostgreSQL itself fails on a partition that goes while it is being looked up. */
async function dropIfThere(sql: TransactionSql, table: TimeTable, name: string): Promise<void> {
  await takeTurns(sql, table);
  await sql.unsafe(`drop table if exists ${name}`);
}

/** This lock, which attaching needs as well, stands in the way of its like, and not of reading and writing. */
async function takeTurns(sql: TransactionSql, { table }: TimeTable): Promise<void> {
  await sql`lock table ${sql(table)} in share update exclusive mode`;
}

async function listPartitions(sql: AnySql, { table }: TimeTable): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select child.relname as name from pg_inherits
    join pg_class child on child.oid = inhrelid join pg_class parent on parent.oid = inhparent
    join pg_namespace home on home.oid = parent.relnamespace
    where parent.relname = ${table} and home.nspname = current_schema()`;
  return rows.map(({ name }) => name);
}

async function listColumns(sql: AnySql, { table }: TimeTable): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select quote_ident(attname) as name from pg_attribute
    where attrelid = ${table}::regclass and attnum > 0 and not attisdropped`;
  return rows.map(({ name }) => name);
}
