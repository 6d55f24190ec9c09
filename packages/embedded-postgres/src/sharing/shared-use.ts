/**
 * Commands that use one PostgreSQL together. The first one starts it and holds the home, the others are its guests; nobody stops
 * it under another, and whoever leaves last stops it. A server is not bound by its guests: it stops when it is told to.
 */
import { join } from 'node:path';
import { findBinaries } from '../cluster/binaries.ts';
import { applicationUrl } from '../cluster/bootstrap.ts';
import { openClusterFile } from '../cluster/cluster-file.ts';
import { clusterNameOf } from '../cluster/data-directory.ts';
import type { Connect, Connection } from '../connection.ts';
import { EmbeddedPostgresError, HomeInUseError, PostgresStartError } from '../errors.ts';
import { observeCluster, stopPostmaster } from '../process/postmaster.ts';
import { type HomeLock, isHomeHeld, lockFile, lockHome } from './home-lock.ts';

export type Guest = {
  url: string;
  /** Gives PostgreSQL up, and stops it if nobody else is there. */
  leave(): Promise<void>;
};

const guestsLock = ({ directory, mode }: { directory: string; mode: 'shared' | 'exclusive' }) =>
  lockFile({ path: join(directory, 'guests.lock'), mode, waitMs: 0 });

/** The address of the PostgreSQL that another process of this home is running, for commands beside the server. */
export async function runningPostgresUrl({ directory }: { directory: string }): Promise<string> {
  const { password, port } = await openClusterFile({ directory, clusterExists: true });
  if (port === undefined)
    throw new PostgresStartError({ reason: 'The server of this home is still starting.' });
  return applicationUrl({ password, port });
}

/**
 * Becomes a guest of whoever holds the home, or answers why that is not possible at this moment: PostgreSQL is still starting, or just
 * being stopped.
 */
export async function joinRunningPostgres({
  directory,
  connect,
}: {
  directory: string;
  connect: Connect;
}): Promise<{ guest: Guest } | { notYet: Error }> {
  const release = await guestsLock({ directory, mode: 'shared' });
  if (release === undefined) return { notYet: new EmbeddedPostgresError('PostgreSQL is being stopped.') };
  try {
    const url = await runningPostgresUrl({ directory });
    await reach(connect(url));
    let leaving: Promise<void> | undefined;
    return {
      guest: {
        url,
        leave() {
          release();
          leaving ??= isHomeHeld({ directory }) ? Promise.resolve() : stopUnused({ directory });
          return leaving;
        },
      },
    };
  } catch (error) {
    release();
    return { notYet: error as Error };
  }
}

async function reach(connection: Connection): Promise<void> {
  try {
    await connection.query('SELECT 1');
  } finally {
    await connection.end();
  }
}

/** Runs `stop` unless there are guests, and keeps new ones out while it does. Answers whether it did. */
export async function withoutGuests({
  directory,
  stop,
}: {
  directory: string;
  stop: () => Promise<void>;
}): Promise<boolean> {
  const release = await guestsLock({ directory, mode: 'exclusive' });
  if (release === undefined) return false;
  try {
    await stop();
  } finally {
    release();
  }
  return true;
}

/** Stops a PostgreSQL that nobody uses any more. */
export async function stopUnused({ directory }: { directory: string }): Promise<void> {
  let lock: HomeLock;
  try {
    lock = await lockHome({ directory, forCommand: true });
  } catch (error) {
    if (error instanceof HomeInUseError) return;
    throw error;
  }
  try {
    await withoutGuests({ directory, stop: () => stopRunning(directory) });
  } finally {
    lock.release();
  }
}

async function stopRunning(directory: string): Promise<void> {
  const data = join(directory, 'data');
  const { id } = await openClusterFile({ directory, clusterExists: true });
  const { pgCtl } = await findBinaries();
  const name = await clusterNameOf({ id, data });
  const place = { data, log: join(directory, 'postgres.log'), name, pgCtl };
  const state = await observeCluster(place);
  if ('pid' in state && state.kind !== 'foreign') await stopPostmaster({ place, pid: state.pid });
}
