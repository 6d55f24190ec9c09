import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('test.ts', import.meta.url));

const UNMATCHED = {
  'a pattern that matches no file': 'no-such-folder/*.test.ts',
  'a pattern that only files of the slow tier match': 'packages/server/src/kernel/lanes/crash.s*.test.ts',
};
for (const [name, pattern] of Object.entries(UNMATCHED))
  test(`${name} fails the run, and is named`, () => {
    const { status, stderr } = spawnSync(process.execPath, [script, pattern], { encoding: 'utf8' });
    assert.equal(stderr, `No file matches ${pattern}.\n`);
    assert.equal(status, 1);
  });
