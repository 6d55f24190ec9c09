import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retryDelay } from './retry-policy.ts';

test('what may succeed later is tried again, less and less often, and not for ever', () => {
  const table: [
    status: number | undefined,
    failures: number,
    retryAfter: string | null,
    least: number | undefined,
  ][] = [
    [undefined, 1, null, 1_000],
    [undefined, 6, null, 32_000],
    [undefined, 7, null, undefined],
    [503, 2, null, 2_000],
    [408, 1, null, 1_000],
    [429, 1, '30', 31_000],
    [429, 1, 'Wed, 21 Oct 2026 07:28:00 GMT', 1_000],
    [400, 1, null, undefined],
    [401, 1, null, undefined],
    [413, 1, '5', undefined],
  ];
  for (const [status, failures, retryAfter, least] of table) {
    const delay = retryDelay(status, failures, retryAfter);
    if (least === undefined) assert.equal(delay, undefined, `${status}`);
    else assert.ok(delay! >= least && delay! <= least + 1_000, `${status} ${failures}: ${delay}`);
  }
});
