/** Token buckets: a caller may burst up to one second's worth and then goes at the rate. */
import type { Clock } from '../clock.ts';

export interface RateLimiter {
  /**
   * Takes tokens, one by default. Answers 0, or the whole seconds to wait until there is one. Whoever takes more than are
   * left gets them, and waits the longer for the next.
   */
  take(key: string, rate: number, amount?: number): number;
}

interface Bucket {
  tokens: number;
  filledAt: number;
}

/** Buckets that are kept; beyond it the ones used longest ago go, which by then are full again. */
const MOST_BUCKETS = 50_000;
/** With fewer, whose turn it is to go matters to nobody: to put every bucket at the end would renew the map's table all the time. */
const MANY_BUCKETS = MOST_BUCKETS / 2;

/** @example if (limiter.take(address, 2000) > 0) throw refuse('tooManyRequests') */
export function createRateLimiter(clock: Clock): RateLimiter {
  const buckets = new Map<string, Bucket>();
  return {
    take(key, rate, amount = 1) {
      const now = clock.now();
      let bucket = buckets.get(key);
      if (bucket === undefined) {
        bucket = { tokens: rate, filledAt: now };
        buckets.set(key, bucket);
        if (buckets.size > MOST_BUCKETS) buckets.delete(buckets.keys().next().value!);
      } else if (buckets.size > MANY_BUCKETS) {
        // Set again at the end: the map is ordered by last use.
        buckets.delete(key);
        buckets.set(key, bucket);
      }
      // A clock that was set back brings nothing, and must not take away: an hour back would be an hour of refusals.
      const passed = Math.max(now - bucket.filledAt, 0);
      bucket.tokens = Math.min(rate, bucket.tokens + (passed / 1000) * rate);
      bucket.filledAt = now;
      if (bucket.tokens < 1) return Math.max(1, Math.ceil((1 - bucket.tokens) / rate));
      bucket.tokens -= amount;
      return 0;
    },
  };
}
