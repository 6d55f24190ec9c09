import type { Database } from './database.ts';

/**
 * Settings of sessions whose statements are all index lookups and inserts. Their plans must not depend on how full the
 * tables are when a plan is made, so the planner takes the index and plans once.
 */
export const LOOKUP_PLANS = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
};

/** `LOOKUP_PLANS` for a database. Citus makes no generic plan of a statement whose shard a parameter names. */
export async function lookupPlans(
  db: Pick<Database, 'isDistributed'>,
): Promise<Record<keyof typeof LOOKUP_PLANS, string>> {
  return (await db.isDistributed()) ? { ...LOOKUP_PLANS, plan_cache_mode: 'auto' } : LOOKUP_PLANS;
}
