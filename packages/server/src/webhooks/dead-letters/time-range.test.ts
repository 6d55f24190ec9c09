import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY } from '../../kernel/time/clock.ts';
import { timeOf } from '../../kernel/time/iso-time.ts';
import { clampToRetention, rangeViolations } from './time-range.ts';

test('a range has two timestamps, the first not after the second', () => {
  const time = '2026-01-15T09:30:00Z';
  const table: [body: unknown, members: string[]][] = [
    [{ from: time, until: time }, []],
    [{ from: '2026-01-15T09:30:00+01:00', until: time }, []],
    [{ from: '2026-01-15T09:30:01Z', until: time }, ['from']],
    [{ from: 'yesterday', until: '2026-13-01' }, ['from', 'until']],
    [{ from: '2026-02-30T00:00:00Z', until: '2026-04-31' }, ['from', 'until']],
    [{ from: '2025-02-29T12:00:00+02:00', until: time }, ['from']],
    [{ from: '2024-02-29T00:30:00+02:00', until: time }, []],
    [{ from: '2026', until: '' }, ['from', 'until']],
    [{ from: '1768469400000', until: time }, ['from']],
    [{ from: 3 }, []],
    [null, []],
  ];
  for (const [body, members] of table) {
    assert.deepEqual(
      rangeViolations(body).map(({ member }) => member),
      members,
      JSON.stringify(body),
    );
  }
});

test('of a range remains what can have letters: the last two weeks', () => {
  const now = Date.UTC(2026, 5, 15);
  const day = (days: number) => new Date(now + days * DAY);
  const oldest = new Date(now - 14 * DAY + 1);
  const table: [from: Date, until: Date, remains: [from: Date, until: Date] | 'nothing'][] = [
    [day(-3), day(-1), [day(-3), day(-1)]],
    [day(-30), day(30), [oldest, day(0)]],
    [timeOf('0000-01-01'), timeOf('9999-12-31T23:59:59-14:00'), [oldest, day(0)]],
    [timeOf('0000-01-01'), timeOf('0000-01-01'), 'nothing'],
    [day(-30), day(-14), 'nothing'],
    [day(1), day(2), 'nothing'],
    [timeOf('9999-12-31T23:59:59-14:00'), timeOf('9999-12-31T23:59:59-14:00'), 'nothing'],
  ];
  for (const [asked, end, remains] of table) {
    const { from, until } = clampToRetention({ from: asked, until: end }, now);
    assert.deepEqual(from > until ? 'nothing' : [from, until], remains, `${asked} to ${end}`);
    for (const bound of [from, until]) assert.match(bound.toISOString(), /^2026-/, 'PostgreSQL reads it');
  }
});
