/** What a model is: something that, for one request's context, puts scores on a board. */
import type { ScoreBoard } from '../structures/score-board.ts';
import type { Context } from './context.ts';

export const ALGORITHMS = [
  'auto',
  'session',
  'related',
  'bought-together',
  'similar',
  'latent',
  'popular',
  'trending',
  'new',
  'recently-viewed',
] as const;
export type Algorithm = (typeof ALGORITHMS)[number];

export interface Model {
  readonly algorithm: Algorithm;
  /** Adds positive scores to an empty board. Allocates nothing. */
  score(context: Context, board: ScoreBoard): void;
}
