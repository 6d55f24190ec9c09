/** Token buckets: a caller may burst up to one second's worth and then goes at the rate. */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { BoundedMap } from '../memory/bounded-map.ts';
import type { Clock } from '../time/clock.ts';

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
const MAX_BUCKETS = 50_000;
/** With fewer, whose turn it is to go matters to nobody: to put every bucket at the end would renew the map's table all the time. */
const MANY_BUCKETS = MAX_BUCKETS / 2;

/** @example if (limiter.take(address, 2000) > 0) throw refuse('tooManyRequests') */
export function createRateLimiter(clock: Clock): RateLimiter {
  const buckets = new BoundedMap<string, Bucket>({ max: MAX_BUCKETS, whenFull: 'dropOldest' });
  return {
    take(key, rate, amount = 1) {
      const now = clock.now();
      let bucket = buckets.get(key);
      if (bucket === undefined) bucket = buckets.set(key, { tokens: rate, filledAt: now });
      else if (buckets.size > MANY_BUCKETS) buckets.renew(key, bucket);
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

const IPV6_NETWORK_GROUPS = 4;
/** What a proxy says may be no address at all. */
const MAX_NAME_LENGTH = 64;

/**
 * Under which name the requests of an address are counted. Whoever has one address of IPv6 has 2^64 of them (RFC 6177), so
 * they count together.
 *
 * @example sourceOf('2001:db8:1:2:3::4') // '2001:db8:1:2::/64'
 */
export function sourceOf(address: string): string {
  // As a socket that takes both tells an address of IPv4.
  const plain = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address;
  if (!plain.includes(':')) return plain.slice(0, MAX_NAME_LENGTH);
  const [withoutZone = ''] = address.split('%', 1);
  if (isIP(withoutZone) !== 6) return address.slice(0, MAX_NAME_LENGTH);
  const parsed = ipaddr.IPv6.parse(withoutZone);
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString();
  const network = parsed.parts.slice(0, IPV6_NETWORK_GROUPS).map((group) => group.toString(16));
  return `${network.join(':')}::/64`;
}
