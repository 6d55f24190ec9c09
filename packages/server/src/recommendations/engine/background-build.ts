/** Builds an engine's base off the request path: in a worker thread, which can be called off at any moment. */
import { Worker } from 'node:worker_threads';
import type { EngineBase } from './base.ts';
import type { BuildOptions, EngineInput } from './build.ts';
import type { CatalogItem } from './catalog/catalog.ts';
import type { BuildMessage, BuildOrder, ItemsMessage } from './worker.ts';

/** Copying a million items in one go would stop this thread for a second; requests come in between. */
const ITEMS_AT_ONCE = 5000;

async function sendItems(worker: Worker, catalog: readonly CatalogItem[] | undefined): Promise<void> {
  const send = (items: ItemsMessage['items']) => worker.postMessage({ items } satisfies ItemsMessage);
  for (let from = 0; from < (catalog?.length ?? 0); from += ITEMS_AT_ONCE) {
    send(catalog!.slice(from, from + ITEMS_AT_ONCE));
    await new Promise((resolve) => setImmediate(resolve));
  }
  send(catalog === undefined ? undefined : null);
}

/**
 * Tunes (unless `tune` is null) and builds. The log's columns and the base's are shared memory; only the catalog's objects
 * are copied into the thread.
 *
 * @example
 * const base = await buildInBackground({ log, catalog }, { tune: { budgetMs: 60_000 }, signal });
 * engine = openEngine(base);
 */
export function buildInBackground(
  input: EngineInput,
  options: BuildOptions & { tune?: BuildOrder['tune'] } = {},
): Promise<EngineBase> {
  const { signal, onProgress, tune = null } = options;
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const { catalog, ...rest } = input;
    const worker = new Worker(new URL('./worker.ts', import.meta.url), {
      workerData: { input: rest, tune } satisfies BuildOrder,
    });
    sendItems(worker, catalog).catch(reject);
    const callOff = (): void => {
      reject(signal?.reason);
      void worker.terminate();
    };
    signal?.addEventListener('abort', callOff, { once: true });
    worker.on('message', (message: BuildMessage) => {
      if ('base' in message) resolve(message.base);
      else onProgress?.(message.progress);
    });
    worker.on('error', reject);
    worker.on('exit', (code) => {
      signal?.removeEventListener('abort', callOff);
      reject(new Error(`the build thread ended with code ${code}`));
    });
  });
}
