/**
 * The door to PostgreSQL: a pool, transactions that know what to do after their commit, and wake-up calls between
 * processes. SQL itself stands in the `store.ts` of each module.
 */
import type postgres from 'postgres';
import { apiError } from '../errors.ts';
import { madeOnce } from '../memory/made-once.ts';
import type { Log } from '../telemetry/log.ts';
import { readAddress } from './connection/address.ts';
import { type SilenceTimings, type WatchedConnection, watchSilence } from './connection/dead-connections.ts';
import { createListening } from './connection/listening.ts';
import { postgres as connect } from './driver.ts';
import type { AnySql, Sql, TransactionSql } from './sql.ts';
import { statementOption } from './statements/watch.ts';

export type { AnySql, Sql, TransactionSql } from './sql.ts';

export interface Tx {
  sql: TransactionSql;
  /** Runs once the transaction is committed; never when it was rolled back. For wake-ups and caches, not for work. */
  afterCommit(effect: () => void): void;
}

export interface Database {
  sql: Sql;
  /**
   * Runs `work` in a transaction. A deadlock or serialization failure is tried again, so `work` must have no effect
   * outside of the database other than through `afterCommit`.
   */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Calls `heard` for every message on the channel, and `connected` whenever messages may have been missed. */
  listen(
    channel: string,
    heard: (message: string) => void,
    connected?: () => void,
  ): Promise<() => Promise<void>>;
  notify(channel: string, message: string): Promise<void>;
  /** Whether the tables may lie on several machines: the extension Citus is installed. Asked once. */
  isDistributed(): Promise<boolean>;
  /** A pool of its own beside this one, with session settings that the work at hand needs. */
  dedicated(options: { connections: number; name: string; settings: Record<string, string> }): Database;
  close(): Promise<void>;
}

/**
 * What our statements, and the driver where it reads values, take for granted. A role or a database may have other defaults, for the
 * sake of people or of other programs, and hands them to every session.
 */
const AS_EXPECTED: Record<string, string> = {
  TimeZone: 'UTC',
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  bytea_output: 'hex',
  extra_float_digits: '1',
  standard_conforming_strings: 'on',
  default_transaction_isolation: 'read committed',
  // Connections are kept, and whoever listens is silent for hours.
  idle_session_timeout: '0',
};

const TRY_AGAIN = new Set(['40001', '40P01']);
const MAX_TRIES = 5;

/**
 * @example
 * const db = openDatabase({ url: 'postgres://localhost/signalbox' });
 * await db.transaction(async ({ sql }) => sql`insert into ...`);
 */
export function openDatabase(options: {
  url: string;
  connections?: number;
  name?: string;
  settings?: Record<string, string>;
  log?: Log;
  timings?: SilenceTimings;
  /** Known from another pool of the same database. */
  isDistributed?: Database['isDistributed'];
}): Database {
  const { connections = 16, name = 'signalbox', settings = {}, log, timings } = options;
  const { url, settings: ofAddress } = readAddress(options.url);
  const common = {
    connection: { application_name: name, ...AS_EXPECTED, ...settings },
    backoff: secondsToWait,
    ...ofAddress,
    ...statementOption(),
    onnotice: (notice: postgres.Notice) => log?.debug({ notice: notice.message }, 'database notice'),
    // Counters and offsets stay far below 2^53; a string in their place would only invite mistakes.
    types: { bigint: { to: 20, from: [20], parse: Number, serialize: String } },
  };
  const sql: Sql = connect(url, { ...common, max: connections });
  const single = { ...common, max: 1, max_lifetime: null, fetch_types: false };
  const watched = connectionsOf(sql);
  const listening = createListening(
    (events) => {
      const pool: Sql = connect(url, { ...single, ...events });
      watched.push(...connectionsOf(pool));
      return pool;
    },
    { askMs: timings?.silentMs },
  );
  const stopWatching = watchSilence({
    connections: watched,
    open: () => connect(url, { ...single, connect_timeout: 0 }),
    onLost: (count) => log?.warn({ count, pool: name }, 'the database does not answer: connections given up'),
    timings,
  });

  async function attempt<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const effects: (() => void)[] = [];
    const result = await sql.begin((tx) => work({ sql: tx, afterCommit: (effect) => effects.push(effect) }));
    for (const effect of effects) effect();
    return result as T;
  }

  const { isDistributed = madeOnce(() => hasCitus(sql)) } = options;

  return {
    sql,
    isDistributed,
    async transaction(work) {
      for (let tries = 1; ; tries++) {
        try {
          return await attempt(work);
        } catch (error) {
          if (tries === MAX_TRIES || !TRY_AGAIN.has((error as { code?: string }).code ?? '')) throw error;
          log?.debug({ tries }, 'transaction tried again');
        }
      }
    },
    listen: (channel, heard, connected) => listening.listen(channel, { heard, connected }),
    async notify(channel, message) {
      await sql.notify(channel, message);
    },
    dedicated: (own) => openDatabase({ url: options.url, log, timings, isDistributed, ...own }),
    async close() {
      await Promise.all([sql.end({ timeout: 5 }), listening.close()]);
      stopWatching();
    },
  };
}

/**
 * The wait before a connection is tried again. The driver's own rule reaches 20 s, counted over all connections of the
 * pool together, so that requests would stand for as long after the database has come back.
 */
const secondsToWait = (failures: number) => Math.min(0.05 * 2 ** failures, 1) * (0.5 + Math.random() / 2);

async function hasCitus(sql: AnySql): Promise<boolean> {
  return (await sql`select from pg_extension where extname = 'citus'`).count > 0;
}

/** Tells whoever listens once the transaction is committed. Unlike `afterCommit`, it is not lost with this process. */
export async function notifyAtCommit(sql: AnySql, channel: string, message: string): Promise<void> {
  await sql`select pg_notify(${channel}, ${message})`;
}

/** Those of a pool, as the driver tells them (`driver.ts`). */
const connectionsOf = (pool: Sql): WatchedConnection[] => [
  ...((pool as Sql & { connections?: WatchedConnection[] }).connections ?? []),
];

const UNIQUE_VIOLATION = '23505';

/**
 * Inserts what must be there once.
 *
 * @example await insertUnique(() => insertThing(db.sql, thing), `There is a thing ${thing.id} already.`)
 * @throws `conflict` with the message when a unique key is taken
 */
export async function insertUnique(insert: () => Promise<void>, message: string): Promise<void> {
  try {
    await insert();
  } catch (error) {
    throw (error as { code?: string }).code === UNIQUE_VIOLATION ? apiError('conflict', message) : error;
  }
}
