import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isGone } from '../testing/signalbox.ts';
import { until } from '../testing/wait.ts';
import { buildApart } from './build-apart.ts';

const moduleOf = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`;

test('a script is built in another thread than the one that answers requests', async () => {
  const module = moduleOf(
    `import { isMainThread } from 'node:worker_threads'; export const buildScripts = async () => ({ isMainThread });`,
  );
  assert.deepEqual(await buildApart(module), { isMainThread: false });
});

test('a build that fails is a failure with its reason, and one that ends without a word is one too', async () => {
  const failing = moduleOf(
    `export const buildScripts = async () => { throw new Error('a comma too many'); };`,
  );
  await assert.rejects(buildApart(failing), /a comma too many/);
  const silent = moduleOf(`export const buildScripts = () => process.exit(3);`);
  await assert.rejects(buildApart(silent), /the thread that builds scripts ended with code 3/);
});

test('nothing is left of the processes that built, no zombie either', async () => {
  const module = moduleOf(`
    import { spawn } from 'node:child_process';
    export const buildScripts = () => new Promise((resolve) => {
      const child = spawn('sleep', ['600'], { stdio: 'ignore' });
      child.unref();
      child.once('spawn', () => resolve(child.pid));
    });`);
  const pid = await buildApart<number>(module);
  await until(() => isGone(pid));
});
