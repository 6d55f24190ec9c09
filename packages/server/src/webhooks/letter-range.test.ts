import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rangeViolations } from './letter-range.ts';

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
