/**
 * A database of its own for each test file, copied in a moment from a template that the test run migrated once.
 * The address of the run's PostgreSQL comes from the global set-up (scripts/test.ts).
 */
import { type Database, openDatabase } from '../kernel/db/database.ts';
import { newId } from '../kernel/ids.ts';
import { atEnd } from './at-end.ts';
import { checkStatements } from './statements.ts';

export const TEMPLATE = 'signalbox_template';

function clusterUrl(): string {
  const url = process.env.TEST_DATABASE_URL;
  if (!url) throw new Error('TEST_DATABASE_URL is not set: run the tests with `npm test [-- files]`');
  return url;
}

/** Browsers and databases share two cores: that the machine stands still for ten seconds is no reason to fail. */
function patient(url: string): string {
  const address = new URL(url);
  address.searchParams.set('connect_timeout', '60');
  return address.href;
}

/** The address of a new database; it is dropped when the test file ends. Statements on it are checked (`statements.ts`). */
export async function createTestDatabaseUrl({ empty = false } = {}): Promise<string> {
  await checkStatements();
  const name = newId('test');
  const admin = openDatabase({ url: patient(clusterUrl()), connections: 1 });
  await admin.sql.unsafe(
    `create database ${name} template ${empty ? 'template0' : TEMPLATE} strategy ${empty ? 'wal_log' : 'file_copy'}`,
  );
  atEnd(async () => {
    await admin.sql.unsafe(`drop database if exists ${name} with (force)`);
    await admin.close();
  });
  const url = new URL(patient(clusterUrl()));
  url.pathname = `/${name}`;
  return url.href;
}

/** @example const db = await createTestDatabase(); */
export async function createTestDatabase(
  options: { connections?: number; empty?: boolean } = {},
): Promise<Database> {
  const db = openDatabase({
    url: await createTestDatabaseUrl(options),
    connections: options.connections ?? 8,
  });
  atEnd(() => db.close());
  return db;
}
