/** What a command works with: the modules on the database of this home or of `DATABASE_URL`. */
import type { Command } from 'commander';
import { loadConfig } from '../kernel/config/config.ts';
import { checkSecret } from '../kernel/config/home.ts';
import { openDatabase } from '../kernel/db/database.ts';
import { silentLog, silentMetrics } from '../kernel/telemetry/no-op.ts';
import type { Modules } from '../main.ts';
import { prepareDatabase } from '../maintenance.ts';
import { type Config, MANIFESTS } from '../manifests.ts';
import { type DatabaseAccess, joinStore } from '../open-store.ts';
import { exitCodeOf, SAME_SIGNAL_MS, SIGNALS } from './interruption.ts';
import { isTerminal, withSpinner } from './terminal.ts';

/** Commands other than `serve` take the mode of their home, unless they are told: a secret is at hand either way. */
export function commandConfig(command: Command): Config {
  const { home, dev } = command.optsWithGlobals<{ home?: string; dev?: boolean }>();
  const mode = process.env.SIGNALBOX_SECRET && !dev ? 'production' : 'development';
  return loadConfig({
    manifests: MANIFESTS,
    mode,
    env: process.env,
    flags: { home },
    terminal: isTerminal(),
  });
}

/** Opens the store, starting the embedded PostgreSQL for the time of the command if nobody runs it. */
export async function withStore<T>(config: Config, work: (store: DatabaseAccess) => Promise<T>): Promise<T> {
  const opening = withSpinner('Opening the database', (spinner) =>
    joinStore(config, { onProgress: spinner.say }),
  );
  const interruption = closeWhenInterrupted(opening);
  try {
    const store = await opening;
    return await work(store).finally(() => store.close());
  } catch (error) {
    await interruption.over();
    throw error;
  } finally {
    interruption.forget();
  }
}

/**
 * Ctrl-C ends a command, but not before PostgreSQL was given up: it would run on. A command that listens for the signal itself
 * comes to an end in its own way. Whoever asks again is not kept waiting.
 */
function closeWhenInterrupted(opening: Promise<DatabaseAccess>): { over(): Promise<void>; forget(): void } {
  let ending: Promise<void> | undefined;
  let since = 0;
  const interrupt = (signal: (typeof SIGNALS)[number]) => {
    if (process.listenerCount(signal) > 1) return;
    const exit = () => process.exit(exitCodeOf(signal));
    if (ending !== undefined) {
      if (performance.now() - since > SAME_SIGNAL_MS) exit();
      return;
    }
    since = performance.now();
    ending = opening.then((store) => store.close()).finally(exit);
  };
  for (const signal of SIGNALS) process.on(signal, interrupt);
  return {
    /** What fails because PostgreSQL was given up is not worth a word. */
    over: () => ending ?? Promise.resolve(),
    forget() {
      for (const signal of SIGNALS) process.off(signal, interrupt);
    },
  };
}

/** Runs work with all modules on an up-to-date database. */
export async function withModules<T>(
  command: Command,
  work: (modules: Modules, store: DatabaseAccess) => Promise<T>,
): Promise<T> {
  const config = commandConfig(command);
  if (config.secret === undefined) await checkSecret(config.home);
  return withStore(config, async (store) => {
    const { url } = store;
    const db = openDatabase({ url, connections: 2 });
    await prepareDatabase(db).finally(() => db.close());
    // Loaded only here: what is wrong with arguments, or a help, is said without it.
    const { createModules } = await import('../main.ts');
    const modules = await createModules({
      config: { ...config, databaseConnections: 4 },
      log: silentLog,
      metrics: silentMetrics,
      url,
    });
    try {
      return await work(modules, store);
    } finally {
      await modules.close();
    }
  });
}
