/** For what will never be: machines that are shared stand still for half a minute. */
const PATIENCE_MS = 120_000;

/**
 * Waits until a condition holds; for tests, which never sleep and hope.
 *
 * @example await until(() => received.length === 10)
 */
export async function until(
  condition: () => boolean | Promise<boolean>,
  { timeoutMs = PATIENCE_MS, what = condition.toString() } = {},
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
