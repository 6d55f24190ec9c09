import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabase } from '../../testing/database.ts';
import { DAY } from '../clock.ts';
import { maintainPartitions, planPartitions } from './partitions.ts';

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

test('partitions are made, filled and dropped in the database, by any number of processes at once', async () => {
  const db = await createTestDatabase({ connections: 10 });
  await db.sql`create table things (at timestamptz not null, n int) partition by range (at)`;
  const at = (time: number) =>
    Promise.all(Array.from({ length: 10 }, () => maintainPartitions(db.sql, [table], time)));
  const partitions = async () => {
    const rows = await db.sql`
      select child.relname as name from pg_inherits join pg_class child on child.oid = inhrelid
      where inhparent = 'things'::regclass order by 1`;
    return rows.map(({ name }) => name as string);
  };
  await at(noon);
  assert.deepEqual(
    await partitions(),
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
  assert.equal((await partitions()).at(-1), 'things_20260326');
});

test('a row beyond all partitions is refused, not lost in silence', async () => {
  const db = await createTestDatabase();
  await db.sql`create table things (at timestamptz not null) partition by range (at)`;
  await maintainPartitions(db.sql, [table], noon);
  await assert.rejects(db.sql`insert into things values (${new Date(noon + 30 * DAY)})`, { code: '23514' });
});
