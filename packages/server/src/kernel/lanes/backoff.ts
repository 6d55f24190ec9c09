/** What is unexpected is tried again after 1 s, 2 s, 4 s ... at most 5 min, twenty times in all: over almost an hour. */
export const MAX_FAILURES = 20;
const LONGEST = 300;

/** @example backoff(3) // 8000 */
export function backoff(failures: number, firstMs = 1000): number {
  return firstMs * Math.min(2 ** failures, LONGEST);
}
