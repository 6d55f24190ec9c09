/**
 * The immutable part of an engine: plain data in shared memory, no functions. That is what makes it go between threads
 * without copying (structured clone shares the buffers) and into a snapshot as it is.
 */
import type { CatalogIndex } from './catalog/catalog.ts';
import type { KindWeights } from './log/interactions.ts';
import type { VisitorIndex } from './log/visitors.ts';
import type { BasketKnobs, BasketRows } from './models/baskets.ts';
import type { BlendWeights } from './models/blend.ts';
import type { CovisitationKnobs } from './models/covisitation.ts';
import type { FactorKnobs, Factors } from './models/latent/implicit-factors.ts';
import type { ItemWeightKnobs, ItemWeights } from './models/latent/item-weights.ts';
import type { PopularityIndex, PopularityKnobs } from './models/popularity.ts';
import type { SessionIndex } from './models/sessions/session-index.ts';
import type { SessionKnobs } from './models/sessions/session-weights.ts';
import type { PartnerRows } from './structures/rows.ts';
import type { Vocabulary } from './structures/vocabulary.ts';

/** Everything that can be turned; the tuner turns it, unless the tenant has. */
export interface Knobs {
  /** Not turned by the tuner: a tenant's own decision (preferences.ts). */
  kinds: KindWeights;
  session: SessionKnobs;
  /** Whether `auto` has the votes of session neighbours counted ahead, or asks for them. */
  votes: 'ahead' | 'asked';
  covisitation: CovisitationKnobs;
  baskets: BasketKnobs;
  popularity: PopularityKnobs;
  /** null = not trained. */
  factors: FactorKnobs | null;
  weights: ItemWeightKnobs | null;
  /** Which of the two answers as `latent`. */
  latent: 'factors' | 'weights';
  blend: BlendWeights;
}

export interface EngineBase {
  format: 4;
  /** Time of the newest interaction inside. */
  through: number;
  interactions: number;
  /** The pause that ends a session, in milliseconds; 0 = never (a visitor is one session). */
  sessionGap: number;
  items: Vocabulary;
  countries: Vocabulary;
  catalog: CatalogIndex;
  sessions: SessionIndex;
  /** Votes of session neighbours, counted ahead; null where neighbours are asked. */
  votes: PartnerRows | null;
  popularity: PopularityIndex;
  newest: Int32Array;
  covisits: PartnerRows;
  /** How likely visitors go on with an item (repeats.ts). */
  repeats: Float32Array;
  baskets: BasketRows;
  factors: Factors | null;
  weights: ItemWeights | null;
  visitors: VisitorIndex | null;
  knobs: Knobs;
}
