/** An opened engine: the base's data, the live delta and one set of scratch memory, ready to answer one request at a time. */
import type { EngineBase } from './base.ts';
import { openBaskets } from './baskets.ts';
import { type Blend, type BlendInput, openBlend, popularityScale } from './blend.ts';
import type { CatalogItem } from './catalog.ts';
import type { Context } from './context.ts';
import { openCovisitation } from './covisitation.ts';
import { createDelta, type Delta } from './delta.ts';
import type { Interaction } from './interactions.ts';
import { type ItemFacts, openItemFacts } from './item-facts.ts';
import { openFactors, openItemWeights, openLatent, type TasteModel } from './latent.ts';
import type { Algorithm, Model } from './model.ts';
import { openNewest, openRecentlyViewed } from './newest.ts';
import { openPopularity } from './popularity.ts';
import { openPredictor, type PredictionRequest, type Recommendation } from './predict.ts';
import { addRow } from './rows.ts';
import type { ScoreBoard } from './score-board.ts';
import { openSessionNeighbours } from './session-neighbours.ts';
import { openSimilarity } from './similarity.ts';

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

/** The parts of an opened engine, for the tuner and the evaluation. */
export interface Parts {
  models: Record<Algorithm, Model>;
  blend: Blend;
  blendInput: BlendInput;
  facts: ItemFacts;
  taste: { factors: TasteModel | null; weights: TasteModel | null };
}

/** Items whose rows a latent model looks at in a large catalog, and how many popular ones it adds. */
const NEARBY_SOURCES = 12;
const NEARBY_POPULAR = 200;

export function openParts(base: EngineBase, delta: Delta): Parts {
  const { catalog, knobs } = base;
  const { counters, visitors } = delta;
  const facts = openItemFacts(catalog, delta.catalog.factsOf);
  const inCategory = (item: number, category: number): boolean => {
    const categories = facts.categoriesOf(item);
    for (let i = 0; i < categories.length; i++) if (categories[i] === category) return true;
    return false;
  };
  const popularity = openPopularity({
    index: base.popularity,
    knobs: knobs.popularity,
    inCategory,
    live: counters.popularity,
  });
  const session = openSessionNeighbours({ index: base.sessions, knobs: knobs.session, live: visitors });
  const baskets = openBaskets({ rows: base.baskets, knobs: knobs.baskets, live: counters.baskets });
  const related = openCovisitation({ rows: base.covisits, live: counters.covisits });
  const taste = {
    factors: base.factors === null ? null : openFactors(base.factors),
    weights: base.weights === null ? null : openItemWeights(base.weights),
  };
  const blendInput: BlendInput = {
    session,
    covisits: base.covisits,
    liveCovisits: counters.covisits,
    basketPartners: baskets.addPartners,
    ...taste,
    facts,
    popularity: logarithmic(base.popularity.popular, counters.popularity.popular),
    recentPopularity: logarithmic(base.popularity.short, counters.popularity.short),
    itemCount: base.items.count,
  };
  const nearby = (context: Context, board: ScoreBoard): void => {
    for (let h = 0; h < Math.min(context.historyCount, NEARBY_SOURCES); h++) {
      addRow(base.covisits, context.history[h]!, 1, board);
      addRow(base.baskets, context.history[h]!, 1, board);
    }
    const popular = Math.min(NEARBY_POPULAR, base.popularity.order.length);
    for (let i = 0; i < popular; i++) board.add(base.popularity.order[i]!, 1);
  };
  const latentTaste = (knobs.latent === 'weights' ? taste.weights : null) ?? taste.factors;
  const blend = openBlend(blendInput, knobs.blend);
  return {
    facts,
    taste,
    blend,
    blendInput,
    models: {
      auto: blend.model,
      session,
      related,
      'bought-together': baskets.model,
      similar: openSimilarity({ catalog, rows: base.popularity, facts, live: delta.catalog }),
      latent:
        latentTaste === null
          ? { algorithm: 'latent', score: () => {} }
          : openLatent({ taste: latentTaste, nearby }),
      popular: popularity.popular,
      trending: popularity.trending,
      new: openNewest({ order: base.newest, inCategory, live: delta.catalog.added }),
      'recently-viewed': openRecentlyViewed(),
    },
  };
}

/** Counters on a logarithmic scale; a logarithm per candidate would cost more than the rest of its description. */
function logarithmic(counters: Float32Array, live: (item: number) => number): (item: number) => number {
  const scaled = counters.map(popularityScale);
  return (item) => {
    const added = live(item);
    if (added === 0) return item < scaled.length ? scaled[item]! : 0;
    return popularityScale((counters[item] ?? 0) + added);
  };
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
