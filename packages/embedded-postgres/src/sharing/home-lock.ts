import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { asStorageError, EmbeddedPostgresError, HomeInUseError, PostgresStorageError } from '../errors.ts';
import { isAlive } from '../process/processes.ts';
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
export async function lockHome({
  directory,
  forCommand = false,
}: {
  directory: string;
  forCommand?: boolean;
}): Promise<HomeLock> {
  await access(directory, constants.W_OK | constants.X_OK).catch((error) => {
    throw asStorageError({ error, path: directory });
  });
  const pidFile = join(directory, 'server.pid');
  // The wait is needed: with none, two that try at once can refuse each other while both are between SQLite's shared and exclusive lock.
  // Nothing else may ever open this file: closing any descriptor of it would drop the process's fcntl lock.
  const release = await lockFile({ path: join(directory, 'server.lock'), mode: 'exclusive', waitMs: 250 });
  if (release === undefined) {
    const holder = await until({ check: () => holderOf(pidFile), withinMs: 500 });
    throw new HomeInUseError({ home: dirname(directory), pid: undefined, ...holder });
  }
  try {
    writeFileSync(pidFile, `${process.pid}${forCommand ? ' command' : ''}\n`);
  } catch (error) {
    release();
    throw asStorageError({ error, path: directory });
  }
  let isHeld = true;
  return {
    release() {
      if (!isHeld) return;
      isHeld = false;
      rmSync(pidFile, { force: true });
      release();
    },
  };
}

/** Whether a living process says that it holds the home. A look without a wait; the lock itself is the truth. */
export function isHomeHeld({ directory }: { directory: string }): boolean {
  return holderOf(join(directory, 'server.pid')) !== undefined;
}

/**
 * The kernel's lock on a file, shared with others or for one alone; `undefined` when another process is in the way.
 *
 * @example
 * const release = await lockFile({ path: '/srv/signalbox/postgres/guests.lock', mode: 'shared', waitMs: 0 });
 */
export async function lockFile({
  path,
  mode,
  waitMs,
}: {
  path: string;
  mode: 'shared' | 'exclusive';
  waitMs: number;
}): Promise<(() => void) | undefined> {
  // Imported here, because a Node without SQLite shall fail with a sentence and not at import.
  const { DatabaseSync: Database } = await import('node:sqlite').catch((cause) => {
    throw new EmbeddedPostgresError('This Node has no node:sqlite; use Node 24 or newer.', { cause });
  });
  let database: DatabaseSync;
  try {
    database = new Database(path, { timeout: waitMs });
  } catch (cause) {
    throw new PostgresStorageError(`Cannot open ${path}: ${(cause as Error).message}.`, { cause });
  }
  try {
    database.exec(`PRAGMA journal_mode = MEMORY; ${LOCKING[mode]}`);
  } catch (error) {
    database.close();
    if (isBusy(error)) return undefined;
    throw new PostgresStorageError(`Cannot lock ${path}: ${(error as Error).message}.`, { cause: error });
  }
  held.add(database);
  return () => {
    if (held.delete(database)) database.close();
  };
}

/** A transaction that has read something holds a shared lock until it ends. */
const LOCKING = { shared: 'BEGIN; SELECT count(*) FROM sqlite_schema', exclusive: 'BEGIN EXCLUSIVE' };

function isBusy(error: unknown): boolean {
  return (
    error instanceof Error &&
    'errcode' in error &&
    typeof error.errcode === 'number' &&
    busyCodes.includes(error.errcode & 0xff)
  );
}

/** The winner writes its pid right after it has the lock, so the loser may come a moment too early. */
function holderOf(pidFile: string): { pid: number; byCommand: boolean } | undefined {
  try {
    const text = readFileSync(pidFile, 'utf8');
    const pid = Number.parseInt(text, 10);
    return Number.isSafeInteger(pid) && isAlive(pid)
      ? { pid, byCommand: text.trimEnd().endsWith(' command') }
      : undefined;
  } catch {
    return undefined;
  }
}
