/**
 * Finds connections on which no answer will come: the machine is gone, or something on the way has forgotten the connection.
 * TCP notices after a quarter of an hour, or never when the other side is stopped; requests would be refused for their age all
 * that time. A statement may take hours, though, so silence alone says nothing: the database is asked over a new connection.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { arrayLiteral } from '../columns.ts';
import type { Sql } from '../sql.ts';

/** What the driver tells of a connection (`driver.ts`). */
export interface WatchedConnection {
  /** The server's process and the bytes that came from it; null while nobody waits for an answer. */
  readonly awaited: { pid: number | null; received: number } | null;
  /** Ends it. When nobody is there it cannot be made again either, and whoever waits for a connection is told as well. */
  lose(nobody: boolean): void;
}

/** What a new connection found: nobody there, somebody who did not want to talk, or what the processes of the silent ones do. */
export type Finding = 'nobody' | 'refused' | ReadonlyMap<number, 'idle' | 'working'>;

export interface Silence {
  pid: number | null;
  received: number;
  /** How often it was seen. Not a time: while this process is not let run, nothing can come. */
  looks: number;
  /** Whether the database has said during this silence that it works on the statement. */
  working: boolean;
}

export interface SilenceTimings {
  lookMs: number;
  /** How long a connection is silent before the database is asked. */
  silentMs: number;
  /** How long a new connection may take to be made and answered. */
  answerMs: number;
}

/** A database that is merely overloaded may take its time for a new connection: to drop all others would add to its load. */
const TIMINGS: SilenceTimings = { lookMs: 1000, silentMs: 5000, answerMs: 10_000 };
const UNREACHABLE = new Set(['ETIMEDOUT', 'EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH']);

/**
 * A process that has been idle while we wait never got the statement, or its answer was lost. One that nobody knows may be
 * behind a pooler, unless it was known before. What the database was seen working on is not given up because it is busy.
 */
export function classifySilence({ pid, working }: Silence, finding: Finding): 'lost' | 'working' | 'unclear' {
  if (finding === 'refused') return 'unclear';
  if (finding === 'nobody') return working ? 'unclear' : 'lost';
  const state = finding.get(pid ?? 0);
  if (state === 'working') return 'working';
  return state === 'idle' || working ? 'lost' : 'unclear';
}

/**
 * Watches connections until the function that it gives is called.
 *
 * @example const stop = watchSilence({ connections, open: () => connect(url, { max: 1 }), onLost: (count) => log.warn(...) });
 */
export function watchSilence(options: {
  connections: readonly WatchedConnection[];
  /** A pool of one connection that is made without a limit of its own. */
  open: () => Sql;
  onLost?: (count: number) => void;
  timings?: SilenceTimings;
}): () => void {
  const { connections, open, onLost } = options;
  const { lookMs, silentMs, answerMs } = options.timings ?? TIMINGS;
  const silences = new Map<WatchedConnection, Silence>();
  let asking = false;

  /** Still the very silence that it was: nothing came since. */
  const lasts = (connection: WatchedConnection, { pid, received }: Silence) =>
    connection.awaited?.pid === pid && connection.awaited.received === received;

  function look(): void {
    for (const connection of connections) {
      const { awaited } = connection;
      const known = silences.get(connection);
      if (awaited === null) silences.delete(connection);
      else if (known === undefined || !lasts(connection, known))
        silences.set(connection, { ...awaited, looks: 0, working: false });
      else known.looks += 1;
    }
    const long = [...silences].filter(([, { looks }]) => looks * lookMs >= silentMs);
    if (long.length === 0 || asking) return;
    asking = true;
    void examine(long).finally(() => {
      asking = false;
    });
  }

  async function examine(long: [WatchedConnection, Silence][]): Promise<void> {
    const pids = long.flatMap(([, { pid }]) => pid ?? []);
    const finding = await find({ open, pids, answerMs });
    let lost = 0;
    for (const [connection, silence] of long) {
      if (!lasts(connection, silence)) continue;
      const verdict = classifySilence(silence, finding);
      if (verdict === 'working') silence.working = true;
      // Asked again after as long a silence: a statement that takes an hour is not asked about every second.
      silence.looks = 0;
      if (verdict !== 'lost') continue;
      lost += 1;
      connection.lose(finding === 'nobody');
    }
    if (lost > 0) onLost?.(lost);
  }

  const timer = setInterval(look, lookMs).unref();
  return () => clearInterval(timer);
}

async function find(input: { open: () => Sql; pids: number[]; answerMs: number }): Promise<Finding> {
  const { open, pids, answerMs } = input;
  const sql = open();
  try {
    return await Promise.race([statesOf(sql, pids, answerMs), nobodyAfter(answerMs)]);
  } catch (error) {
    return UNREACHABLE.has((error as { code?: string }).code ?? '') ? 'nobody' : 'refused';
  } finally {
    void sql.end({ timeout: 0 });
  }
}

/** Idle for as long as an answer may take to come: one that is on its way is not lost. */
async function statesOf(sql: Sql, pids: number[], idleMs: number): Promise<Finding> {
  const rows = await sql<{ pid: number; idle: boolean }[]>`
    select pid, state like 'idle%' and state_change < clock_timestamp() - ${idleMs}::int * interval '1 ms' as idle
    from pg_stat_activity where pid = any(${arrayLiteral(pids)}::int[]) and state is not null`;
  return new Map(rows.map(({ pid, idle }) => [pid, idle ? 'idle' : 'working']));
}

async function nobodyAfter(ms: number): Promise<Finding> {
  await ownTime(ms);
  // Whoever was too busy to look sees what came meanwhile first.
  await new Promise((resolve) => setImmediate(resolve));
  return 'nobody';
}

const STEPS = 10;
/** Steps after which it is enough, however few of them were in time. */
const MAX_STEPS = 3 * STEPS;

/**
 * Waits for a time in which this process could run. On a machine that stands still, or that gives others nearly all of its time, the
 * database cannot answer either; when that does not end, it does not count any more.
 */
async function ownTime(ms: number): Promise<void> {
  const step = ms / STEPS;
  let steps = 0;
  for (let tries = 0; steps < STEPS && tries < MAX_STEPS; tries++) {
    const startedAt = performance.now();
    await delay(step, undefined, { ref: false });
    if (performance.now() - startedAt < 1.5 * step) steps += 1;
  }
}
