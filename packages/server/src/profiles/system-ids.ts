/**
 * Numbers for new profiles. A process takes them in blocks, so that transactions that create profiles wait for each other
 * only when a block runs out. Numbers of a transaction that was rolled back, and of a process that ended, are gaps.
 */
import type { Tx } from '../kernel/db/database.ts';
import { takeNumbers } from './store.ts';

export interface SystemIds {
  /** As many new numbers, ascending. Must be asked for before any other row of the profiles is locked. */
  take(tx: Tx, tenantId: string, count: number): Promise<number[]>;
}

/** Small enough that restarts do not eat up the 2^31 numbers of a tenant, large enough that refills are rare. */
const BLOCK = 64;

export function createSystemIds(): SystemIds {
  const spare = new Map<string, number[]>();
  return {
    async take(tx, tenantId, count) {
      const taken = (spare.get(tenantId) ?? []).splice(0, count);
      const missing = count - taken.length;
      if (missing === 0) return taken;
      const first = await takeNumbers(tx.sql, tenantId, missing + BLOCK);
      const fresh = Array.from({ length: missing + BLOCK }, (_, index) => first + index);
      // Only a commit makes the rest of the block ours.
      tx.afterCommit(() => spare.set(tenantId, [...(spare.get(tenantId) ?? []), ...fresh.slice(missing)]));
      return [...taken, ...fresh.slice(0, missing)];
    },
  };
}
