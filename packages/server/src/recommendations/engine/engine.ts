/** An opened engine: the base's data, the live delta and one set of scratch memory, ready to answer one request at a time. */
import type { EngineBase } from './base.ts';
import type { CatalogItem } from './catalog.ts';
import { createDelta, type Delta } from './delta.ts';
import type { Interaction } from './interactions.ts';
import { openParts } from './parts.ts';
import { openPredictor, type PredictionRequest, type Recommendation } from './predict.ts';

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
  /** What a visitor did, as item numbers, oldest first: the running session and what came before it. */
  visitor(name: string, now: number): { session: number[]; history: number[]; own: number };
}

/**
 * Opens a base for answering. The caller swaps engines by replacing one reference; `from` hands over what the new base
 * does not contain yet.
 *
 * @example
 * let engine = openEngine(base);
 * engine.add({ visitor: 'v1', item: 'sku-1', time: Date.now() });
 * engine.predict({ algorithm: 'auto', session: [engine.numberOf('sku-1')], size: 10 });
 * engine = openEngine(rebuilt, { from: engine });
 */
export function openEngine(base: EngineBase, options: { from?: Engine } = {}): Engine {
  const delta = createDelta(base);
  options.from?.delta.carryInto(delta, base);
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
    visitor(name, now) {
      const steps = delta.visitors.historyOf(name);
      const session = delta.visitors.stepsOf(name, now);
      return {
        session: session.map((step) => step.item),
        history: steps.slice(0, steps.length - session.length).map((step) => step.item),
        own: session.length === 0 ? -1 : delta.visitors.sessionOf(name),
      };
    },
  };
}
