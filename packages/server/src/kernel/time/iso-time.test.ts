import assert from 'node:assert/strict';
import { test } from 'node:test';
import { storableTimeOf, timeOf } from './iso-time.ts';

test('timestamps are read in every usual form of ISO 8601, in UTC where none says otherwise', () => {
  const table: [text: string, expected: string][] = [
    ['2026-01-15T09:30:00Z', '2026-01-15T09:30:00.000Z'],
    ['2026-01-15t09:30:00z', '2026-01-15T09:30:00.000Z'],
    ['2026-01-15T09:30:00.123456Z', '2026-01-15T09:30:00.123Z'],
    ['2026-01-15T09:30:00+02:00', '2026-01-15T07:30:00.000Z'],
    ['2026-01-15T09:30:00-0530', '2026-01-15T15:00:00.000Z'],
    ['2026-01-15T09:30:00+01', '2026-01-15T08:30:00.000Z'],
    ['2026-01-15T09:30', '2026-01-15T09:30:00.000Z'],
    ['2026-01-15', '2026-01-15T00:00:00.000Z'],
  ];
  for (const [text, expected] of table) assert.equal(timeOf(text).toISOString(), expected, text);
});

test('a time can be stored in the years 1 to 9999, in UTC', () => {
  const table: [text: string, expected: string | undefined][] = [
    ['2026-01-15T09:30:00Z', '2026-01-15T09:30:00.000Z'],
    ['0001-01-01', '0001-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
    ['0000-12-31T23:59:59Z', undefined],
    ['0001-01-01T00:00:00+01:00', undefined],
    ['9999-12-31T23:59:59-01:00', undefined],
    ['soon', undefined],
  ];
  for (const [text, expected] of table) {
    const time = storableTimeOf(text);
    assert.equal(Number.isNaN(time.getTime()) ? undefined : time.toISOString(), expected, text);
  }
});
