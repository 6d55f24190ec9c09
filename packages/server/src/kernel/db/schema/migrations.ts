/**
 * Migrations: numbered SQL files, each applied once, in order, in a transaction of its own. An advisory lock lets any
 * number of processes start at once: one applies, the others wait and find nothing left to do. A file that was applied
 * must not change any more, which its checksum proves.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Database, Sql } from '../database.ts';

export interface Migration {
  version: number;
  name: string;
  checksum: string;
  text: string;
}

export interface MigrationState {
  version: number;
  name: string;
  appliedAt: Date | null;
}

/** A database whose history does not fit the files of this release. */
export class MigrationError extends Error {
  override name = 'MigrationError';
  readonly isExplained = true;
}

const FOLDER = fileURLToPath(new URL('../../../../migrations', import.meta.url));
/** An arbitrary constant: 'signalbx' in ASCII, as a signed 64-bit number. */
const LOCK = '8316291910694888056';

/** The migrations of a folder, ordered by number. */
export async function readMigrations(folder = FOLDER): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  const migrations = await Promise.all(
    names.map(async (file) => {
      const match = /^(\d{4})-([a-z0-9-]+)\.sql$/.exec(file);
      if (!match) throw new MigrationError(`${file} is not named like 0001-what-it-does.sql`);
      const text = (await readFile(join(folder, file), 'utf8')).replaceAll('\r\n', '\n');
      const checksum = createHash('sha256').update(text).digest('hex');
      return { version: Number(match[1]), name: match[2]!, checksum, text };
    }),
  );
  migrations.forEach(({ version }, index) => {
    if (version !== index + 1) throw new MigrationError(`migration ${index + 1} is missing or there twice`);
  });
  return migrations;
}

/**
 * Brings the database up to the newest migration and answers how many were applied.
 *
 * @throws MigrationError when an applied file was changed, or the database is newer than this release
 */
export async function migrate(db: Database, migrations?: Migration[]): Promise<number> {
  const wanted = migrations ?? (await readMigrations());
  const session = await db.sql.reserve();
  try {
    await session`select pg_advisory_lock(${LOCK}::bigint)`;
    await session`create table if not exists schema_migrations (
      version int primary key, name text not null, checksum text not null, applied_at timestamptz not null)`;
    const applied = await session<Applied[]>`
      select version, name, checksum from schema_migrations order by version`;
    verify(wanted, applied);
    const pending = wanted.slice(applied.length);
    for (const migration of pending) await apply(session, migration);
    return pending.length;
  } finally {
    await session`select pg_advisory_unlock(${LOCK}::bigint)`.catch(() => undefined);
    session.release();
  }
}

type Applied = Pick<Migration, 'version' | 'name' | 'checksum'>;

function verify(wanted: Migration[], applied: readonly Applied[]): void {
  if (applied.length > 0 && applied[0]!.name !== wanted[0]?.name) {
    throw new MigrationError(
      'The database was made by a version of Signalbox before 0.1.0, whose data cannot be taken over: ' +
        'empty the database, or remove the folder `postgres` of the home, and start again',
    );
  }
  if (applied.length > wanted.length) {
    throw new MigrationError(
      `the database has migration ${applied.length}, this release knows ${wanted.length}: install the newer release`,
    );
  }
  for (const [index, { version, checksum }] of applied.entries()) {
    const file = wanted[index]!;
    if (file.version !== version || file.checksum !== checksum) {
      throw new MigrationError(
        `migration ${String(version).padStart(4, '0')} (${file.name}) was changed after it had been applied: ` +
          'restore the file and put the change into a new migration',
      );
    }
  }
}

async function apply(session: Sql, { version, name, checksum, text }: Migration): Promise<void> {
  await session`begin`;
  try {
    await session.unsafe(text);
    await session`insert into schema_migrations values (${version}, ${name}, ${checksum}, ${new Date()})`;
    await session`commit`;
  } catch (error) {
    await session`rollback`.catch(() => undefined); // the connection may be what has failed
    throw new MigrationError(`migration ${version} (${name}) failed: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** How many migrations the database has, of which a process that runs may not know all: a newer release has been started beside it. */
export async function appliedMigrations(db: Database): Promise<number> {
  const [row] = await db.sql<{ count: number }[]>`select count(*)::int as count from schema_migrations`;
  return row!.count;
}

/** Every migration with the time at which this database got it. */
export async function migrationStates(db: Database): Promise<MigrationState[]> {
  const wanted = await readMigrations();
  const [{ there }] =
    (await db.sql`select to_regclass('schema_migrations') is not null as there`) as unknown as [
      { there: boolean },
    ];
  const applied = there
    ? await db.sql<{ version: number; appliedAt: Date }[]>`
        select version, applied_at as "appliedAt" from schema_migrations`
    : [];
  const times = new Map(applied.map(({ version, appliedAt }) => [version, appliedAt]));
  return wanted.map(({ version, name }) => ({ version, name, appliedAt: times.get(version) ?? null }));
}
