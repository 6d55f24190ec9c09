import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDatabase } from '../kernel/db/database.ts';
import { watchStatements } from '../kernel/db/statements/watch.ts';
import { createTestDatabase, createTestDatabaseUrl } from './database.ts';
import { collectStatements, isOurs, placeOf, readTables } from './statements.ts';

const tables = await readTables();

test('a statement that breaks a rule is reported once, with the place of its template', async (t) => {
  const collector = collectStatements({ tables, counts: () => true });
  t.after(watchStatements(collector.see));
  const { sql, transaction } = await createTestDatabase();
  await sql`select id from signals where ${sql`tenant_id is null`}`;
  assert.deepEqual(collector.violations(), []);
  for (const id of ['a', 'b']) await transaction((tx) => tx.sql`select from signals where id = ${id}`);
  const [violation, ...others] = collector.violations();
  assert.match(
    violation!,
    /^- names neither tenant_id nor lane: signals\n +select from signals where id = \$1\n/,
  );
  assert.match(violation!, /\n +at \/.*\/testing\/statements\.test\.ts:\d+$/);
  assert.deepEqual(others, []);
});

test('a pool that is opened while nobody watches shows nothing', async () => {
  const url = await createTestDatabaseUrl();
  const collector = collectStatements({ tables, counts: () => true });
  const before = openDatabase({ url, connections: 1 });
  watchStatements(collector.see)();
  await before.sql`select from signals`;
  await before.close();
  assert.deepEqual(collector.violations(), []);
});

test('statements of tests and of what serves them do not count', () => {
  const server = '/somewhere/packages/server/src';
  const cases: [place: string, counts: boolean][] = [
    [`${server}/signals/store.ts:12`, true],
    [`${server}/kernel/db/dedupe.ts:12`, true],
    [`${server}/signals/store.test.ts:12`, false],
    [`${server}/kernel/lanes/lanes.fixture.ts:12`, false],
    [`${server}/webhooks/fixtures/accepted.ts:12`, false],
    [`${server}/testing/locks.ts:12`, false],
    ['/somewhere/bench/lanes.ts:12', false],
    ['', false],
  ];
  for (const [place, counts] of cases) assert.equal(isOurs(place), counts, place);
});

test('the place of a template is the first in the stack that is not of a package', () => {
  const cases: [frames: string[], place: string][] = [
    [
      ['at sql (file:///a/node_modules/postgres/src/index.js:1:2)', 'at find (file:///a/b.ts:3:4)'],
      '/a/b.ts:3',
    ],
    [['at file:///a/b.ts:3:4', 'at file:///a/c.ts:5:6'], '/a/b.ts:3'],
    [['at async Promise.all (index 0)', 'at async Object.x (file:///a/b.ts:3:4)'], '/a/b.ts:3'],
    [['at sql (file:///a/node_modules/postgres/src/index.js:1:2)'], ''],
  ];
  for (const [frames, place] of cases)
    assert.equal(placeOf(`Error\n${frames.map((frame) => `    ${frame}`).join('\n')}`), place);
});
