import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY } from '../../kernel/time/clock.ts';
import {
  type AttemptResult,
  decideAfterAttempt,
  isTooLarge,
  MAX_ATTEMPTS,
  type RetryDecision,
  retryAfterMs,
  TIME_TO_LIVE_MS,
} from './retry-policy.ts';

const now = Date.UTC(2026, 0, 15, 9, 30);
const answer = (status: number, wait: number | null = null): AttemptResult => ({
  kind: 'answer',
  status,
  retryAfterMs: wait,
});

function verdictOn(
  result: AttemptResult,
  more: Partial<Parameters<typeof decideAfterAttempt>[0]> = {},
): RetryDecision {
  return decideAfterAttempt({
    result,
    attempts: 1,
    now,
    expiresAt: now + TIME_TO_LIVE_MS,
    random: () => 0,
    ...more,
  });
}

const RETRIED = new Set([408, 425, 429]);
const expectedKind = (status: number) => {
  if (status < 300) return 'delivered';
  return status >= 500 || RETRIED.has(status) ? 'retry' : 'dead';
};

test('every status is delivered, retried or final, as D25 has it', () => {
  for (let status = 200; status <= 599; status++) {
    assert.equal(verdictOn(answer(status)).kind, expectedKind(status), `status ${status}`);
  }
});

test('the reason of a dead letter follows from what the attempt met', () => {
  const table: [name: string, result: AttemptResult, attempts: number, reason: string][] = [
    ['a redirect', answer(302), 1, 'rejectedByTarget'],
    ['a refusal', answer(400), 1, 'rejectedByTarget'],
    ['an unauthorized push', answer(401), 3, 'rejectedByTarget'],
    ['gone', answer(410), 1, 'rejectedByTarget'],
    ['too large for the target', answer(413), 1, 'rejectedByTarget'],
    ['the guard', { kind: 'refused' }, 1, 'rejectedByExchange'],
    ['the fifth server error', answer(500), 5, 'maximumAttemptsReached'],
    ['the fifth throttling', answer(429), 5, 'maximumAttemptsReached'],
    ['the fifth broken connection', { kind: 'failure' }, 5, 'maximumAttemptsReached'],
    ['the fifth time without an address', { kind: 'unresolved' }, 5, 'unknownTarget'],
  ];
  for (const [name, result, attempts, reason] of table) {
    assert.deepEqual(verdictOn(result, { attempts }), { kind: 'dead', reason }, name);
  }
});

test('retries follow 1, 2, 4 and 8 s after the failure, with at most a tenth more', () => {
  const waits = (random: () => number) =>
    Array.from({ length: MAX_ATTEMPTS }, (_, index) => {
      const verdict = verdictOn({ kind: 'failure' }, { attempts: index + 1, random });
      return verdict.kind === 'retry' ? verdict.at - now : verdict.kind;
    });
  assert.deepEqual(
    waits(() => 0),
    [1000, 2000, 4000, 8000, 'dead'],
  );
  assert.deepEqual(
    waits(() => 1),
    [1100, 2200, 4400, 8800, 'dead'],
  );
});

test('Retry-After makes the subscription wait, and leaves the delays of the event as they are', () => {
  for (const asked of [200, 60_000, DAY])
    assert.deepEqual(verdictOn(answer(429, asked)), { kind: 'retry', at: now + 1000 });
});

test('an event whose next attempt would come after its life waits for the end of that, and no longer', () => {
  const retry = (at: number) => ({ kind: 'retry', at });
  assert.deepEqual(verdictOn({ kind: 'failure' }, { expiresAt: now + 999 }), retry(now + 999));
  assert.deepEqual(verdictOn({ kind: 'failure' }, { expiresAt: now + 1001 }), retry(now + 1000));
  assert.deepEqual(verdictOn({ kind: 'failure' }, { expiresAt: now - 1 }), retry(now - 1));
  assert.deepEqual(verdictOn(answer(200), { expiresAt: now - 1 }), { kind: 'delivered' });
});

test('Retry-After is read in both forms, on 429 and 503 only', () => {
  const table: [status: number, header: string, expected: number | null][] = [
    [429, '120', 120_000],
    [503, '0', 0],
    [429, ' 7 ', 7000],
    [429, 'Thu, 15 Jan 2026 09:30:30 GMT', 30_000],
    [503, 'Thursday, 15-Jan-26 09:31:00 GMT', 60_000],
    [429, 'Thu Jan 15 09:30:10 2026 GMT', 10_000],
    [429, 'Thu Jan 15 09:30:10 2026', 10_000],
    [429, 'Thu, 15 Jan 2026 09:00:00 GMT', 0],
    [429, '9999999999999999999999', DAY],
    [429, 'Fri, 15 Jan 2027 09:30:00 GMT', DAY],
    [429, '', null],
    [429, '-5', null],
    [429, '1.5', null],
    [429, 'soon', null],
    // Dates to `Date.parse`, of the year 3600.
    [503, 'seconds=3600', null],
    [503, 'max-age=3600', null],
    [503, 'Thu, 15 Jan 2026 09:30:30', null],
    [500, '120', null],
    [400, '120', null],
    [200, '120', null],
  ];
  for (const [status, header, expected] of table) {
    assert.equal(retryAfterMs(status, header, now), expected, `${status} ${header}`);
  }
});

test('an event may have 1 MiB of UTF-8, not of characters', () => {
  const mebibyte = 1024 * 1024;
  assert.equal(isTooLarge('a'.repeat(mebibyte)), false);
  assert.equal(isTooLarge('a'.repeat(mebibyte + 1)), true);
  assert.equal(isTooLarge('é'.repeat(mebibyte / 2)), false);
  assert.equal(isTooLarge('é'.repeat(mebibyte / 2 + 1)), true);
  assert.equal(isTooLarge('€'.repeat(Math.floor(mebibyte / 3))), false);
  assert.equal(isTooLarge('€'.repeat(Math.floor(mebibyte / 3) + 1)), true);
  assert.equal(isTooLarge('😀'.repeat(mebibyte / 4)), false);
  assert.equal(isTooLarge('😀'.repeat(mebibyte / 4 + 1)), true);
});
