/**
 * Settings of sessions whose statements are all index lookups and inserts. Their plans must not depend on how full the
 * tables happened to be when a plan was made: the planner is told to take the index, and to plan once.
 */
export const LOOKUP_PLANS = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
};
