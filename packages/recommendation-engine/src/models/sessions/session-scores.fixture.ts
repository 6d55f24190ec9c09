/** Past sessions written as text, and what a model that looks at them says of a running one. */
import { interactionsOf, logOf } from '../../log/interaction-log.fixture.ts';
import { sessionise } from '../../log/sessions.ts';
import { ScoreBoard } from '../../structures/score-board.ts';
import { idAt, indexOfId } from '../../structures/vocabulary.ts';
import { createContext, loadContext } from '../context.ts';
import type { Model } from '../model.ts';
import { buildSessionIndex } from './session-index.ts';
import type { SessionKnobs } from './session-weights.ts';

/** Everything that would need a calculator switched off. */
export const PLAIN: SessionKnobs = {
  length: 10,
  sample: 100,
  neighbours: 100,
  itemDecay: 1 / Math.LN2,
  rareMatch: 0,
  lengthPower: 0,
  recency: 0,
  matchDecay: 0,
  backward: 1,
  rareItem: 0,
};

export function sessionsOf(text: string) {
  const log = logOf(interactionsOf(text));
  const index = buildSessionIndex(sessionise(log), log.items.count);
  const board = new ScoreBoard(log.items.count);
  const context = createContext();
  return {
    index,
    numberOf: (id: string) => indexOfId(log.items, id),
    /** Scores by item, for a query like `a b`. */
    scoresOf(model: Model, query: string, ownSession = -1): Record<string, number> {
      loadContext({ context, session: query.split(' ').map((id) => indexOfId(log.items, id)), history: [] });
      context.ownSession = ownSession;
      model.score(context, board);
      const scores = Array.from(board.touched.subarray(0, board.count), (item): [string, number] => [
        idAt(log.items, item),
        Number(board.values[item]!.toFixed(4)),
      ]);
      board.clear();
      return Object.fromEntries(scores.sort());
    },
  };
}
