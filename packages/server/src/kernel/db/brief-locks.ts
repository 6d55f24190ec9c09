/**
 * Locks that stand in the way of reading and writing are asked for in passing. Whoever waits for one holds up everybody who
 * comes after, for as long as somebody else reads (a backup, a model that is being built), and these fill the pool.
 */
import type { Sql, TransactionSql } from './database.ts';

/** For each lock. A partition that is dropped needs its own and that of its table: about a second in all. */
const MAX_WAIT_MS = 500;

/**
 * Runs `work` in a transaction that gives up when it does not get a lock at once.
 *
 * @example await lockBriefly(sql, (tx) => tx`truncate things`)
 * @throws what `isLockTimeout` knows; then nothing has happened
 */
export async function lockBriefly(sql: Sql, work: (tx: TransactionSql) => Promise<unknown>): Promise<void> {
  await sql.begin(async (tx) => {
    await tx.unsafe(`set local lock_timeout = ${MAX_WAIT_MS}`);
    await work(tx);
  });
}

const LOCK_NOT_AVAILABLE = '55P03';

export const isLockTimeout = (error: unknown): boolean =>
  (error as { code?: unknown } | null)?.code === LOCK_NOT_AVAILABLE;
