import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { welcomeText } from './welcome.ts';

test('the commands to try work on the installation that was started', () => {
  const tried = (home: string) =>
    welcomeText({ publicUrl: 'http://localhost:8400', home }).match(/npx signalbox .*/g);
  assert.deepEqual(tried(resolve('.signalbox')), ['npx signalbox tenant list', 'npx signalbox config --dev']);
  assert.deepEqual(tried('/srv/box'), [
    'npx signalbox tenant list --home /srv/box',
    'npx signalbox config --dev --home /srv/box',
  ]);
});
