/**
 * The real program for the loss harness: `signalbox serve` in a process of its own, on a PostgreSQL of its own, with a tenant and a key made
 * by its command line. What it stored is read from the database.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { freePort } from '@signalbox/embedded-postgres/free-port';
import { openDatabase } from '../../server/src/kernel/db/database.ts';
import { until } from './wait.ts';

const PROGRAM = fileURLToPath(new URL('../../server/bin/signalbox.js', import.meta.url));

export interface RealServer {
  origin: string;
  key: string;
  /** Ends the process in the way that the signal does, and starts another on the same port. */
  restart(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** How often the signals whose `objectId` begins with the run are in the database, by that id. */
  stored(run: string): Promise<Map<string, number>>;
  stop(): Promise<void>;
}

/**
 * Starts the program on a database.
 *
 * @example
 * const server = await startRealServer(url);
 * await runLossScenario({ scenario: 'two tabs', signals: 200, target: server, ...server });
 */
export const startRealServer = async (databaseUrl: string): Promise<RealServer> => {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const env = {
    PATH: process.env.PATH,
    DATABASE_URL: databaseUrl,
    SIGNALBOX_SECRET: 'a secret that only the loss harness knows',
    HOST: '127.0.0.1',
    PORT: String(port),
    PUBLIC_URL: origin,
    LOG_LEVEL: 'error',
  };
  const launch = (...args: string[]): ChildProcess =>
    spawn(process.execPath, [PROGRAM, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const command = async (...args: string[]): Promise<Record<string, string>> => {
    const child = launch(...args, '--json');
    let text = '';
    child.stdout!.on('data', (chunk) => {
      text += chunk;
    });
    await once(child, 'close');
    return JSON.parse(text);
  };

  let child: ChildProcess;
  const start = async (): Promise<void> => {
    child = launch('serve');
    child.stdout!.pipe(process.stderr);
    const isReady = () =>
      fetch(`${origin}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    await until('the server is ready', isReady, 60_000);
  };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    // Ctrl-C reaches the program too, and then it is gone already.
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  };

  await start();
  const tenant = await command('tenant', 'create', `loss-${Date.now().toString(36)}`);
  const { key } = await command('sdkkey', 'create', 'loss', '--tenant', tenant.name!);
  const db = openDatabase({ url: databaseUrl, connections: 2 });
  return {
    origin,
    key: key!,
    async restart(signal) {
      await end(signal);
      await start();
    },
    async stored(run) {
      const rows = await db.sql<{ marker: string; times: number }[]>`
        select payload->>'objectId' as marker, count(*)::int as times from signals
        where tenant_id = ${tenant.customerId!} and starts_with(payload->>'objectId', ${`${run}-`}) group by 1`;
      return new Map(rows.map(({ marker, times }) => [marker, times]));
    },
    async stop() {
      await end('SIGTERM');
      await db.close();
    },
  };
};
