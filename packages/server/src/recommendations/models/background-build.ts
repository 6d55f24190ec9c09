/** Builds an engine's base off the request path: in a worker thread, which can be called off at any moment. */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { EngineBase } from '@signalbox/recommendation-engine/base';
import type { BuildOptions, EngineInput, Progress } from '@signalbox/recommendation-engine/build';
import type { CatalogItem } from '@signalbox/recommendation-engine/catalog/catalog';
import type { Tuning } from '@signalbox/recommendation-engine/tuned-build';
import { createThreads } from '../../kernel/threads/index.ts';
import type { BuildTask } from './build-thread.ts';

/**
 * One pool for the process. The first request of a shop without a model waits for a build, so there are more threads than
 * scheduled builds, of which one runs at a time. A thread ends after its build, because its heap may have grown to gigabytes.
 */
const threads = createThreads<BuildTask, EngineBase, Progress>({
  name: 'model builds',
  entry: new URL('./build-thread.ts', import.meta.url),
  threads: 4,
  idleMs: 0,
});

/** Copying a million items in one go would stop this thread for a second. Requests come in between. */
const ITEMS_AT_ONCE = 5000;

/** A port that answers each message with the next items, and with null after the last. */
function offer(catalog: readonly CatalogItem[]): { near: MessagePort; far: MessagePort } {
  const { port1: near, port2: far } = new MessageChannel();
  let sent = 0;
  near.on('message', () => {
    near.postMessage(sent < catalog.length ? catalog.slice(sent, sent + ITEMS_AT_ONCE) : null);
    sent += ITEMS_AT_ONCE;
  });
  return { near, far };
}

/**
 * Tunes (unless `tune` is null) and builds. The log's columns and the base's are shared memory; only the catalog's objects
 * are copied into the thread.
 *
 * @example
 * const base = await buildInBackground({ log, catalog }, { tune: { budgetMs: 60_000 }, signal });
 * engine = openEngine(base);
 */
export async function buildInBackground(
  input: EngineInput,
  { tune = null, signal, onProgress }: BuildOptions & { tune?: Tuning } = {},
): Promise<EngineBase> {
  const { catalog, ...rest } = input;
  const items = catalog === undefined ? undefined : offer(catalog);
  try {
    return await threads.run(
      { input: rest, items: items?.far, tuning: tune },
      { signal, onProgress, transfer: items === undefined ? [] : [items.far] },
    );
  } finally {
    items?.near.close();
  }
}
