/**
 * What a past session and its items weigh for an item that it shares with the running one: the same whether neighbours are asked
 * (session-neighbours.ts) or their votes are counted ahead (session-votes.ts).
 */
import { MAX_RECENT } from '../context.ts';
import { MAX_SESSION_ITEMS } from './session-index.ts';

export interface SessionKnobs {
  /** Items of the current session that are looked up. */
  length: number;
  /** Past sessions looked at per item, newest first. */
  sample: number;
  /** Sessions that vote. */
  neighbours: number;
  /** Weight of the d-th newest query item: e^(-d / itemDecay). */
  itemDecay: number;
  /** 1 = a query item weighs by its rarity (idf) in the similarity. */
  rareMatch: number;
  /** Similarity is divided by (distinct items)^lengthPower. */
  lengthPower: number;
  /** Age in hours after which a session's vote is worth 1/e; 0 = age does not matter. */
  recency: number;
  /** A vote fades by e^(-distance / matchDecay) from the shared item; 0 = it does not. */
  matchDecay: number;
  /** Factor for what stands before the shared item. */
  backward: number;
  /** A candidate's votes are multiplied by 1 + rareItem * idf. */
  rareItem: number;
}

export const DEFAULT_SESSION_KNOBS: SessionKnobs = {
  length: 10,
  sample: 500,
  neighbours: 500,
  itemDecay: 2,
  rareMatch: 1,
  lengthPower: 0.5,
  recency: 0,
  matchDecay: 4,
  backward: 0.5,
  rareItem: 0.3,
};

export interface SessionWeights {
  /** By the number of distinct items. */
  lengthWeight: Float32Array;
  ageWeight(hours: number): number;
  /** By the distance from the shared item, from {@link MAX_SESSION_ITEMS} places before it (0) to as many after it. */
  voteFade: Float32Array;
  /** By how long ago the item was met in the running session, in places. */
  queryFade: Float32Array;
  /** How much more an item counts in a query, by its rarity. */
  rarity(idf: number): number;
  /** The same for a candidate. */
  lift(idf: number): number;
}

export function sessionWeights(knobs: SessionKnobs): SessionWeights {
  const { itemDecay, rareMatch, lengthPower, recency, matchDecay, backward, rareItem } = knobs;
  return {
    lengthWeight: Float32Array.from({ length: MAX_SESSION_ITEMS + 1 }, (_, n) =>
      n === 0 ? 0 : 1 / n ** lengthPower,
    ),
    ageWeight: (hours) => (recency > 0 ? Math.max(Math.exp(-hours / recency), 1e-6) : 1),
    voteFade: Float32Array.from({ length: 2 * MAX_SESSION_ITEMS + 1 }, (_, i) => {
      const distance = i - MAX_SESSION_ITEMS;
      const fade = matchDecay > 0 ? Math.exp(-Math.abs(distance) / matchDecay) : 1;
      // never zero: a board takes zero for "no score"
      return Math.max(1e-9, distance > 0 ? fade : fade * backward);
    }),
    queryFade: Float32Array.from({ length: MAX_RECENT }, (_, d) => Math.exp(-d / itemDecay)),
    rarity: (idf) => (rareMatch > 0 ? 0.1 + idf : 1),
    lift: (idf) => 1 + rareItem * idf,
  };
}
