/**
 * Waits for all statements of a transaction, also when one fails: what is still on its way when the transaction ends
 * would be executed outside of it.
 */
export async function allSettledOrThrow<T extends readonly unknown[]>(
  statements: readonly [...T],
): Promise<{ [Index in keyof T]: Awaited<T[Index]> }> {
  await Promise.allSettled(statements);
  return Promise.all(statements);
}
