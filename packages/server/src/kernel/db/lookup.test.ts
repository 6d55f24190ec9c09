import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabaseUrl } from '../../testing/database.ts';
import { until } from '../../testing/wait.ts';
import { type Database, openDatabase } from './database.ts';
import { createLookup } from './lookup.ts';

const url = await createTestDatabaseUrl();
const open = () => openDatabase({ url, connections: 2 });
const setUp = open();
await setUp.sql`create table settings (name text primary key, value text not null)`;
await setUp.sql`insert into settings values ('colour', 'red'), ('size', 'small')`;

async function createReader(db: Database, ttlMs?: number) {
  let loads = 0;
  const lookup = await createLookup({
    db,
    channel: 'settings',
    ttlMs,
    async load(name) {
      loads++;
      const [row] = await db.sql<{ value: string }[]>`select value from settings where name = ${name}`;
      return row?.value;
    },
  });
  return { ...lookup, loads: () => loads };
}

const change = (value: string) => setUp.sql`update settings set value = ${value} where name = 'colour'`;

test('a value is read once however many ask for it, and an absent one is remembered too', async () => {
  const db = open();
  const reader = await createReader(db);
  const values = await Promise.all([
    reader.get('colour'),
    reader.get('colour'),
    reader.get('nothing'),
    reader.get('nothing'),
  ]);
  assert.deepEqual(values, ['red', 'red', undefined, undefined]);
  assert.equal(reader.loads(), 2);
  await reader.close();
  await db.close();
});

test('a text that is too long for a key is answered, and takes no room', async () => {
  const db = open();
  const reader = await createReader(db);
  const long = 'x'.repeat(257);
  assert.deepEqual([await reader.get(long), await reader.get(long)], [undefined, undefined]);
  assert.equal(reader.loads(), 2);
  await reader.close();
  await db.close();
});

test('what was read can be had without waiting, until it changes', async () => {
  const db = open();
  const reader = await createReader(db);
  assert.equal(reader.peek('size'), undefined, 'not read yet');
  const reading = reader.get('size');
  assert.equal(reader.peek('size'), undefined, 'still being read');
  await reading;
  assert.equal(reader.peek('size'), 'small');
  await db.transaction((tx) => reader.changed(tx, 'size'));
  assert.equal(reader.peek('size'), undefined);
  assert.equal(reader.loads(), 1, 'to peek is not to read');
  await reader.close();
  await db.close();
});

test('a change in one process is seen by the other at the commit, and other entries stay', async () => {
  const [here, there] = [open(), open()];
  const [writer, reader] = [await createReader(here), await createReader(there)];
  for (const name of ['colour', 'size']) await Promise.all([writer.get(name), reader.get(name)]);
  const loads = reader.loads();
  await here.transaction(async (tx) => {
    await tx.sql`update settings set value = 'green' where name = 'colour'`;
    await writer.changed(tx, 'colour');
    assert.equal(await reader.get('colour'), 'red', 'not before the commit');
  });
  await until(async () => (await reader.get('colour')) === 'green');
  await until(async () => (await writer.get('colour')) === 'green');
  assert.equal(await reader.get('size'), 'small');
  assert.equal(reader.loads(), loads + 1, 'the other entry was not read again');
  for (const lookup of [writer, reader]) await lookup.close();
  for (const db of [here, there]) await db.close();
});

test('whoever made a change reads what it wrote at once, also where somebody read while it was made', async () => {
  const db = open();
  // Told of nothing: the message may come later than the answer to the commit.
  const lookup = await createReader({ ...db, listen: async () => async () => undefined });
  for (const value of ['blue', 'white', 'black']) {
    const before = await lookup.get('colour');
    await db.transaction(async (tx) => {
      await tx.sql`update settings set value = ${value} where name = 'colour'`;
      await lookup.changed(tx, 'colour');
      assert.equal(await lookup.get('colour'), before);
    });
    assert.equal(await lookup.get('colour'), value);
  }
  await lookup.close();
  await db.close();
});

test('a change whose message was lost is seen when the time is up, or when the connection comes back', async () => {
  const [short, long] = [open(), open()];
  const [forgetful, patient] = [await createReader(short, 1), await createReader(long, 3_600_000)];
  await Promise.all([forgetful.get('colour'), patient.get('colour')]);
  await change('grey');
  await until(async () => (await forgetful.get('colour')) === 'grey');
  assert.notEqual(await patient.get('colour'), 'grey');
  await setUp.sql`select pg_terminate_backend(pid) from pg_stat_activity where query ilike 'listen%' and datname = current_database()`;
  await until(async () => (await patient.get('colour')) === 'grey');
  for (const lookup of [forgetful, patient]) await lookup.close();
  for (const db of [short, long]) await db.close();
});

test('a reading that fails is not remembered', async () => {
  const db = open();
  let failing = true;
  const lookup = await createLookup({
    db,
    channel: 'failing',
    load: async () => {
      if (failing) throw new Error('no luck');
      return 'fine';
    },
  });
  await assert.rejects(lookup.get('x'), /no luck/);
  failing = false;
  assert.equal(await lookup.get('x'), 'fine');
  await lookup.close();
  await db.close();
  await setUp.close();
});
