/**
 * Builds scripts in a thread of its own: bundling and minifying takes two seconds of processor time, in which this one would
 * answer nobody.
 */
import { Worker } from 'node:worker_threads';
import type { BuildOrder } from './build-thread.ts';

/**
 * What a module's function builds.
 *
 * @example const { script } = await buildApart<Scripts>({ module: '@signalbox/tracker/build', build: 'buildScripts' });
 */
export function buildApart<T>(order: BuildOrder): Promise<T> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL('./build-thread.ts', import.meta.url), { workerData: order });
    // A server that is stopped does not wait for a script.
    thread.unref();
    thread.once('message', resolve);
    thread.once('error', reject);
    thread.once('exit', (code) => reject(new Error(`the thread of ${order.build} ended with code ${code}`)));
  });
}
