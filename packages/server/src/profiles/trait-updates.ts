/** What became known of persons, put in order before it is written. Pure. */
import type { TraitChange } from './store/traits.ts';
import { traitsOf } from './traits.ts';

/** What became known of a person. */
export interface Knowledge {
  systemId: number;
  /** As in a signal's `profileAttributes`; the permissions among them become opt-ins. */
  attributes: Record<string, unknown>;
  /** When it was said, in epoch milliseconds. */
  at: number;
}

/** What a person says within so long is one word: nothing that is known already comes between. */
const ONE_WORD_MS = 60_000;

/**
 * What to write in turn, one change for a person in each round, the oldest in the first: between what a closed tab left behind and
 * what is said now there may lie what is known already.
 */
export function roundsOf(knowledge: readonly Knowledge[]): TraitChange[][] {
  const told = knowledge
    .map(({ systemId, attributes, at }) => ({ systemId, at, ...traitsOf(attributes) }))
    .filter(({ attributes, optIns }) => Object.keys(attributes).length + Object.keys(optIns).length > 0)
    .sort(byTime);
  const rounds: TraitChange[][] = [];
  const last = new Map<number, { round: number; at: number }>();
  for (const change of told) {
    const before = last.get(change.systemId);
    const isSameWord = before !== undefined && change.at - before.at <= ONE_WORD_MS;
    const round = before === undefined ? 0 : before.round + (isSameWord ? 0 : 1);
    last.set(change.systemId, { round, at: change.at });
    if (round === rounds.length) rounds.push([]);
    rounds[round]!.push(change);
  }
  return rounds.map(joinedByPerson);
}

/** One change for each person: what was said later wins. By number: whoever changes several locks them in this order. */
export function joinedByPerson(given: readonly TraitChange[]): TraitChange[] {
  const changes = new Map<number, TraitChange>();
  for (const { systemId, attributes, optIns, at } of given.toSorted(byTime)) {
    const earlier = changes.get(systemId);
    changes.set(systemId, {
      systemId,
      attributes: { ...earlier?.attributes, ...attributes },
      optIns: { ...earlier?.optIns, ...optIns },
      at,
    });
  }
  return [...changes.values()].sort((a, b) => a.systemId - b.systemId);
}

const byTime = (a: TraitChange, b: TraitChange) => a.at - b.at;
