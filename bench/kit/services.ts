/** What benches run on: PostgreSQL with durable settings and what is put into it, and Redis where the machine has it. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '@signalbox/embedded-postgres';
import { freePort } from '@signalbox/embedded-postgres/free-port';
import { loadConfig } from '../../packages/server/src/kernel/config/config.ts';
import { connectBriefly } from '../../packages/server/src/kernel/db/connection/brief-connection.ts';
import { openDatabase } from '../../packages/server/src/kernel/db/database.ts';
import { newId } from '../../packages/server/src/kernel/ids.ts';
import { randomSecret } from '../../packages/server/src/kernel/security/crypto.ts';
import { silentLog, silentMetrics } from '../../packages/server/src/kernel/telemetry/no-op.ts';
import { createModules, type Modules } from '../../packages/server/src/main.ts';
import { prepareDatabase } from '../../packages/server/src/maintenance.ts';
import { MANIFESTS } from '../../packages/server/src/manifests.ts';

export interface Service {
  url: string;
  stop(): Promise<void>;
}

/** The embedded PostgreSQL with the settings of production, in a folder of its own; or `BENCH_DATABASE_URL`. */
export async function startPostgres(): Promise<Service> {
  const external = process.env.BENCH_DATABASE_URL;
  if (external) return { url: external, stop: async () => undefined };
  const directory = await mkdtemp(join(tmpdir(), 'signalbox-bench-'));
  const postgres = await startEmbeddedPostgres({ directory, connect: connectBriefly });
  return {
    url: postgres.url,
    async stop() {
      await postgres.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** A new database on the server, migrated unless `empty`. */
export async function createBenchDatabase(url: string, { empty = false } = {}): Promise<string> {
  const name = newId('bench');
  const admin = openDatabase({ url, connections: 1 });
  await admin.sql.unsafe(`create database ${name}`).finally(() => admin.close());
  const own = new URL(url);
  own.pathname = `/${name}`;
  if (!empty) {
    const db = openDatabase({ url: own.href, connections: 2 });
    await prepareDatabase(db).finally(() => db.close());
  }
  return own.href;
}

/**
 * Runs work with all modules on a database, without a server.
 *
 * @example const tenant = await withModules(url, ({ accounts }) => accounts.createTenant({ name: 'bench' }))
 */
export async function withModules<T>(url: string, work: (modules: Modules) => Promise<T>): Promise<T> {
  const config = {
    ...loadConfig({ manifests: MANIFESTS, mode: 'development', env: {} }),
    secret: randomSecret(),
  };
  const modules = await createModules({ config, log: silentLog, metrics: silentMetrics, url });
  return work(modules).finally(() => modules.close());
}

/** A Redis without persistence, its fastest setting; null where there is none. */
export async function startRedis(): Promise<Service | null> {
  if (spawnSync('redis-server', ['--version']).status !== 0) return null;
  const port = await freePort();
  const directory = await mkdtemp(join(tmpdir(), 'signalbox-redis-'));
  const options = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--appendonly',
    'no',
    '--dir',
    directory,
  ];
  const child = spawn('redis-server', options, { stdio: 'ignore' });
  await waitForPort(port, child);
  return {
    url: `redis://127.0.0.1:${port}`,
    async stop() {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill();
      await gone;
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function waitForPort(port: number, child: ChildProcess): Promise<void> {
  const { connect } = await import('node:net');
  for (let tries = 0; tries < 100; tries++) {
    if (child.exitCode !== null) throw new Error('redis-server ended at once');
    const isUp = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.destroy();
        resolve(true);
      }).once('error', () => resolve(false));
    });
    if (isUp) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('redis-server does not answer');
}
