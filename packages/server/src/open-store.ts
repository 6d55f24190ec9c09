/** Where the data is: the embedded PostgreSQL or the operator's own. The rest of the program does not see the difference. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  HomeInUseError,
  isHomeHeld,
  joinRunningPostgres,
  startEmbeddedPostgres,
} from '@signalbox/embedded-postgres';
import type { KernelConfig } from './kernel/config/config.ts';
import { ensureHome } from './kernel/config/home.ts';
import { connectBriefly as connect } from './kernel/db/connection/brief-connection.ts';
import { checkSessions } from './kernel/db/connection/sessions.ts';
import { SESSION_SETTINGS } from './signals/index.ts';

export interface DatabaseAccess {
  url: string;
  /** True when no other server can be working on this database. */
  exclusive: boolean;
  close(): Promise<void>;
}

interface StoreWatcher {
  onProgress?: (text: string) => void;
  onTrouble?: (text: string, level: 'info' | 'warn' | 'error') => void;
  /** Ends the wait for others. */
  stopping?: AbortSignal;
}

/** Opens the data of this installation for a server. Refused while another server works on it; a command is waited for. */
export async function openStore(config: KernelConfig, watcher: StoreWatcher = {}): Promise<DatabaseAccess> {
  if (config.databaseUrl !== undefined) return givenStore(config.databaseUrl);
  await ensureHome(config.home);
  let isReported = false;
  for (const since = performance.now(); ; await delay(TRY_AGAIN_MS)) {
    try {
      const postgres = await startEmbeddedPostgres({ directory: directoryOf(config), connect, ...watcher });
      return { url: postgres.url, exclusive: true, close: () => postgres.stop() };
    } catch (error) {
      const mayWait = error instanceof HomeInUseError && error.byCommand && !watcher.stopping?.aborted;
      if (!mayWait || performance.now() - since > MAX_WAIT_MS) throw error;
      if (!isReported) watcher.onProgress?.(`Waiting for a command (process ${error.pid}) to end…`);
      isReported = true;
    }
  }
}

/** A server recovers from a crash, or a command ends and stops PostgreSQL, before one can join or take its place. */
const MAX_WAIT_MS = 60_000;
const TRY_AGAIN_MS = 100;

/** Opens the data of this installation for a command: beside a server, beside other commands, or alone. */
export async function joinStore(config: KernelConfig, watcher: StoreWatcher = {}): Promise<DatabaseAccess> {
  if (config.databaseUrl !== undefined) return givenStore(config.databaseUrl);
  await ensureHome(config.home);
  const directory = directoryOf(config);
  for (const since = performance.now(); ; await delay(TRY_AGAIN_MS)) {
    // Usually a server is running, so try to join it first: finding out by trying to start costs 250 ms.
    const joined = isHomeHeld({ directory }) ? await joinRunningPostgres({ directory, connect }) : null;
    if (joined !== null && 'guest' in joined)
      return { url: joined.guest.url, exclusive: false, close: () => joined.guest.leave() };
    try {
      const postgres = await startEmbeddedPostgres({ directory, connect, forCommand: true, ...watcher });
      return { url: postgres.url, exclusive: true, close: () => postgres.leave() };
    } catch (error) {
      if (!(error instanceof HomeInUseError)) throw error;
      if (performance.now() - since > MAX_WAIT_MS) throw joined?.notYet ?? error;
    }
  }
}

const directoryOf = ({ home }: Pick<KernelConfig, 'home'>) => join(home, 'postgres');

async function givenStore(url: string): Promise<DatabaseAccess> {
  await checkSessions({ url, settings: SESSION_SETTINGS });
  return { url, exclusive: false, close: async () => undefined };
}
