/** Every column that names a person is claimed by the module that keeps it, so an erasure, an export and a merge forget none. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readMigrations } from './kernel/db/schema/migrations.ts';
import { startTestServer } from './testing/server.ts';

const NAMES_A_PERSON = /profile|contact|system_id|email|recipient|visitor|device/;

/** Columns of the profiles, which an erasure removes before it asks the modules, and of people who are no visitors. */
const OTHERS: Record<string, string> = {
  'profiles.system_id': 'the profile itself',
  'profiles.email': 'the profile itself',
  'profile_identifiers.system_id': 'the profile itself',
  'console_users.email': 'a user of the console belongs to the tenant, and is removed as a user',
};

/** `table.column` of all columns whose name says that they name a person. */
function personalColumnsOf(migrations: readonly string[]): string[] {
  const found: string[] = [];
  for (const text of migrations) {
    const sql = text.replace(/--.*$/gm, '');
    for (const [, table, body] of sql.matchAll(/create (?:unlogged )?table (\w+) \(([\s\S]*?)\n\)/g))
      for (const [, column] of body!.matchAll(/^ {2}(\w+) /gm))
        if (column !== 'primary' && NAMES_A_PERSON.test(column!)) found.push(`${table}.${column}`);
    for (const [, table, change] of sql.matchAll(/alter table (\w+)([\s\S]*?);/g))
      for (const [, column] of change!.matchAll(/add column (\w+)/g))
        if (NAMES_A_PERSON.test(column!)) found.push(`${table}.${column}`);
  }
  return found;
}

test('every column that names a person is claimed by the module that keeps it', async () => {
  const { modules } = await startTestServer({ config: { roles: ['scheduler'] } });
  const columns = personalColumnsOf((await readMigrations()).map(({ text }) => text));
  assert.ok(columns.includes('signals.profile'), 'the columns were found');
  const claimed = modules.all.flatMap(({ personalData }) => personalData?.columns ?? []);
  const known = new Set([...claimed, ...Object.keys(OTHERS)]);
  assert.deepEqual(
    columns.filter((column) => !known.has(column)),
    [],
    'columns without a claim',
  );
  const missing = claimed.filter((column) => !columns.includes(column));
  assert.deepEqual(missing, [], 'claims of columns that are not there');
});

test('a column that names a person is found however it came into the schema', () => {
  const migrations = [
    'create table a (\n  id text not null,\n  contact int, -- the person\n  primary key (id)\n);',
    'alter table a add column recipient text, add column note text;',
  ];
  assert.deepEqual(personalColumnsOf(migrations), ['a.contact', 'a.recipient']);
});
