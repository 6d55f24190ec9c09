/** What a tenant decides about its engine itself: what each kind of interaction is worth, and how fast counters fade. */
import type { Knobs } from './base.ts';
import { KIND_WEIGHTS, type KindWeights } from './log/interactions.ts';
import { DEFAULT_POPULARITY_KNOBS } from './models/popularity.ts';
import type { HalfLife } from './structures/decay.ts';

export interface Preferences {
  kinds: KindWeights;
  halfLives: {
    /** null = what the tuner finds best. */
    popular: HalfLife | null;
    related: HalfLife | null;
    /** The recent rate, and the usual one that it is compared with. */
    trending: HalfLife;
    trendingBaseline: HalfLife;
  };
}

export const DEFAULT_PREFERENCES: Preferences = {
  kinds: KIND_WEIGHTS,
  halfLives: {
    popular: null,
    related: null,
    trending: DEFAULT_POPULARITY_KNOBS.short,
    trendingBaseline: DEFAULT_POPULARITY_KNOBS.long,
  },
};

/** The knobs with what the tenant has decided in the place of what was tuned. */
export function withPreferences(knobs: Knobs, { kinds, halfLives }: Preferences): Knobs {
  const { popular, related, trending: short, trendingBaseline: long } = halfLives;
  return {
    ...knobs,
    kinds,
    popularity: { halfLife: popular ?? knobs.popularity.halfLife, short, long },
    covisitation: { ...knobs.covisitation, halfLife: related ?? knobs.covisitation.halfLife },
  };
}
