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

/**
 * What is read and noted of a session, side by side: sessions are met at random, and each visit to another place of the memory
 * takes longer than what is computed there. A note is its similarity to the query (0 outside of a request), its own weight, where
 * its items begin, then in bytes the place of the match, how long ago in the query that was, and how many items it has.
 */
interface Notes {
  floats: Float32Array;
  ints: Int32Array;
  bytes: Uint8Array;
}
const WORDS = 4;
const [WEIGHT, START] = [1, 2];
const BYTES = 4 * WORDS;
const [POSITION, DISTANCE, SIZE] = [12, 13, 14];

function openNotes(sessions: number): Notes {
  const memory = new ArrayBuffer(sessions * BYTES);
  return { floats: new Float32Array(memory), ints: new Int32Array(memory), bytes: new Uint8Array(memory) };
}

export function openSessionNeighbours(input: {
  index: SessionIndex;
  knobs: SessionKnobs;
  live?: LiveSessions;
}): Model {
  const { index, knobs, live } = input;
  const { offsets, items, postingOffsets, postingSessions, postingPositions, idf } = index;
  const length = Math.min(knobs.length, MAX_RECENT);
  const lengthWeight = Float32Array.from({ length: MAX_SESSION_ITEMS + 1 }, (_, n) =>
    n === 0 ? 0 : 1 / n ** knobs.lengthPower,
  );
  const voteFade = Float32Array.from({ length: 2 * MAX_SESSION_ITEMS + 1 }, (_, i) => {
    const distance = i - MAX_SESSION_ITEMS;
    const fade = knobs.matchDecay > 0 ? Math.exp(-Math.abs(distance) / knobs.matchDecay) : 1;
    // never zero: a board takes zero for "no score"
    return Math.max(1e-9, distance > 0 ? fade : fade * knobs.backward);
  });
  const queryFade = Float32Array.from({ length: MAX_RECENT }, (_, d) => Math.exp(-d / knobs.itemDecay));

  const past = openNotes(index.count);
  for (let s = 0; s < index.count; s++) {
    const age = knobs.recency > 0 ? Math.exp(-index.ages[s]! / knobs.recency) : 1;
    const size = offsets[s + 1]! - offsets[s]!;
    past.floats[s * WORDS + WEIGHT] = lengthWeight[size]! * Math.max(age, 1e-6);
    past.ints[s * WORDS + START] = offsets[s]!;
    past.bytes[s * BYTES + SIZE] = size;
  }
  /** Of live sessions, by their own numbers. */
  let fresh = openNotes(0);
  const found = new Int32Array(MAX_RECENT * knobs.sample);
  const strengths = new Float32Array(found.length);
  const voters = new Int32Array(found.length);

  /** Finds past sessions that share an item; returns how many. */
  const find = (context: Context): number => {
    let count = 0;
    const lookups = Math.min(length, context.recentCount);
    for (let d = 0; d < lookups; d++) {
      const item = context.recent[d]!;
      const known = item < index.itemCount;
      const weight = queryFade[d]! * (knobs.rareMatch > 0 && known ? 0.1 + idf[item]! : 1);
      let room = knobs.sample;
      const newest = live?.withItem(item);
      for (let i = newest === undefined ? -1 : newest.length - 1; i >= 0 && room > 0; i--, room--) {
        const number = newest![i]!;
        if (number === context.ownSession) continue;
        if (fresh.floats[number * WORDS] === 0) {
          found[count++] = index.count + number;
          fresh.bytes[number * BYTES + POSITION] = live!.itemsOf(number).indexOf(item);
          fresh.bytes[number * BYTES + DISTANCE] = d;
        }
        fresh.floats[number * WORDS]! += weight;
      }
      if (!known) continue;
      const { floats, bytes } = past;
      const from = postingOffsets[item]!;
      const to = Math.min(postingOffsets[item + 1]!, from + room);
      for (let p = from; p < to; p++) {
        const session = postingSessions[p]!;
        const before = floats[session * WORDS]!;
        if (before === 0) {
          found[count++] = session;
          bytes[session * BYTES + POSITION] = postingPositions[p]!;
          bytes[session * BYTES + DISTANCE] = d;
        }
        floats[session * WORDS] = before + weight;
      }
    }
    return count;
  };

  /** How much a found session's vote counts; its similarity is taken back for the next request. */
  const takeStrength = (session: number): number => {
    const isPast = session < index.count;
    const { floats } = isPast ? past : fresh;
    const at = (isPast ? session : session - index.count) * WORDS;
    const similarity = floats[at]!;
    floats[at] = 0;
    return (
      similarity *
      (isPast ? floats[at + WEIGHT]! : lengthWeight[live!.itemsOf(session - index.count).length]!)
    );
  };

  const vote = (session: number, strength: number, board: ScoreBoard): void => {
    if (session < index.count) {
      const { ints, bytes } = past;
      const at = session * BYTES;
      const from = ints[session * WORDS + START]!;
      const size = bytes[at + SIZE]!;
      const shift = MAX_SESSION_ITEMS - bytes[at + POSITION]!;
      const share = strength * queryFade[bytes[at + DISTANCE]!]!;
      for (let i = 0; i < size; i++) board.add(items[from + i]!, share * voteFade[i + shift]!);
      return;
    }
    const number = session - index.count;
    const own = live!.itemsOf(number);
    const shift = MAX_SESSION_ITEMS - fresh.bytes[number * BYTES + POSITION]!;
    const share = strength * queryFade[fresh.bytes[number * BYTES + DISTANCE]!]!;
    for (let i = 0; i < own.length; i++) board.add(own[i]!, share * voteFade[i + shift]!);
  };

  return {
    algorithm: 'session',
    score(context, board) {
      if (live !== undefined && live.count * WORDS > fresh.floats.length)
        fresh = openNotes(Math.ceil(live.count * 1.25));
      const count = find(context);
      for (let i = 0; i < count; i++) {
        strengths[i] = takeStrength(found[i]!);
        voters[i] = i;
      }
      const most = Math.min(count, knobs.neighbours);
      if (most < count) selectGreatest(voters, count, most, strengths);
      for (let i = 0; i < most; i++) vote(found[voters[i]!]!, strengths[voters[i]!]!, board);
      if (knobs.rareItem === 0) return;
      for (let i = 0; i < board.count; i++) {
        const item = board.touched[i]!;
        board.values[item]! *= 1 + knobs.rareItem * (item < index.itemCount ? idf[item]! : 0);
      }
    },
  };
}
