/**
 * Changes of a tenant's catalog, one after the other, each with a revision. The database sees to that, but whoever waits
 * there has a connection: while an import is applied, seconds for 100,000 items, the changes of one tenant would take those
 * of all the others. So they wait in memory, and of each process one asks the database again and again, in passing.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { isLockTimeout } from '../kernel/db/brief-locks.ts';
import type { Database, TransactionSql } from '../kernel/db/database.ts';
import { apiError } from '../kernel/errors.ts';
import { nextRevision } from './store.ts';

export interface Revisions {
  /**
   * Runs `work` in a transaction with the next revision, when nobody else changes the tenant's catalog any more.
   *
   * @throws `unavailable` when that has not come about after `mostWaitMs`
   */
  change<T>(
    tenantId: string,
    work: (sql: TransactionSql, revision: number) => Promise<T>,
    limits?: { mostWaitMs?: number },
  ): Promise<T>;
}

/** A change of one item takes milliseconds: who asks for as long as this gets between those of other processes. */
const ASK_MS = 100;
const PAUSE_MS = 400;

export function createRevisions({ db }: { db: Database }): Revisions {
  /** Who waits for each catalog that is being changed by this process. */
  const waiting = new Map<string, Set<() => void>>();

  async function takeTurn(tenantId: string, mostWaitMs?: number): Promise<void> {
    const others = waiting.get(tenantId);
    if (others === undefined) {
      waiting.set(tenantId, new Set());
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    others.add(resolve);
    const giveUp = () => {
      others.delete(resolve);
      reject(busy());
    };
    const timer = mostWaitMs === undefined ? undefined : setTimeout(giveUp, mostWaitMs);
    await promise.finally(() => clearTimeout(timer));
  }

  function passTurn(tenantId: string): void {
    const others = waiting.get(tenantId)!;
    const [next] = others;
    if (next === undefined) waiting.delete(tenantId);
    else {
      others.delete(next);
      next();
    }
  }

  return {
    async change(tenantId, work, { mostWaitMs } = {}) {
      const since = performance.now();
      await takeTurn(tenantId, mostWaitMs);
      try {
        for (;;) {
          let isOurs = false;
          try {
            return await db.transaction(async ({ sql }) => {
              isOurs = false; // again, where the database has the transaction begin anew
              const revision = await nextRevision(sql, tenantId, ASK_MS);
              isOurs = true;
              return work(sql, revision);
            });
          } catch (error) {
            if (isOurs || !isLockTimeout(error)) throw error;
          }
          if (mostWaitMs !== undefined && performance.now() - since + PAUSE_MS > mostWaitMs) throw busy();
          await delay(PAUSE_MS);
        }
      } finally {
        passTurn(tenantId);
      }
    },
  };
}

const busy = () =>
  apiError('unavailable', 'The catalog is busy with an import or with other changes; try again later.', {
    headers: { 'retry-after': '5' },
  });
