import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusesTracking } from './privacy.ts';

test('a refusal is what the browser says is one', () => {
  const table: [preferences: Parameters<typeof refusesTracking>[0], expected: boolean][] = [
    [{}, false],
    [{ doNotTrack: null }, false],
    [{ doNotTrack: '0' }, false],
    [{ doNotTrack: 'unspecified' }, false],
    [{ doNotTrack: '1' }, true],
    [{ globalPrivacyControl: true }, true],
    [{ globalPrivacyControl: false, doNotTrack: '1' }, true],
  ];
  for (const [preferences, expected] of table) assert.equal(refusesTracking(preferences), expected);
});
