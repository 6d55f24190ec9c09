import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabase, createTestDatabaseUrl } from '../../testing/database.ts';
import { until } from '../../testing/wait.ts';
import { insertUnique, openDatabase } from './database.ts';

const db = await createTestDatabase();
await db.sql`create table counters (name text primary key, n bigint not null)`;
await db.sql`insert into counters values ('a', 0), ('b', 0)`;
const countOf = async (name: string) => (await db.sql`select n from counters where name = ${name}`)[0]!.n;

test('two transactions that block each other both succeed: the one that is sacrificed is tried again', async () => {
  let tries = 0;
  const bothHold = Promise.withResolvers<void>();
  let holding = 0;
  /** Takes the first row, waits until the other holds its own, and reaches for the second. */
  const take = (first: string, second: string) =>
    db.transaction(async ({ sql }) => {
      tries++;
      await sql`update counters set n = n + 1 where name = ${first}`;
      if (++holding === 2) bothHold.resolve();
      await bothHold.promise;
      await sql`update counters set n = n + 1 where name = ${second}`;
    });
  await Promise.all([take('a', 'b'), take('b', 'a')]);
  // Three, or more: the one that is tried again may be faster than the other one wakes, and they block each other once more.
  assert.ok(tries >= 3, 'there was a deadlock, and one was tried again');
  assert.deepEqual([await countOf('a'), await countOf('b')], [2, 2]);
});

test('a transaction gives up after five tries, and at once for any other error', async () => {
  for (const [code, expected] of [
    ['40001', 5],
    ['40P01', 5],
    ['23505', 1],
  ] as const) {
    let tries = 0;
    const work = db.transaction(async () => {
      tries++;
      throw Object.assign(new Error('refused'), { code });
    });
    await assert.rejects(work, { code });
    assert.equal(tries, expected, code);
  }
});

test('effects run after the commit, in order, and only those of the try that was committed', async () => {
  const seen: string[] = [];
  let tries = 0;
  const result = await db.transaction(async ({ sql, afterCommit }) => {
    const attempt = ++tries;
    await sql`update counters set n = 100 where name = 'a'`;
    afterCommit(() => seen.push(`first of ${attempt}`));
    afterCommit(() => seen.push(`second of ${attempt}`));
    if (attempt === 1) throw Object.assign(new Error('once more'), { code: '40001' });
    assert.deepEqual(seen, [], 'not before the commit');
    return 'done';
  });
  assert.equal(result, 'done');
  assert.deepEqual(seen, ['first of 2', 'second of 2']);
});

test('an effect finds the commit done', async () => {
  const found = Promise.withResolvers<number>();
  await db.transaction(async ({ sql, afterCommit }) => {
    await sql`update counters set n = 7 where name = 'b'`;
    afterCommit(() => countOf('b').then(found.resolve, found.reject));
  });
  assert.equal(await found.promise, 7);
});

test('a transaction that fails changes nothing and has no effects', async () => {
  let effects = 0;
  const work = db.transaction(async ({ sql, afterCommit }) => {
    await sql`update counters set n = 1000 where name = 'b'`;
    afterCommit(() => effects++);
    throw new Error('changed my mind');
  });
  await assert.rejects(work, /changed my mind/);
  assert.deepEqual([effects, await countOf('b')], [0, 7]);
});

test('of several connections the one that was used last is used next', async () => {
  const processes = (count: number) =>
    Promise.all(Array.from({ length: count }, () => db.sql`select pg_backend_pid() as pid`)).then(
      (answers) => new Set(answers.map(([row]) => row!.pid)),
    );
  assert.ok((await processes(10)).size > 1, 'several are open');
  const [first, ...others] = [await processes(1), await processes(1), await processes(1)];
  for (const other of others) assert.deepEqual(other, first);
  const reserved = await db.sql.reserve();
  const [row] = await reserved`select pg_backend_pid() as pid`;
  reserved.release();
  assert.ok(first!.has(row!.pid), 'reserved as well');
  await db.transaction(async ({ sql }) => {
    const [row] = await sql`select pg_backend_pid() as pid`;
    assert.ok(first!.has(row!.pid), 'by transactions as well');
  });
});

test('times are UTC, and large whole numbers are numbers', async () => {
  const [row] = await db.sql`select current_setting('TimeZone') as zone, 9007199254740991::bigint as large`;
  assert.deepEqual({ ...row }, { zone: 'UTC', large: Number.MAX_SAFE_INTEGER });
});

test('sessions are the same whatever the database hands to each of them', async () => {
  const url = await createTestDatabaseUrl({ empty: true });
  const name = new URL(url).pathname.slice(1);
  const settings = {
    TimeZone: 'Pacific/Auckland',
    DateStyle: 'SQL, DMY',
    IntervalStyle: 'iso_8601',
    bytea_output: 'escape',
    extra_float_digits: '-9',
    default_transaction_isolation: 'serializable',
    idle_session_timeout: '20ms',
  };
  for (const [setting, value] of Object.entries(settings))
    await db.sql.unsafe(`alter database ${name} set ${setting} = '${value}'`);
  const odd = openDatabase({ url, connections: 1 });
  const read = () => odd.sql`select '2026-03-29T01:30:00Z'::timestamptz as time, '\\x00ff'::bytea as bytes,
    0.1::float8 + 0.2::float8 as sum, '1 day'::interval::text as span, pg_backend_pid() as session,
    current_setting('transaction_isolation') as isolation`;
  const [row] = await read();
  const { session, ...rest } = row!;
  assert.deepEqual(rest, {
    time: new Date('2026-03-29T01:30:00Z'),
    bytes: Buffer.from([0, 255]),
    sum: 0.1 + 0.2,
    span: '1 day',
    isolation: 'read committed',
  });
  await db.sql`select pg_sleep(0.1)`;
  assert.equal((await read())[0]!.session, session, 'an idle one is kept');
  await odd.close();
});

test('what must be there once is a conflict the second time; other failures stay what they are', async () => {
  const insert = async () => void (await db.sql`insert into counters values ('a', 1)`);
  await assert.rejects(insertUnique(insert, 'There is an a already.'), {
    name: 'ApiError',
    code: 'conflict',
    message: 'There is an a already.',
  });
  const fail = async () => void (await db.sql`insert into nowhere values (1)`);
  await assert.rejects(insertUnique(fail, 'There is an a already.'), { code: '42P01' });
});

test('messages reach every listener of a channel, and none after it stopped listening', async () => {
  const own = db.dedicated({ connections: 1, name: 'listener', settings: { statement_timeout: '1234' } });
  const [row] =
    await own.sql`select current_setting('application_name') as name, current_setting('statement_timeout') as timeout`;
  assert.deepEqual({ ...row }, { name: 'listener', timeout: '1234ms' });
  const heard: string[] = [];
  const stops = await Promise.all(
    ['one', 'two'].map((name) => own.listen('news', (text) => heard.push(`${name} ${text}`))),
  );
  await db.notify('news', 'hello');
  await until(() => heard.length === 2);
  await stops[0]!();
  await db.notify('news', 'again');
  await until(() => heard.length === 3);
  assert.deepEqual(heard.toSorted(), ['one hello', 'two again', 'two hello']);
  await own.close();
});
