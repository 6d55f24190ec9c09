/** When to try again. Pure. */

const FIRST_MS = 1_000;
const MAX_MS = 60_000;
/** A longer `Retry-After` is not believed; it also might not fit a timer. */
const MAX_ASKED_MS = 3_600_000;

/**
 * Whether the same events may be accepted later. Final is only what the server says about the batch, the key or the origin (D31); anything
 * else may be a proxy, a deployment or a wrong address that is put right. 0 is a request without an answer, 200 one without a verdict.
 */
export const isRetryable = (status: number): boolean => ![400, 401, 403, 413].includes(status);

/**
 * Milliseconds to wait after the n-th failure in a row: full jitter up to a doubling bound, and never before `Retry-After`
 * (seconds or date, RFC 9110 section 10.2.3) says so.
 *
 * @example
 * retryDelay(3); // between 0 and 4000
 * retryDelay(1, '30'); // between 30000 and 31000
 */
export const retryDelay = (failures: number, retryAfter?: string | null): number => {
  const asked = 1_000 * +retryAfter! || Date.parse(retryAfter!) - Date.now() || 0;
  const jitter = Math.random() * Math.min(MAX_MS, (FIRST_MS / 2) * 2 ** failures);
  return Math.min(Math.max(asked, 0), MAX_ASKED_MS) + jitter;
};
