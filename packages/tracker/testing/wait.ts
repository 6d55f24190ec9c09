/**
 * Waits for a condition, and says at last what it was when it does not come.
 *
 * @example
 * await until('the event arrives', () => receiver.events.length === 1);
 */
export const until = async (
  what: string,
  condition: () => unknown,
  timeoutMs = 20_000,
  everyMs = 20,
): Promise<void> => {
  const end = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`Waited ${timeoutMs} ms in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
};
