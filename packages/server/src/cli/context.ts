/** What a command works with: the modules on the database of this home or of `DATABASE_URL`. */
import type { Command } from 'commander';
import { type Config, loadConfig } from '../kernel/config.ts';
import { openDatabase } from '../kernel/db/database.ts';
import { silentLog } from '../kernel/log.ts';
import { createModules, type Modules, openStore, prepareDatabase, type Store } from '../main.ts';
import { isTerminal, withSpinner } from './terminal.ts';

/** Commands other than `serve` take the mode of their home: a secret is at hand either way. */
export function commandConfig(command: Command): Config {
  const { home } = command.optsWithGlobals<{ home?: string }>();
  const mode = process.env.SIGNALBOX_SECRET ? 'production' : 'development';
  return loadConfig({ mode, env: process.env, flags: { home }, terminal: isTerminal() });
}

/** Opens the store, starting the embedded PostgreSQL for the time of the command if no server runs it. */
export async function withStore<T>(config: Config, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await withSpinner('Opening the database', (spinner) =>
    openStore(config, spinner.say, { join: true }),
  );
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Runs work with all modules on an up-to-date database. */
export async function withModules<T>(command: Command, work: (modules: Modules) => Promise<T>): Promise<T> {
  const config = commandConfig(command);
  return withStore(config, async ({ url }) => {
    const db = openDatabase({ url, connections: 2 });
    await prepareDatabase(db).finally(() => db.close());
    const modules = await createModules({
      config: { ...config, databaseConnections: 4 },
      log: silentLog,
      url,
    });
    try {
      return await work(modules);
    } finally {
      await modules.close();
    }
  });
}
