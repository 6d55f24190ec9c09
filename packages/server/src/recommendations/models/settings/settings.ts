/** What a tenant may decide about its models: weights per kind of interaction and half-lives, and within what limits. */
import { DEFAULT_PREFERENCES, type Preferences } from '@signalbox/recommendation-engine/preferences';
import type { Violation } from '../../../kernel/errors.ts';
import { HOUR } from '../../../kernel/time/clock.ts';

/** As the API has them. */
export interface RecommendationSettings {
  weights: { view: number; click: number; add_to_cart: number; purchase: number };
  /** null = the tuner picks; 0 = never fades. */
  half_life_hours: {
    popular: number | null;
    related: number | null;
    trending: number;
    trending_baseline: number;
  };
}

export type SettingsInput = {
  [Part in keyof RecommendationSettings]?: Partial<RecommendationSettings[Part]>;
};

const { kinds, halfLives } = DEFAULT_PREFERENCES;
export const DEFAULT_SETTINGS: RecommendationSettings = {
  weights: {
    view: kinds.view,
    click: kinds.click,
    add_to_cart: kinds.addToCart,
    purchase: kinds.purchase,
  },
  half_life_hours: {
    popular: null,
    related: null,
    trending: halfLives.trending / HOUR,
    trending_baseline: halfLives.trendingBaseline / HOUR,
  },
};

/** What the engine is told. */
export function preferencesOf({ weights, half_life_hours: hours }: RecommendationSettings): Preferences {
  const milliseconds = (value: number | null) => (value === null ? null : value * HOUR);
  return {
    kinds: {
      view: weights.view,
      click: weights.click,
      addToCart: weights.add_to_cart,
      purchase: weights.purchase,
    },
    halfLives: {
      popular: milliseconds(hours.popular),
      related: milliseconds(hours.related),
      trending: hours.trending * HOUR,
      trendingBaseline: hours.trending_baseline * HOUR,
    },
  };
}

export const complete = (input: SettingsInput): RecommendationSettings => ({
  weights: { ...DEFAULT_SETTINGS.weights, ...input.weights },
  half_life_hours: { ...DEFAULT_SETTINGS.half_life_hours, ...input.half_life_hours },
});

export const MAX_WEIGHT = 1000;
export const TEN_YEARS_IN_HOURS = 87_600;
const isWithin = (value: unknown, least: number, most: number): boolean =>
  typeof value === 'number' && value >= least && value <= most;

/** Everything that is wrong with settings. */
export function settingsViolations({ weights, half_life_hours: hours }: RecommendationSettings): Violation[] {
  const violations: Violation[] = [];
  for (const [kind, weight] of Object.entries(weights)) {
    if (!isWithin(weight, 0, MAX_WEIGHT))
      violations.push({ member: `weights.${kind}`, message: `must be from 0 to ${MAX_WEIGHT}` });
  }
  if (Object.values(weights).every((weight) => weight === 0))
    violations.push({ member: 'weights', message: 'must not all be 0' });
  for (const name of ['popular', 'related'] as const) {
    const value = hours[name];
    if (value !== null && value !== 0 && !isWithin(value, 1, TEN_YEARS_IN_HOURS))
      violations.push({
        member: `half_life_hours.${name}`,
        message: `must be null, 0 or from 1 to ${TEN_YEARS_IN_HOURS}`,
      });
  }
  for (const name of ['trending', 'trending_baseline'] as const) {
    if (!isWithin(hours[name], 1, TEN_YEARS_IN_HOURS))
      violations.push({
        member: `half_life_hours.${name}`,
        message: `must be from 1 to ${TEN_YEARS_IN_HOURS}`,
      });
  }
  if (hours.trending >= hours.trending_baseline)
    violations.push({
      member: 'half_life_hours.trending',
      message: 'must be shorter than half_life_hours.trending_baseline',
    });
  return violations;
}

/** As the API shows them. */
export const showSettings = ({
  updatedAt,
  ...settings
}: RecommendationSettings & { updatedAt: Date | null }) => ({ ...settings, updated_at: updatedAt });
