/**
 * Waits until a condition holds; for tests, which never sleep and hope.
 *
 * @example await until(() => received.length === 10)
 */
export async function until(
  condition: () => boolean | Promise<boolean>,
  { timeoutMs = 30_000, what = condition.toString() } = {},
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
