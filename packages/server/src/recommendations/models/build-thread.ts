/** The entry file of the threads in which background-build.ts has models built. */
import type { MessagePort } from 'node:worker_threads';
import type { EngineBase } from '@signalbox/recommendation-engine/base';
import type { EngineInput, Progress } from '@signalbox/recommendation-engine/build';
import type { CatalogItem } from '@signalbox/recommendation-engine/catalog/catalog';
import { buildTuned, type Tuning } from '@signalbox/recommendation-engine/tuned-build';
import { serveTasks } from '../../kernel/threads/serve-tasks.ts';

export interface BuildTask {
  input: Omit<EngineInput, 'catalog'>;
  /** Answers each message with items of the catalog, and with null after the last. Undefined: there is no catalog. */
  items: MessagePort | undefined;
  tuning: Tuning;
}

function receiveItems(port: MessagePort): Promise<CatalogItem[]> {
  return new Promise((resolve) => {
    const catalog: CatalogItem[] = [];
    const ask = (): void => port.postMessage(null);
    port.on('message', (items: CatalogItem[] | null) => {
      if (items === null) return resolve(catalog);
      for (const item of items) catalog.push(item);
      ask();
    });
    ask();
  });
}

serveTasks<BuildTask, EngineBase, Progress>(async ({ input, items, tuning }, report) =>
  buildTuned(items === undefined ? input : { ...input, catalog: await receiveItems(items) }, tuning, report),
);
