import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

test('a pattern that matches no file fails the run, and is named', () => {
  const script = fileURLToPath(new URL('test.ts', import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [script, 'no-such-folder/*.test.ts'], {
    encoding: 'utf8',
  });
  assert.match(stderr, /No file matches no-such-folder\/\*\.test\.ts\./);
  assert.equal(status, 1);
});
