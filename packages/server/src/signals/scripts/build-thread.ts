/** The thread in which a script is built; build-apart.ts starts it and hears what came of it. */
import type { ChildProcess } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';

/** What the thread is given. */
export interface BuildOrder {
  module: string;
  /** The function of the module that builds; what it answers can be cloned. */
  build: string;
}

if (parentPort !== null) {
  const { module, build } = workerData as BuildOrder;
  const helpers: ChildProcess[] = [];
  subscribe('child_process', (message) => helpers.push((message as { process: ChildProcess }).process));
  const builder: Record<string, () => Promise<unknown>> = await import(module);
  parentPort.postMessage(await builder[build]!());
  // A bundler is a process of its own, and would stay as a zombie if this thread ended before it.
  for (const helper of helpers) {
    helper.ref();
    if (helper.kill()) await once(helper, 'exit');
  }
}
