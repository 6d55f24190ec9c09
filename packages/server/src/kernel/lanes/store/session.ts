/** How the statements of the queue are sent. */
/**
 * Plans for queue tables must not depend on how full the tables happened to be when a plan was made: every statement
 * of the queue is an index lookup, so the planner is told to take the index, and to plan once.
 */
export const SESSION_SETTINGS = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
};

/**
 * Waits for all statements of a transaction, also when one fails: what is still on its way when the transaction ends
 * would be executed outside of it.
 */
export async function together<T extends readonly unknown[]>(
  statements: readonly [...T],
): Promise<{ [Index in keyof T]: Awaited<T[Index]> }> {
  await Promise.allSettled(statements);
  return Promise.all(statements);
}
