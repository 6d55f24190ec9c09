/** Counters since the base was built: popularity, directed co-visits and baskets. */
import type { EngineBase } from '../base.ts';
import { weightsByCode } from '../log/interactions.ts';
import type { LiveBaskets } from '../models/baskets.ts';
import { type LiveRows, stepWeight } from '../models/covisitation.ts';
import { type LivePopularity, popularityOf } from '../models/popularity.ts';
import { openLiveBaskets } from './live-baskets.ts';
import type { LiveSession, Step } from './live-sessions.ts';

const raise = <K>(counters: Map<K, number>, key: K, amount: number): void => {
  counters.set(key, (counters.get(key) ?? 0) + amount);
};

const rowIn = <K>(rows: Map<K, Map<number, number>>, key: K): Map<number, number> => {
  let row = rows.get(key);
  if (row === undefined) {
    row = new Map();
    rows.set(key, row);
  }
  return row;
};

export interface LiveCounters {
  popularity: LivePopularity;
  covisits: LiveRows;
  baskets: LiveBaskets;
  /** Counts the last of the session's steps. */
  count(session: LiveSession, country: number): void;
}

export function openLiveCounters(base: EngineBase): LiveCounters {
  const { knobs } = base;
  const worth = weightsByCode(knobs.kinds);
  const { origin } = base.popularity;
  const popular = new Map<number, number>();
  let greatest = 0;
  const short = new Map<number, number>();
  const long = new Map<number, number>();
  const inCountry = new Map<number, Map<number, number>>();
  const covisits = new Map<number, Map<number, number>>();
  const baskets = openLiveBaskets(base);

  const countPopularity = ({ item, kind, time }: Step, country: number): void => {
    const weight = worth[kind]!;
    const amount = popularityOf(weight, time, origin, knobs.popularity.halfLife);
    raise(popular, item, amount);
    greatest = Math.max(greatest, popular.get(item)! + (base.popularity.popular[item] ?? 0));
    raise(short, item, popularityOf(weight, time, origin, knobs.popularity.short));
    raise(long, item, popularityOf(weight, time, origin, knobs.popularity.long));
    if (country > 0 && weight > 0) raise(rowIn(inCountry, country), item, amount);
  };

  const countCovisits = (steps: readonly Step[]): void => {
    const { item, kind, time } = steps.at(-1)!;
    for (let distance = 1; distance <= knobs.covisitation.reach; distance++) {
      const source = steps[steps.length - 1 - distance]?.item;
      if (source === undefined) return;
      if (source === item) continue;
      raise(
        rowIn(covisits, source),
        item,
        stepWeight({ knobs: knobs.covisitation, distance, weight: worth[kind]!, time, origin }),
      );
    }
  };

  return {
    popularity: {
      touched: () => popular.keys(),
      greatest: () => greatest,
      popular: (item) => popular.get(item) ?? 0,
      short: (item) => short.get(item) ?? 0,
      long: (item) => long.get(item) ?? 0,
      inCountry: (country) => inCountry.get(country),
    },
    covisits: { rowOf: (item) => covisits.get(item) },
    baskets,
    count(session, country) {
      countPopularity(session.steps.at(-1)!, country);
      countCovisits(session.steps);
      baskets.add(session);
    },
  };
}
