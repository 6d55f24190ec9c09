/** Held-out cases put to a model: at which rank does it have what really came next? */
import { type Context, createContext, loadContext } from '../models/context.ts';
import type { Model } from '../models/model.ts';
import { ScoreBoard } from '../structures/score-board.ts';
import type { Case } from './hold-out.ts';

export interface Quality {
  hitRate: number;
  reciprocalRank: number;
  gain: number;
}

export interface Replay {
  /** Fills the replay's context from a case. */
  load(held: Case): Context;
  /** Ranks counted from 0; -1 = not found at all. */
  rank(model: Model, held: Case): number;
  measure(model: Model, cases: readonly Case[], at: number): Quality;
}

/** Hit rate, mean reciprocal rank and mean gain of ranks counted from 0; one beyond `at`, or -1, is worth nothing. */
export function qualityOf(ranks: readonly number[], at: number): Quality {
  let hits = 0;
  let reciprocal = 0;
  let gain = 0;
  for (const rank of ranks) {
    if (rank < 0 || rank >= at) continue;
    hits++;
    reciprocal += 1 / (rank + 1);
    gain += 1 / Math.log2(rank + 2);
  }
  const n = Math.max(1, ranks.length);
  return { hitRate: hits / n, reciprocalRank: reciprocal / n, gain: gain / n };
}

export function openReplay(itemCount: number): Replay {
  const context = createContext();
  const board = new ScoreBoard(itemCount);
  let exclude: ReadonlySet<number> | null = null;
  context.accepts = (item) => exclude === null || !exclude.has(item);
  context.wanted = 100;

  const load = (held: Case): Context => {
    loadContext({ context, session: held.session, history: held.history });
    exclude = held.exclude;
    context.selective = exclude !== null && exclude.size > 8;
    context.candidates = held.candidates;
    context.candidateCount = held.candidates?.length ?? 0;
    return context;
  };

  const rank = (model: Model, held: Case): number => {
    model.score(load(held), board);
    const score = board.values[held.next]!;
    let better = 0;
    if (held.candidates !== null) {
      for (const item of held.candidates) {
        const other = board.values[item]!;
        if (other > score || (other === score && item < held.next)) better++;
      }
    } else if (score > 0) {
      for (let i = 0; i < board.count; i++) {
        const item = board.touched[i]!;
        const other = board.values[item]!;
        if ((other > score || (other === score && item < held.next)) && context.accepts(item)) better++;
      }
    }
    board.clear();
    return score === 0 && held.candidates === null ? -1 : better;
  };

  return {
    load,
    rank,
    measure: (model, cases, at) =>
      qualityOf(
        cases.map((held) => rank(model, held)),
        at,
      ),
  };
}
