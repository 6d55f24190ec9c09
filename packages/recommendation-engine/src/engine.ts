/**
 * The recommendation engine: in-process, typed arrays in shared memory, no HTTP and no SQL. A base is built (or read from a
 * snapshot) and opened here: its data, the live delta and one set of scratch memory, ready to answer one request at a time.
 *
 * Bottom up: `structures/` and `algebra/`; `log/` and `catalog/`, what is known; `models/`, each with how it is built and how it
 * answers; `delta/`, what came after the base; `prediction/`, one list out of all of them; `tuning/` and `evaluate/`, which try them.
 *
 * Limits: answers come from one thread, one at a time (a prediction takes well under a millisecond); a base of 1 M items
 * and 10 M sessions needs about 1.5 GB; EASE is for at most 5,000 items.
 */
import type { EngineBase } from './base.ts';
import type { CatalogItem } from './catalog/catalog.ts';
import { createDelta, type Delta } from './delta/delta.ts';
import type { Interaction } from './log/interactions.ts';
import { openParts } from './prediction/parts.ts';
import { openPredictor, type PredictionRequest, type Recommendation } from './prediction/predict.ts';

export interface Engine {
  readonly base: EngineBase;
  readonly delta: Delta;
  /** Items known by number, live ones included. */
  readonly itemCount: number;
  /** Ranked items; never empty while an allowed item exists. */
  predict(request: PredictionRequest): Recommendation[];
  add(interaction: Interaction): void;
  putItem(item: CatalogItem): void;
  removeItem(id: string): void;
  /** -1 = unknown. */
  numberOf(id: string): number;
  idOf(item: number): string;
  /** -1 = unknown. */
  categoryOf(name: string): number;
}

/**
 * Opens a base for answering. The caller swaps engines by replacing one reference, and adds what the new base does not
 * contain yet.
 *
 * @example
 * let engine = openEngine(base);
 * engine.add({ visitor: 'v1', item: 'sku-1', time: Date.now() });
 * engine.predict({ algorithm: 'auto', session: [engine.numberOf('sku-1')], size: 10 });
 * engine = openEngine(rebuilt);
 */
export function openEngine(base: EngineBase): Engine {
  const delta = createDelta(base);
  const parts = openParts(base, delta);
  const predictor = openPredictor({ base, delta, parts });
  return {
    base,
    delta,
    get itemCount() {
      return delta.catalog.itemCount;
    },
    predict: predictor,
    add: delta.add,
    putItem: delta.putItem,
    removeItem: delta.removeItem,
    numberOf: delta.catalog.numberOf,
    idOf: delta.catalog.idOf,
    categoryOf: delta.catalog.categoryOf,
  };
}
