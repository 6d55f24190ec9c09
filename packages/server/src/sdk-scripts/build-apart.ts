/**
 * Builds scripts in a thread of its own: bundling and minifying takes two seconds of processor time, in which this one would
 * answer nobody.
 */
import { Worker } from 'node:worker_threads';

/**
 * What `buildScripts` of a module builds.
 *
 * @example const { script } = await buildApart<{ script: string }>('@signalbox/tracker/build');
 */
export function buildApart<T>(module: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL('./build-thread.ts', import.meta.url), { workerData: module });
    // A server that is stopped does not wait for a script.
    thread.unref();
    thread.once('message', resolve);
    thread.once('error', reject);
    thread.once('exit', (code) =>
      reject(new Error(`the thread that builds scripts ended with code ${code}`)),
    );
  });
}
