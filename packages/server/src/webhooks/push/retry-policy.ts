/** What becomes of a delivery after an attempt (D24, D25). Pure. */
import { DAY } from '../../kernel/time/clock.ts';

/** Delays before the second to the fifth attempt. */
const DELAYS_MS = [1000, 2000, 4000, 8000];
export const MAX_ATTEMPTS = DELAYS_MS.length + 1;
/** At most this part of a delay is added, so that a thousand failures do not come back in the same millisecond. */
const JITTER = 0.1;
export const TIME_TO_LIVE_MS = DAY;
const MAX_EVENT_BYTES = 1024 * 1024;

/** Whether an event is over the limit of 1 MiB. A character takes three bytes at most, so most need no counting. */
export function isTooLarge(body: string | Buffer): boolean {
  return body.length > MAX_EVENT_BYTES / 3 && Buffer.byteLength(body) > MAX_EVENT_BYTES;
}

export const DEAD_LETTER_REASONS = [
  'maximumAttemptsReached',
  'timeToLiveExpired',
  'rejectedByTarget',
  'unknownTarget',
  'sizeLimitExceeded',
  'rejectedByExchange',
] as const;
export type DeadLetterReason = (typeof DEAD_LETTER_REASONS)[number];

/** What an attempt met: an answer, or why there was none. */
export type AttemptResult =
  | { kind: 'answer'; status: number; retryAfterMs: number | null }
  /** The host has no address. */
  | { kind: 'unresolved' }
  /** The egress guard forbids the target. */
  | { kind: 'refused' }
  /** No connection, a broken one, or no answer in time. */
  | { kind: 'failure' };

export type RetryDecision =
  | { kind: 'delivered' }
  | { kind: 'retry'; at: number }
  | { kind: 'dead'; reason: DeadLetterReason };

/**
 * @example
 * judge({ result: { kind: 'answer', status: 204, retryAfterMs: null }, attempts: 1, now, expiresAt }) // { kind: 'delivered' }
 */
export function decideAfterAttempt(input: {
  result: AttemptResult;
  /** How many there were, this one included. */
  attempts: number;
  now: number;
  expiresAt: number;
  random?: () => number;
}): RetryDecision {
  const { result, attempts, now, expiresAt, random = Math.random } = input;
  if (isDelivered(result)) return { kind: 'delivered' };
  if (result.kind === 'refused') return { kind: 'dead', reason: 'rejectedByExchange' };
  if (!isWorthRetrying(result)) return { kind: 'dead', reason: 'rejectedByTarget' };
  const delay = DELAYS_MS[attempts - 1];
  if (delay === undefined) {
    return {
      kind: 'dead',
      reason: result.kind === 'unresolved' ? 'unknownTarget' : 'maximumAttemptsReached',
    };
  }
  // A `Retry-After` makes the whole subscription wait, and nothing of it starts before. No event dies before its time.
  const at = Math.ceil(now + delay * (1 + random() * JITTER));
  return { kind: 'retry', at: Math.min(at, expiresAt) };
}

export function isDelivered(result: AttemptResult): boolean {
  return result.kind === 'answer' && result.status >= 200 && result.status < 300;
}

/** Whether the same push may fare better later. An answer that is final is a healthy target's word on one event. */
export function isWorthRetrying(result: AttemptResult): boolean {
  if (result.kind !== 'answer') return result.kind !== 'refused';
  return result.status >= 500 || [408, 425, 429].includes(result.status);
}

/** 410 Gone: the target wants no more events at all. */
export function isTargetGone(result: AttemptResult): boolean {
  return result.kind === 'answer' && result.status === 410;
}

/** The time that a `Retry-After` asks for, on 429 and 503 only; seconds or an HTTP date (RFC 9110 §10.2.3). */
export function retryAfterMs(status: number, header: string, now: number): number | null {
  if (status !== 429 && status !== 503) return null;
  const asked = /^\s*\d+\s*$/.test(header) ? Number(header) * 1000 : dateOf(header) - now;
  return Number.isNaN(asked) ? null : Math.min(Math.max(asked, 0), TIME_TO_LIVE_MS);
}

/**
 * The three forms of an HTTP date (RFC 9110 §5.6.7), all of them in GMT, of which the third says nothing about its zone. `Date.parse`
 * alone takes `seconds=3600` for the year 3600, and the third form for local time.
 */
const HTTP_DATE =
  /^\s*((?:[a-z]{3}, \d\d? [a-z]{3} \d{4}|[a-z]{6,9}, \d\d-[a-z]{3}-\d\d) \d\d:\d\d:\d\d(?= GMT)|[a-z]{3} [a-z]{3} [ \d]\d \d\d:\d\d:\d\d \d{4})(?: GMT)?\s*$/i;

function dateOf(header: string): number {
  const [, date] = HTTP_DATE.exec(header) ?? [];
  return date === undefined ? Number.NaN : Date.parse(`${date} GMT`);
}
