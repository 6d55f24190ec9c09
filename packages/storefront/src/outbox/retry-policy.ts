/** What to do when interactions were not taken. Pure. */

const FIRST_MS = 1_000;
const MAX_FAILURES = 6;

/**
 * Milliseconds until the next try after the n-th failure in a row with this status (undefined: no answer); undefined: give up. Where a
 * blocker is in the way every try shows in the console, so it ends after about a minute.
 *
 * @example
 * retryDelay(undefined, 1); // between 1000 and 2000
 * retryDelay(429, 1, '30'); // between 31000 and 32000
 * retryDelay(400, 1); // undefined
 */
export const retryDelay = (
  status: number | undefined,
  failures: number,
  retryAfter?: string | null,
): number | undefined =>
  failures > MAX_FAILURES || /^4(?!08|29)/.test(status as unknown as string)
    ? undefined
    : FIRST_MS * (2 ** (failures - 1) + (+retryAfter! || 0) + Math.random());
