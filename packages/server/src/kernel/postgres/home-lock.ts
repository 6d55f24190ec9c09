import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { asStorageError, EmbeddedPostgresError, HomeInUseError, PostgresStorageError } from './errors.ts';
import { isAlive } from './processes.ts';
import { until } from './waiting.ts';

export type HomeLock = {
  /** Gives the home free. The kernel does the same when the process dies, however it dies. */
  release(): void;
};

/** Without a reference the garbage collector would close the database of a forgotten handle, and with it the lock. */
const held = new Set<DatabaseSync>();

/** `errcode` of SQLITE_BUSY and SQLITE_LOCKED. */
const busyCodes = [5, 6];

/**
 * Makes this process the only server on the home, or throws a `HomeInUseError` that names the one that is.
 *
 * The lock is the kernel's file lock, as SQLite takes it (fcntl on Linux and macOS, LockFileEx on Windows): Node offers none of its
 * own. The kernel drops it with the process, so no stale lock can outlive a `kill -9`, a reused pid means nothing, and two that start
 * at the same instant cannot both win. It holds across containers that share the volume, too. The pid beside it is only for the message.
 *
 * @example
 * const lock = await lockHome({ directory: '/srv/signalbox/postgres' });
 * lock.release();
 */
export async function lockHome({ directory }: { directory: string }): Promise<HomeLock> {
  // Imported here, because a Node without SQLite shall fail with a sentence and not at import.
  const { DatabaseSync: Database } = await import('node:sqlite').catch((cause) => {
    throw new EmbeddedPostgresError('This Node has no node:sqlite; use Node 24 or newer.', { cause });
  });
  await access(directory, constants.W_OK | constants.X_OK).catch((error) => {
    throw asStorageError({ error, path: directory });
  });
  const pidFile = join(directory, 'server.pid');
  // The wait is needed: with none, two that try at once can refuse each other while both are between SQLite's shared and exclusive lock.
  // Nothing else may ever open this file: closing any descriptor of it would drop the process's fcntl lock.
  const path = join(directory, 'server.lock');
  let database: DatabaseSync;
  try {
    database = new Database(path, { timeout: 250 });
  } catch (cause) {
    throw new PostgresStorageError(`Cannot open ${path}: ${(cause as Error).message}.`, { cause });
  }
  try {
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (!isBusy(error)) {
      throw new PostgresStorageError(`Cannot lock ${path}: ${(error as Error).message}.`, { cause: error });
    }
    const pid = await until({ check: () => holderOf(pidFile), withinMs: 500 });
    throw new HomeInUseError({ home: dirname(directory), pid });
  }
  held.add(database);
  writeFileSync(pidFile, `${process.pid}\n`);
  return {
    release() {
      if (!held.delete(database)) return;
      rmSync(pidFile, { force: true });
      database.close();
    },
  };
}

function isBusy(error: unknown): boolean {
  return (
    error instanceof Error &&
    'errcode' in error &&
    typeof error.errcode === 'number' &&
    busyCodes.includes(error.errcode & 0xff)
  );
}

/** The winner writes its pid right after it has the lock, so the loser may come a moment too early. */
function holderOf(pidFile: string): number | undefined {
  try {
    const pid = Number.parseInt(readFileSync(pidFile, 'utf8'), 10);
    return Number.isSafeInteger(pid) && isAlive(pid) ? pid : undefined;
  } catch {
    return undefined;
  }
}
