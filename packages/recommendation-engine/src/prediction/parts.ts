/** The models of a base with its live delta, opened together because they share data. */
import type { EngineBase } from '../base.ts';
import { type ItemFacts, openItemFacts } from '../catalog/item-facts.ts';
import type { Delta } from '../delta/delta.ts';
import { type Auto, openAuto } from '../models/auto.ts';
import { openBaskets } from '../models/baskets.ts';
import { type Blend, type BlendInput, openBlend, popularityScale } from '../models/blend.ts';
import type { Context } from '../models/context.ts';
import { openCovisitation } from '../models/covisitation.ts';
import { openFactors, openItemWeights, openLatent, type TasteModel } from '../models/latent/latent.ts';
import type { Algorithm, Model } from '../models/model.ts';
import { openNewest, openRecentlyViewed } from '../models/newest.ts';
import { openPopularity } from '../models/popularity.ts';
import { openSessionNeighbours } from '../models/sessions/session-neighbours.ts';
import { openSessionVotes } from '../models/sessions/session-votes.ts';
import { openSimilarity } from '../models/similarity.ts';
import { markRow } from '../structures/rows.ts';
import type { ScoreBoard } from '../structures/score-board.ts';

/** The parts of an opened engine, for the tuner and the evaluation. */
export interface Parts {
  models: Record<Algorithm, Model>;
  auto: Auto;
  blend: Blend;
  blendInput: BlendInput;
  facts: ItemFacts;
  taste: { factors: TasteModel | null; weights: TasteModel | null };
  /** The one of them that does better. */
  latentTaste: TasteModel | null;
}

/** What a latent model looks at where it does not walk the whole catalog. */
interface Nearby {
  /** Of each of the visitor's items. */
  partners: number;
  popular: number;
}
/** Items whose partners are looked at. */
const NEARBY_SOURCES = 12;
const NEARBY: Nearby = { partners: Number.POSITIVE_INFINITY, popular: 200 };
/**
 * For `auto`, which is asked far more often. (Orders of customers of online-retail who return: of the first 20 answers 22.1 % are
 * ordered next, with all partners and as many popular items 21.6 %, in 1.8 times the time.)
 */
const NEARBY_AUTO: Nearby = { partners: 12, popular: 64 };

export function openParts(base: EngineBase, delta: Delta): Parts {
  const { catalog, knobs } = base;
  const { counters, visitors } = delta;
  const facts = openItemFacts(catalog, delta.catalog.facts);
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
  const sessions = { index: base.sessions, knobs: knobs.session, live: visitors };
  const session = openWhenAsked('session', () => openSessionNeighbours(sessions));
  const baskets = openBaskets({ knobs: knobs.baskets, live: counters.baskets });
  const related = openCovisitation({ rows: base.covisits, live: counters.covisits });
  const taste = {
    factors: base.factors === null ? null : openFactors(base.factors),
    weights: base.weights === null ? null : openItemWeights(base.weights),
  };
  const blendInput: BlendInput = {
    session: base.votes ? openSessionVotes({ ...sessions, votes: base.votes }) : session,
    covisits: base.covisits,
    liveCovisits: counters.covisits,
    basketPartners: baskets.addPartners,
    again: (item) => base.repeats[item] ?? 0,
    ...taste,
    facts,
    popularity: logarithmic(base.popularity.popular, counters.popularity.popular),
    recentPopularity: logarithmic(base.popularity.short, counters.popularity.short),
    itemCount: base.items.count,
  };
  const nearbyOf =
    ({ partners, popular }: Nearby) =>
    (context: Context, board: ScoreBoard): void => {
      const most = Math.max(partners, context.wanted);
      for (let h = 0; h < Math.min(context.historyCount, NEARBY_SOURCES); h++) {
        markRow(base.covisits, context.history[h]!, board, most);
        markRow(counters.baskets.rows, context.history[h]!, board, most);
      }
      const count = Math.min(popular, base.popularity.order.length);
      for (let i = 0; i < count; i++) board.mark(base.popularity.order[i]!);
    };
  const latentTaste = (knobs.latent === 'weights' ? taste.weights : null) ?? taste.factors;
  const blend = openBlend(blendInput, knobs.blend);
  const auto = openAuto({
    blend,
    // What is near the visitor's items is found at a twentieth of the cost of walking the catalog, and is as good.
    taste:
      latentTaste &&
      openLatent({
        taste: { ...latentTaste, scansAll: false },
        nearby: nearbyOf(NEARBY_AUTO),
      }),
  });
  return {
    facts,
    taste,
    latentTaste,
    auto,
    blend,
    blendInput,
    models: {
      auto: auto.model,
      session,
      related,
      'bought-together': baskets.model,
      similar: openSimilarity({ catalog, rows: base.popularity, facts, live: delta.catalog }),
      latent:
        latentTaste === null
          ? { algorithm: 'latent', score: () => {} }
          : openLatent({ taste: latentTaste, nearby: nearbyOf(NEARBY) }),
      popular: popularity.popular,
      trending: popularity.trending,
      new: openNewest({
        order: base.newest,
        dateOf: delta.catalog.dateOf,
        inCategory,
        live: delta.catalog.newestFirst,
      }),
      'recently-viewed': openRecentlyViewed(),
    },
  };
}

/** For a model whose scratch memory grows with the log, and that most shops never ask. */
function openWhenAsked(algorithm: Algorithm, open: () => Model): Model {
  let model: Model | undefined;
  return {
    algorithm,
    score(context, board) {
      model ??= open();
      model.score(context, board);
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
