/** Ctrl-C as it comes: more than once. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { pressCtrlC } from '../testing/signalbox.ts';

/** Ends in its own way when it is told to. */
const COMMAND = `
  import { onInterruption } from ${JSON.stringify(new URL('./interruption.ts', import.meta.url))};
  const atWork = setInterval(() => {}, 1000);
  onInterruption(() => {
    clearInterval(atWork);
    process.exitCode = 7;
  });
  console.log('ready');`;

test('a Ctrl-C that is passed on while a command comes to its end does not cut it off', async (t) => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', COMMAND], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  await once(child.stdout, 'data');
  await pressCtrlC(child);
  assert.deepEqual(await ended, [7, null]);
});
