/**
 * The votes of session neighbours, counted ahead: per item, what all past sessions that have it say of every other. Asked for a
 * running session, neighbours (session-neighbours.ts) say nearly the sum of that, since most share a single item with it, and the
 * sum takes a tenth of the time or less. What sets them apart: a neighbour that shares several items counts for each of them here, by its
 * place beside each, and nobody is too faint to vote. The tuner decides what serves a shop better.
 */
import { addRow, buildPartnerRows, type PartnerRows } from '../../structures/rows.ts';
import type { ScoreBoard } from '../../structures/score-board.ts';
import { MAX_RECENT } from '../context.ts';
import type { Model } from '../model.ts';
import { type LiveSessions, MAX_SESSION_ITEMS, type SessionIndex } from './session-index.ts';
import { type SessionKnobs, sessionWeights } from './session-weights.ts';

/** Candidates kept per item. (serenade-toy, `auto`: 50 lose 0.2 % of the hits, 200 gain nothing.) */
const KEEP = 100;
/** Live sessions per item that vote, the newest. */
const LIVE_SAMPLE = 100;

export function buildSessionVotes({
  index,
  knobs,
}: {
  index: SessionIndex;
  knobs: SessionKnobs;
}): PartnerRows {
  const { offsets, items, postingOffsets, postingSessions, postingPositions, idf } = index;
  const { lengthWeight, ageWeight, voteFade, lift } = sessionWeights(knobs);
  return buildPartnerRows({
    itemCount: index.itemCount,
    keep: KEEP,
    withSelf: true,
    fill(item, board) {
      const first = postingOffsets[item]!;
      const to = Math.min(postingOffsets[item + 1]!, first + knobs.sample);
      for (let p = first; p < to; p++) {
        const session = postingSessions[p]!;
        const from = offsets[session]!;
        const size = offsets[session + 1]! - from;
        const strength = lengthWeight[size]! * ageWeight(index.ages[session]!);
        const shift = MAX_SESSION_ITEMS - postingPositions[p]!;
        for (let i = 0; i < size; i++) board.add(items[from + i]!, strength * voteFade[i + shift]!);
      }
      for (let i = 0; i < board.count; i++) board.values[board.touched[i]!]! *= lift(idf[board.touched[i]!]!);
    },
  });
}

export function openSessionVotes(input: {
  votes: PartnerRows;
  index: SessionIndex;
  knobs: SessionKnobs;
  live: LiveSessions;
}): Model {
  const { votes, knobs, live } = input;
  const { idf } = input.index;
  const { lengthWeight, voteFade, queryFade, rarity, lift } = sessionWeights(knobs);
  const length = Math.min(knobs.length, MAX_RECENT);
  /** What an item counts, and how much of its row is looked at: squared, as a neighbour's similarity fades, and its votes once more. */
  const shares = queryFade.map((fade) => fade ** 2);
  const lifts = idf.map(lift);
  const liftOf = (item: number): number => (item < lifts.length ? lifts[item]! : 1);

  const addLive = (item: number, weight: number, ownSession: number, board: ScoreBoard): void => {
    const sessions = live.withItem(item);
    if (sessions === undefined) return;
    const oldest = Math.max(0, sessions.length - LIVE_SAMPLE);
    for (let s = sessions.length - 1; s >= oldest; s--) {
      if (sessions[s] === ownSession) continue;
      const items = live.itemsOf(sessions[s]!);
      const share = weight * lengthWeight[items.length]!;
      const shift = MAX_SESSION_ITEMS - items.indexOf(item);
      for (let i = 0; i < items.length; i++)
        board.add(items[i]!, share * voteFade[i + shift]! * liftOf(items[i]!));
    }
  };

  return {
    algorithm: 'session',
    score(context, board) {
      const lookups = Math.min(length, context.recentCount);
      for (let d = 0; d < lookups; d++) {
        const item = context.recent[d]!;
        const share = shares[d]!;
        const weight = share * (item < idf.length ? rarity(idf[item]!) : 1);
        addRow(votes, item, weight, board, Math.ceil(KEEP * share));
        if (live.count > 0) addLive(item, weight, context.ownSession, board);
      }
    },
  };
}
