/**
 * `session`: the current session is compared with past sessions that share an item, the nearest ones vote (VMIS-kNN /
 * V-STAN family). Newer items of the query weigh more, votes fade with the distance from the shared item, rare items
 * weigh more.
 */

import type { ScoreBoard } from '../structures/score-board.ts';
import { selectGreatest } from '../structures/top-k.ts';
import type { Context } from './context.ts';
import { MAX_RECENT } from './context.ts';
import type { Model } from './model.ts';
import { MAX_SESSION_ITEMS, type SessionIndex } from './session-index.ts';

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

/** Sessions that are not in the index yet; numbered from `index.count` on. */
export interface LiveSessions {
  readonly count: number;
  /** Live session numbers (from 0) that have the item, oldest first; undefined = none. */
  withItem(item: number): readonly number[] | undefined;
  /** Distinct items of a live session in the order of their last occurrence, the last {@link MAX_SESSION_ITEMS}. */
  itemsOf(session: number): readonly number[];
}

export function openSessionNeighbours(input: {
  index: SessionIndex;
  knobs: SessionKnobs;
  live?: LiveSessions;
}): Model {
  const { index, knobs, live } = input;
  const { offsets, items, positions, postingOffsets, postingSessions, postingPositions, idf } = index;
  const length = Math.min(knobs.length, MAX_RECENT);
  const lengthWeight = Float32Array.from({ length: MAX_SESSION_ITEMS + 1 }, (_, n) =>
    n === 0 ? 0 : 1 / n ** knobs.lengthPower,
  );
  const sessionWeight = new Float32Array(index.count);
  for (let s = 0; s < index.count; s++) {
    const age = knobs.recency > 0 ? Math.exp(-index.ages[s]! / knobs.recency) : 1;
    sessionWeight[s] = lengthWeight[offsets[s + 1]! - offsets[s]!]! * Math.max(age, 1e-6);
  }
  const voteFade = Float32Array.from({ length: 2 * MAX_SESSION_ITEMS + 1 }, (_, i) => {
    const distance = i - MAX_SESSION_ITEMS;
    const fade = knobs.matchDecay > 0 ? Math.exp(-Math.abs(distance) / knobs.matchDecay) : 1;
    // never zero: a board takes zero for "no score"
    return Math.max(1e-9, distance > 0 ? fade : fade * knobs.backward);
  });
  const queryFade = Float32Array.from({ length: MAX_RECENT }, (_, d) => Math.exp(-d / knobs.itemDecay));

  let similarity = new Float32Array(index.count);
  let matchPosition = new Uint8Array(index.count);
  let matchDistance = new Uint8Array(index.count);
  const found = new Int32Array(MAX_RECENT * knobs.sample);

  const reserve = (sessions: number): void => {
    if (sessions <= similarity.length) return;
    const capacity = Math.ceil(sessions * 1.25);
    similarity = new Float32Array(capacity);
    matchPosition = new Uint8Array(capacity);
    matchDistance = new Uint8Array(capacity);
  };

  /** Finds past sessions that share an item; returns how many. */
  const find = (context: Context): number => {
    let count = 0;
    const lookups = Math.min(length, context.recentCount);
    for (let d = 0; d < lookups; d++) {
      const item = context.recent[d]!;
      const known = item < index.itemCount;
      const weight = queryFade[d]! * (knobs.rareMatch > 0 && known ? 0.1 + idf[item]! : 1);
      let room = knobs.sample;
      const fresh = live?.withItem(item);
      for (let i = fresh === undefined ? -1 : fresh.length - 1; i >= 0 && room > 0; i--, room--) {
        if (fresh![i] === context.ownSession) continue;
        const session = index.count + fresh![i]!;
        if (similarity[session] === 0) {
          found[count++] = session;
          matchPosition[session] = live!.itemsOf(fresh![i]!).indexOf(item);
          matchDistance[session] = d;
        }
        similarity[session]! += weight;
      }
      if (!known) continue;
      const from = postingOffsets[item]!;
      const to = Math.min(postingOffsets[item + 1]!, from + room);
      for (let p = from; p < to; p++) {
        const session = postingSessions[p]!;
        const before = similarity[session]!;
        if (before === 0) {
          found[count++] = session;
          matchPosition[session] = postingPositions[p]!;
          matchDistance[session] = d;
        }
        similarity[session] = before + weight;
      }
    }
    return count;
  };

  const vote = (session: number, strength: number, board: ScoreBoard): void => {
    const shift = MAX_SESSION_ITEMS - matchPosition[session]!;
    if (session < index.count) {
      const to = offsets[session + 1]!;
      for (let i = offsets[session]!; i < to; i++) {
        board.add(items[i]!, strength * voteFade[positions[i]! + shift]!);
      }
      return;
    }
    const fresh = live!.itemsOf(session - index.count);
    for (let i = 0; i < fresh.length; i++) {
      board.add(fresh[i]!, strength * voteFade[i + shift]!);
    }
  };

  return {
    algorithm: 'session',
    score(context, board) {
      if (live !== undefined) reserve(index.count + live.count);
      const count = find(context);
      for (let i = 0; i < count; i++) {
        const session = found[i]!;
        similarity[session]! *=
          session < index.count
            ? sessionWeight[session]!
            : lengthWeight[live!.itemsOf(session - index.count).length]!;
      }
      const voters = Math.min(count, knobs.neighbours);
      if (voters < count) selectGreatest(found, count, voters, similarity);
      for (let i = 0; i < voters; i++) {
        const session = found[i]!;
        vote(session, similarity[session]! * queryFade[matchDistance[session]!]!, board);
      }
      for (let i = 0; i < count; i++) similarity[found[i]!] = 0;
      if (knobs.rareItem === 0) return;
      for (let i = 0; i < board.count; i++) {
        const item = board.touched[i]!;
        board.values[item]! *= 1 + knobs.rareItem * (item < index.itemCount ? idf[item]! : 0);
      }
    },
  };
}
