/** The thread in which a script is built; build-apart.ts starts it and hears what came of it. */
import type { ChildProcess } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';

if (parentPort !== null) {
  const helpers: ChildProcess[] = [];
  subscribe('child_process', (message) => helpers.push((message as { process: ChildProcess }).process));
  const { buildScripts }: { buildScripts(): Promise<unknown> } = await import(workerData as string);
  parentPort.postMessage(await buildScripts());
  // A bundler is a process of its own, and would stay as a zombie if this thread ended before it.
  for (const helper of helpers) {
    helper.ref();
    if (helper.kill()) await once(helper, 'exit');
  }
}
