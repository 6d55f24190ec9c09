import { setTimeout as delay } from 'node:timers/promises';
import type { Connect, Connection } from '../connection.ts';
import { errorCode } from '../errors.ts';

/** Name of the application's role and of its database. */
const application = 'signalbox';

/** Predefined roles that let the application look at statistics, ask for a checkpoint and end its own sessions; not a superuser. */
const granted = ['pg_monitor', 'pg_checkpoint', 'pg_signal_backend'];

/**
 * Somebody else is making the same thing this moment: the session of a server that was killed while it did runs on to the end of its
 * statement. (duplicate_database, duplicate_object, unique_violation in a catalogue, object_in_use)
 */
const madeMeanwhile = ['42P04', '42710', '23505', '55006'];

/**
 * Connects as the administrator, makes the application's role and database if they are missing, and answers the name of the cluster that
 * was reached. The connection itself is a proof: SCRAM succeeds only if both sides know the password.
 */
export async function ensureDatabase({
  port,
  adminPassword,
  password,
  connect,
}: {
  port: number;
  adminPassword: string;
  password: string;
  connect: Connect;
}): Promise<{ clusterName: string }> {
  const connection = connect(`postgres://postgres:${adminPassword}@127.0.0.1:${port}/postgres`);
  try {
    for (let attempt = 1; ; attempt++) {
      try {
        return { clusterName: await completeCluster(connection, password) };
      } catch (error) {
        if (attempt >= 20 || !madeMeanwhile.includes(errorCode(error) ?? '')) throw error;
        await delay(50);
      }
    }
  } finally {
    await connection.end();
  }
}

async function completeCluster(connection: Connection, password: string): Promise<string> {
  const [found] = await connection.query(`
    SELECT current_setting('cluster_name') AS cluster_name,
           EXISTS (SELECT FROM pg_roles WHERE rolname = '${application}') AS has_role,
           EXISTS (SELECT FROM pg_database WHERE datname = '${application}') AS has_database`);
  if (found?.has_role !== true) {
    // No superuser: what the application may do here is what it may do on a production server.
    // A password cannot be bound; it is hexadecimal.
    await connection.query(
      `CREATE ROLE ${application} LOGIN CREATEDB PASSWORD '${password}'; GRANT ${granted.join(', ')} TO ${application}`,
    );
  }
  if (found?.has_database !== true)
    await connection.query(`CREATE DATABASE ${application} OWNER ${application}`);
  return String(found?.cluster_name ?? '');
}

/** The address for the application. */
export function applicationUrl({ port, password }: { port: number; password: string }): string {
  return `postgres://${application}:${password}@127.0.0.1:${port}/${application}`;
}
