import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabase } from '../../../testing/database.ts';
import { DAY, HOUR, MINUTE } from '../../time/clock.ts';
import { isSameTime, requireSameTime } from './clock-skew.ts';

test('clocks that are an hour apart at most tell the same time', () => {
  const noon = Date.UTC(2026, 1, 27, 12);
  const cases: [apart: number, same: boolean][] = [
    [0, true],
    [HOUR, true],
    [HOUR + 1, false],
    [365 * DAY, false],
  ];
  for (const [apart, same] of cases) {
    assert.equal(isSameTime(noon + apart, noon), same, `${apart} ms ahead`);
    assert.equal(isSameTime(noon - apart, noon), same, `${apart} ms behind`);
  }
});

test('a clock is compared with that of the database', async () => {
  const { sql } = await createTestDatabase();
  await requireSameTime(sql, Date.now());
  for (const wrong of [Date.now() + HOUR + 10 * MINUTE, Date.now() - DAY])
    await assert.rejects(requireSameTime(sql, wrong), /clocks of this machine and of the database/);
});
