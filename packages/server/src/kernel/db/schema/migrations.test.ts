import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { prepareDatabase } from '../../../maintenance.ts';
import { createTestDatabase, createTestDatabaseUrl } from '../../../testing/database.ts';
import { openDatabase } from '../database.ts';
import { type Migration, MigrationError, migrate, migrationStates, readMigrations } from './migrations.ts';

const first: Migration = { version: 1, name: 'first', checksum: 'a', text: 'create table one (n int)' };
const second: Migration = {
  version: 2,
  name: 'second',
  checksum: 'b',
  text: 'create table two (n int); insert into two values (2)',
};
const broken: Migration = {
  version: 3,
  name: 'broken',
  checksum: 'c',
  text: 'create table three (n int); insert into three values (1); select no_such_function()',
};

test('ten processes at once on an empty database apply each migration once, and all end up with the whole schema', async () => {
  const url = await createTestDatabaseUrl({ empty: true });
  const wanted = await readMigrations();
  // Each has connections of its own, as ten processes would.
  const databases = Array.from({ length: 10 }, () => openDatabase({ url, connections: 2 }));
  const applied = await Promise.all(databases.map((db) => prepareDatabase(db)));
  assert.deepEqual(
    applied.toSorted((a, b) => b - a),
    [wanted.length, ...Array(9).fill(0)],
  );
  const rows = await databases[0]!
    .sql`select version, name, checksum from schema_migrations order by version`;
  assert.deepEqual(
    rows.map((row) => ({ ...row })),
    wanted.map(({ version, name, checksum }) => ({ version, name, checksum })),
  );
  const states = await migrationStates(databases[1]!);
  assert.ok(states.length === wanted.length && states.every(({ appliedAt }) => appliedAt instanceof Date));
  await Promise.all(databases.map((db) => db.close()));
});

test('a database without migrations has states but no times', async () => {
  const db = await createTestDatabase({ empty: true });
  const states = await migrationStates(db);
  assert.deepEqual(states[0], { version: 1, name: 'queue', appliedAt: null });
});

test('a further run applies what is new and nothing else', async () => {
  const db = await createTestDatabase({ empty: true });
  assert.equal(await migrate(db, [first]), 1);
  assert.equal(await migrate(db, [first, second]), 1);
  assert.equal(await migrate(db, [first, second]), 0);
  assert.deepEqual(
    (await db.sql`select n from two`).map(({ n }) => n),
    [2],
  );
});

test('a file that was changed after it had been applied is refused by name', async () => {
  const db = await createTestDatabase({ empty: true });
  await migrate(db, [first, second]);
  const changed = { ...first, checksum: 'other' };
  await assert.rejects(migrate(db, [changed, second]), (error) => {
    assert.ok(error instanceof MigrationError);
    assert.match(error.message, /migration 0001 \(first\) was changed after it had been applied/);
    return true;
  });
});

test('a database of before the first release is refused with what to do', async () => {
  const db = await createTestDatabase({ empty: true });
  await migrate(db, [{ ...first, name: 'lanes' }, second]);
  await assert.rejects(
    migrate(db, [first]),
    /before 0\.1\.0.*: empty the database, or remove the folder `postgres` of the home, and start again$/,
  );
});

test('a database that is newer than the release is refused', async () => {
  const db = await createTestDatabase({ empty: true });
  await migrate(db, [first, second]);
  await assert.rejects(
    migrate(db, [first]),
    /has migration 2, this release knows 1: install the newer release/,
  );
});

test('a failing migration names itself and leaves nothing behind; those before it stay, and the next try goes on', async () => {
  const db = await createTestDatabase({ empty: true });
  await assert.rejects(migrate(db, [first, second, broken]), (error) => {
    assert.ok(error instanceof MigrationError);
    assert.match(error.message, /^migration 3 \(broken\) failed: .*no_such_function/);
    return true;
  });
  const tables =
    await db.sql`select relname from pg_class where relname in ('one', 'two', 'three') order by 1`;
  assert.deepEqual(
    tables.map(({ relname }) => relname),
    ['one', 'two'],
  );
  const mended = { ...broken, checksum: 'd', text: 'create table three (n int)' };
  assert.equal(await migrate(db, [first, second, mended]), 1);
});

test('files must be numbered without gaps and named after what they do', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'migrations-'));
  t.after(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, '0001-one.sql'), 'select 1;\r\n');
  assert.equal(
    (await readMigrations(folder))[0]!.text,
    'select 1;\n',
    'line ends do not change the checksum',
  );
  await writeFile(join(folder, '0003-three.sql'), '');
  await assert.rejects(readMigrations(folder), /migration 2 is missing or there twice/);
  await writeFile(join(folder, '0002-two.sql'), '');
  await writeFile(join(folder, '0002-too.sql'), '');
  await assert.rejects(readMigrations(folder), /migration 3 is missing or there twice/);
  await rm(join(folder, '0002-too.sql'));
  await writeFile(join(folder, 'four.sql'), '');
  await assert.rejects(readMigrations(folder), /four\.sql is not named like 0001-what-it-does\.sql/);
});

test('every tenant-owned table has the tenant first in its primary key and in each unique key', async () => {
  const db = await createTestDatabase();
  // Found before the tenant is known, or settings that all share: reference tables on Citus.
  const reference = [
    'tenants',
    'oauth_clients',
    'service_accounts',
    'sdk_keys',
    'console_users',
    'site_universes',
  ];
  const keys = await db.sql<{ table: string; first: string; columns: string[] }[]>`
    select rel.relname as table, columns[1] as first, columns
    from pg_index join pg_class rel on rel.oid = indrelid join pg_namespace on pg_namespace.oid = relnamespace,
      lateral (select array_agg(attname::text order by n) as columns from unnest(indkey::int[]) with ordinality as k (attnum, n)
        join pg_attribute a on a.attrelid = indrelid and a.attnum = k.attnum) as named
    where nspname = 'public' and indisunique and not rel.relispartition
      and exists (select from pg_attribute where attrelid = rel.oid and attname = 'tenant_id')`;
  const wrong = keys.filter(({ table, first }) => !reference.includes(table) && first !== 'tenant_id');
  assert.ok(keys.some(({ table }) => table === 'organizations'));
  assert.deepEqual(
    wrong.map(({ table, columns }) => `${table} (${columns})`),
    [],
  );
});
