import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabase } from '../../../testing/database.ts';
import { whileLocked } from '../../../testing/locks.ts';
import type { Log } from '../../telemetry/log.ts';
import { silentLog } from '../../telemetry/no-op.ts';
import { DAY } from '../../time/clock.ts';
import type { Sql } from '../database.ts';
import { createPartitions, dropPartitions, planPartitions } from './partitions.ts';

const noon = Date.UTC(2026, 1, 27, 12);
const table = { table: 'things', keepDays: 14 };
const named = (...days: string[]) => days.map((day) => `things_${day}`);

test('partitions are planned from yesterday to a week ahead, across the end of a month', () => {
  const { create, drop } = planPartitions(table, [], noon);
  assert.deepEqual(
    create.map(({ name }) => name),
    named(
      '20260226',
      '20260227',
      '20260228',
      '20260301',
      '20260302',
      '20260303',
      '20260304',
      '20260305',
      '20260306',
    ),
  );
  assert.deepEqual(create[2], { name: 'things_20260228', from: '2026-02-28', until: '2026-03-01' });
  assert.deepEqual(drop, []);
});

test('what is there is not made again, what is past its keep goes, and strangers stay', () => {
  const everything = planPartitions(table, [], noon).create.map(({ name }) => name);
  const cases: [name: string, existing: string[], create: string[], drop: string[]][] = [
    ['nothing to do', everything, [], []],
    [
      'a day missing in between',
      everything.filter((name) => name !== 'things_20260302'),
      named('20260302'),
      [],
    ],
    ['rows may be as old as the keep', [...everything, ...named('20260213', '20260212')], [], []],
    [
      'a day that ended before the keep',
      [...everything, ...named('20260211', '20250101')],
      [],
      named('20260211', '20250101'),
    ],
    ['a partition that someone attached by hand', [...everything, 'things_default', 'things_old'], [], []],
  ];
  for (const [name, existing, create, drop] of cases) {
    const plan = planPartitions(table, existing, noon);
    assert.deepEqual(
      { create: plan.create.map((partition) => partition.name), drop: plan.drop },
      { create, drop },
      name,
    );
  }
});

test('a plan is the same at every moment of a day', () => {
  const start = Date.UTC(2026, 1, 27);
  const plans = [start, start + 1, noon, start + DAY - 1].map((now) =>
    planPartitions(table, named('20260101'), now),
  );
  for (const plan of plans) assert.deepEqual(plan, plans[0]);
});

const partitionsOf = async (sql: Sql, parent: string) => {
  const rows = await sql<{ name: string }[]>`
    select child.relname as name from pg_inherits join pg_class child on child.oid = inhrelid
    where inhparent = ${parent}::regclass order by 1`;
  return rows.map(({ name }) => name);
};

test('partitions are those of the schema in force, whatever it is called', async () => {
  const db = await createTestDatabase();
  await db.sql`create schema "Box-1"`;
  const settings = { search_path: '"Box-1"' };
  const own = db.dedicated({ connections: 1, name: 'own schema', settings });
  await own.sql`create table things (at timestamptz not null) partition by range (at)`;
  for (let i = 0; i < 2; i++) await createPartitions(own.sql, [table], noon);
  assert.equal((await partitionsOf(own.sql, 'things')).length, 9);
  await own.close();
});

test('partitions are made, filled and dropped in the database, by any number of processes at once', async () => {
  const db = await createTestDatabase({ connections: 10 });
  await db.sql`create table things (at timestamptz not null, n int) partition by range (at)`;
  const inTenProcesses = (work: () => Promise<void>) => Promise.all(Array.from({ length: 10 }, work));
  const at = async (now: number) => {
    await inTenProcesses(() => createPartitions(db.sql, [table], now));
    await inTenProcesses(() => dropPartitions({ sql: db.sql, tables: [table], now, log: silentLog }));
  };
  await at(noon);
  assert.deepEqual(
    await partitionsOf(db.sql, 'things'),
    planPartitions(table, [], noon).create.map(({ name }) => name),
  );
  await db.sql`insert into things select ${new Date(noon)}::timestamptz + n * interval '1 day', n from generate_series(-1, 6) as n`;

  await at(noon + 20 * DAY);
  const days = await db.sql<{ n: number }[]>`select n from things order by n`;
  assert.deepEqual(
    days.map(({ n }) => n),
    [5, 6],
    'days that ended more than the keep ago are gone',
  );
  assert.equal((await partitionsOf(db.sql, 'things')).at(-1), 'things_20260326');
});

test('a partition has the columns, the constraints and the indexes of its table, and none beside them', async () => {
  const { sql } = await createTestDatabase();
  await sql`
    create table things (
      tenant_id uuid not null, at timestamptz not null, id text collate "C" not null default 'none', n int check (n > 0),
      primary key (tenant_id, at, id)
    ) partition by range (at)`;
  await sql`create index things_with_number on things (tenant_id, n) where n is not null`;
  await createPartitions(sql, [table], noon);
  await sql`create table expected partition of things for values from ('2030-01-01') to ('2030-01-02')`;
  const describe = async (name: string) => {
    const columns = await sql`
      select attname, atttypid, attnotnull, attislocal, attinhcount, attcollation, attoptions from pg_attribute
      where attrelid = ${name}::regclass and attnum > 0 order by attnum`;
    const constraints = await sql`
      select contype, conislocal, coninhcount, pg_get_constraintdef(oid) as definition from pg_constraint
      where conrelid = ${name}::regclass order by definition`;
    const indexes = await sql`
      select replace(pg_get_indexdef(indexrelid), ${name}, '') as definition,
        (select inhparent::regclass::text from pg_inherits where inhrelid = indexrelid) as parent
      from pg_index where indrelid = ${name}::regclass order by parent`;
    return { columns: [...columns], constraints: [...constraints], indexes: [...indexes] };
  };
  assert.deepEqual(await describe('things_20260227'), await describe('expected'));
});

test('a partition is looked at when it has grown by half, and at few of its rows', async () => {
  const { sql } = await createTestDatabase();
  await sql`create table things (at timestamptz not null, former text, "Number" int) partition by range (at)`;
  await sql`alter table things drop column former`;
  await createPartitions(sql, [table], noon);
  const targets = await sql`
    select attname as name, attstattarget as target from pg_attribute
    where attrelid = 'things_20260227'::regclass and attnum > 0 order by attnum`;
  assert.deepEqual(
    targets.map(({ name, target }) => [name, target]),
    [
      ['at', 10],
      ['Number', 10],
    ],
  );
  const [partition] = await sql`select reloptions as options from pg_class where relname = 'things_20260227'`;
  assert.deepEqual(partition!.options, [
    'autovacuum_analyze_scale_factor=0.5',
    'autovacuum_vacuum_insert_scale_factor=0.5',
  ]);
});

test('partitions are made while somebody reads the table, and others write to it', {
  timeout: 60_000,
}, async () => {
  const db = await createTestDatabase();
  await db.sql`create table things (at timestamptz not null) partition by range (at)`;
  await createPartitions(db.sql, [table], noon);
  await whileLocked(
    db,
    (sql) => sql`select from things`,
    async () => {
      await createPartitions(db.sql, [table], noon + DAY);
      await db.sql`insert into things values (${new Date(noon + 8 * DAY)})`;
    },
  );
});

test('what is past its keep stays while somebody reads the table, without holding up whoever writes', {
  timeout: 60_000,
}, async () => {
  const db = await createTestDatabase();
  for (const name of ['things', 'others'])
    await db.sql`create table ${db.sql(name)} (at timestamptz not null) partition by range (at)`;
  const tables = [table, { table: 'others', keepDays: 14 }];
  const later = noon + 20 * DAY;
  for (const now of [noon, later]) await createPartitions(db.sql, tables, now);
  const warned: unknown[] = [];
  const log = { ...silentLog, warn: (facts: unknown) => warned.push(facts) } as unknown as Log;
  const drop = () => dropPartitions({ sql: db.sql, tables, now: later, log });
  const oldest = async () => [
    (await partitionsOf(db.sql, 'things'))[0],
    (await partitionsOf(db.sql, 'others'))[0],
  ];
  await whileLocked(
    db,
    (sql) => sql`select from things`,
    async () => {
      await drop();
      await db.sql`insert into things values (${new Date(later)})`;
      assert.deepEqual(await oldest(), ['things_20260226', 'others_20260304']);
      assert.deepEqual(warned, [{ table: 'things' }]);
    },
  );
  await drop();
  assert.deepEqual(await oldest(), ['things_20260304', 'others_20260304']);
});

test('a row beyond all partitions is refused, not lost in silence', async () => {
  const db = await createTestDatabase();
  await db.sql`create table things (at timestamptz not null) partition by range (at)`;
  await createPartitions(db.sql, [table], noon);
  await assert.rejects(db.sql`insert into things values (${new Date(noon + 30 * DAY)})`, { code: '23514' });
});
