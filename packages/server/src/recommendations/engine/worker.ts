/** The thread in which a base is tuned and built; background-build.ts starts it and hears its messages. */
import { parentPort, workerData } from 'node:worker_threads';
import type { EngineBase } from './base.ts';
import { buildBase, DEFAULT_KNOBS, type EngineInput, type Progress, prepare } from './build.ts';
import type { CatalogItem } from './catalog/catalog.ts';
import { type TuneOptions, tuneEngine } from './tuning/tuner.ts';

/** What the thread is given. */
export interface BuildOrder {
  /** Without the catalog, whose items follow as messages. */
  input: Omit<EngineInput, 'catalog'>;
  /** null = build with the knobs of the input. */
  tune: Omit<TuneOptions, 'onProgress' | 'signal'> | null;
}

/** Items of the catalog, batch by batch; null: these were all. Undefined: there is no catalog. */
export type ItemsMessage = { items: readonly CatalogItem[] | null | undefined };

/** What it says. The base's buffers are shared: the message copies none of them. */
export type BuildMessage = { progress: Progress } | { base: EngineBase };

const TUNING_SHARE = 0.7;

function run(input: EngineInput, tune: BuildOrder['tune'], say: (message: BuildMessage) => void): void {
  const prepared = prepare(input);
  const share = tune === null ? 0 : TUNING_SHARE;
  const knobs =
    tune === null
      ? (input.knobs ?? DEFAULT_KNOBS)
      : tuneEngine(prepared, {
          ...tune,
          onProgress: ({ step, done }) => say({ progress: { step: `tuning: ${step}`, done: done * share } }),
        }).knobs;
  const base = buildBase(prepared, knobs, {
    onProgress: ({ step, done }) => say({ progress: { step, done: share + done * (1 - share) } }),
  });
  say({ base });
}

if (parentPort !== null) {
  const port = parentPort;
  const { input, tune } = workerData as BuildOrder;
  const catalog: CatalogItem[] = [];
  port.on('message', ({ items }: ItemsMessage) => {
    if (items != null) {
      for (const item of items) catalog.push(item);
      return;
    }
    run(items === undefined ? input : { ...input, catalog }, tune, (message) => port.postMessage(message));
    // a port that listens keeps its thread alive
    port.close();
  });
}
