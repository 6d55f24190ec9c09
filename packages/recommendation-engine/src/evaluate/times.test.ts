import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timeOf } from './times.ts';

test('times are seconds or shorter units since 1970, or ISO 8601, and nothing else', () => {
  for (const text of [
    '1593536687',
    '1593536687.0',
    '1.593536687e+09',
    '1593536687000',
    '1593536687000000',
    '1593536687000000000',
    '2020-06-30T17:04:47Z',
    '2020-06-30 17:04:47',
    '2020-06-30T19:04:47+02:00',
    '2020-06-30T19:04:47.000+0200',
    '2020-06-30t15:04:47-02',
  ])
    assert.equal(timeOf(text), 1_593_536_687_000, text);
  assert.equal(timeOf('-10'), -10_000);
  assert.equal(timeOf('2020-06-30'), timeOf('2020-06-30T00:00'));
  for (const text of [
    '',
    'foo 5',
    'SKU-7',
    'item 3',
    '"10"',
    '0x10',
    '1e300',
    'Jun 30 2020',
    '2020-02-30',
    '2020-06-30T25:00',
    '2020-06-30  17:04',
    '2020-06-30Z',
    'Infinity',
  ])
    assert.ok(Number.isNaN(timeOf(text)), text);
});
