import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { isRetryable, retryDelay } from './retry-policy.ts';

const range = (...args: Parameters<typeof retryDelay>): [number, number] => {
  const delays = [0, 1].map((random) => {
    const restore = mock.method(Math, 'random', () => random);
    const delay = retryDelay(...args);
    restore.mock.restore();
    return Math.round(delay);
  });
  return [delays[0]!, delays[1]!];
};

test('what may succeed later is tried again', () => {
  for (const status of [0, 200, 204, 302, 404, 405, 408, 425, 429, 500, 502, 503, 504])
    assert.ok(isRetryable(status), `${status}`);
  for (const status of [400, 401, 403, 413]) assert.ok(!isRetryable(status), `${status}`);
});

test('the delay is anything up to a bound that doubles from 1 to 60 seconds', () => {
  assert.deepEqual(range(1), [0, 1000]);
  assert.deepEqual(range(2), [0, 2000]);
  assert.deepEqual(range(6), [0, 32_000]);
  assert.deepEqual(range(7), [0, 60_000]);
  assert.deepEqual(range(1000), [0, 60_000]);
});

test('Retry-After is waited for, in seconds or as a date, up to an hour', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2027, 0, 1) });
  assert.deepEqual(range(1, '30'), [30_000, 31_000]);
  assert.deepEqual(range(1, 'Fri, 01 Jan 2027 00:00:10 GMT'), [10_000, 11_000]);
  assert.deepEqual(range(1, '999999999'), [3_600_000, 3_601_000]);
  for (const unusable of ['0', '-5', 'soon', '', null, undefined, 'Fri, 01 Jan 2020 00:00:10 GMT']) {
    assert.deepEqual(range(1, unusable), [0, 1000], `${unusable}`);
  }
});
