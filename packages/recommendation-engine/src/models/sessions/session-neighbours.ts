/**
 * `session`: the current session is compared with past sessions that share an item, the nearest ones vote (VMIS-kNN /
 * V-STAN family). Newer items of the query weigh more, votes fade with the distance from the shared item, rare items
 * weigh more.
 */
import type { ScoreBoard } from '../../structures/score-board.ts';
import { selectGreatest } from '../../structures/top-k.ts';
import type { Context } from '../context.ts';
import { MAX_RECENT } from '../context.ts';
import type { Model } from '../model.ts';
import { type LiveSessions, MAX_SESSION_ITEMS, type SessionIndex } from './session-index.ts';
import { type SessionKnobs, sessionWeights } from './session-weights.ts';

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
  const { lengthWeight, ageWeight, voteFade, queryFade, rarity, lift } = sessionWeights(knobs);
  const length = Math.min(knobs.length, MAX_RECENT);

  const past = openNotes(index.count);
  for (let s = 0; s < index.count; s++) {
    const size = offsets[s + 1]! - offsets[s]!;
    past.floats[s * WORDS + WEIGHT] = lengthWeight[size]! * ageWeight(index.ages[s]!);
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
      const weight = queryFade[d]! * (known ? rarity(idf[item]!) : 1);
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
        if (item < index.itemCount) board.values[item]! *= lift(idf[item]!);
      }
    },
  };
}
