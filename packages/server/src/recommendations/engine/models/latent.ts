/**
 * `latent`: taste beyond co-occurrence. A visitor's vector is folded in at request time from the visitor's items (nothing is
 * stored per visitor, a new interaction counts at once); EASE adds up its dense rows.
 */

import type { ScoreBoard } from '../structures/score-board.ts';
import type { Context } from './context.ts';
import type { Factors } from './implicit-factors.ts';
import type { ItemWeights } from './item-weights.ts';
import type { Model } from './model.ts';

/** Steps for a visitor's vector. On online-retail (192 dimensions, 49 items each) 99 of 100 first items are those of the exact one. */
const STEPS = 3;
/** Multiply-adds that one answer may spend on walking the whole catalog (about half a millisecond). */
const FULL_SCAN = 1_000_000;

/** Scores on their natural scale, about 0..1, negative ones included. */
export interface TasteModel {
  /** Gets ready for a context; false when nothing is known. */
  prepare(context: Context): boolean;
  scoreOf(item: number): number;
  /** Whether walking the whole catalog is cheap enough. */
  readonly scansAll: boolean;
  readonly itemCount: number;
}

/** Row times vector. Four sums, because one would make each addition wait for the last; dimensions are multiples of 16. */
function dot(rows: Float32Array, from: number, vector: Float64Array): number {
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  for (let i = 0; i < vector.length; i += 4) {
    a += rows[from + i]! * vector[i]!;
    b += rows[from + i + 1]! * vector[i + 1]!;
    c += rows[from + i + 2]! * vector[i + 2]!;
    d += rows[from + i + 3]! * vector[i + 3]!;
  }
  return a + b + (c + d);
}

/**
 * A visitor's vector x solves (spread + ridge I + sum of the history's v vT) x = sum of the history's v: conjugate gradients in
 * which the diagonal part, the same for everybody, is solved at once. What the history adds is found in a few steps.
 */
export function openFactors(factors: Factors): TasteModel {
  const { dimensions, items, spread, itemCount } = factors;
  const vector = new Float64Array(dimensions);
  const residual = new Float64Array(dimensions);
  const direction = new Float64Array(dimensions);
  const image = new Float64Array(dimensions);
  const diagonal = new Float64Array(dimensions);

  const apply = (context: Context): void => {
    for (let i = 0; i < dimensions; i++) image[i] = diagonal[i]! * direction[i]!;
    for (let h = 0; h < context.historyCount; h++) {
      if (context.history[h]! >= itemCount) continue;
      const line = context.history[h]! * dimensions;
      const fit = dot(items, line, direction);
      for (let i = 0; i < dimensions; i++) image[i]! += fit * items[line + i]!;
    }
  };

  return {
    itemCount,
    scansAll: itemCount * dimensions <= FULL_SCAN,
    prepare(context) {
      vector.fill(0);
      residual.fill(0);
      let known = 0;
      for (let h = 0; h < context.historyCount; h++) {
        if (context.history[h]! >= itemCount) continue;
        const line = context.history[h]! * dimensions;
        for (let i = 0; i < dimensions; i++) residual[i]! += items[line + i]!;
        known++;
      }
      const ridge = factors.regularisation * (known + factors.unobserved * itemCount);
      let error = 0;
      for (let i = 0; i < dimensions; i++) {
        diagonal[i] = spread[i]! + ridge;
        direction[i] = residual[i]! / diagonal[i]!;
        error += residual[i]! * direction[i]!;
      }
      const enough = error * 1e-6;
      if (!(error > 0)) return false;
      for (let step = 0; step < STEPS && error > enough; step++) {
        apply(context);
        let curvature = 0;
        for (let i = 0; i < dimensions; i++) curvature += direction[i]! * image[i]!;
        const stride = error / curvature;
        let next = 0;
        for (let i = 0; i < dimensions; i++) {
          vector[i]! += stride * direction[i]!;
          const left = residual[i]! - stride * image[i]!;
          residual[i] = left;
          next += (left * left) / diagonal[i]!;
        }
        const turn = next / error;
        for (let i = 0; i < dimensions; i++)
          direction[i] = residual[i]! / diagonal[i]! + turn * direction[i]!;
        error = next;
      }
      return true;
    },
    scoreOf(item) {
      return item < itemCount ? dot(items, item * dimensions, vector) : 0;
    },
  };
}

export function openItemWeights(model: ItemWeights): TasteModel {
  const { itemCount, weights } = model;
  const known = new Int32Array(1024);
  let count = 0;
  let all = false;
  const sums = new Float32Array(itemCount);
  return {
    itemCount,
    scansAll: true,
    prepare(context) {
      count = 0;
      for (let h = 0; h < context.historyCount; h++) {
        if (context.history[h]! < itemCount) known[count++] = context.history[h]!;
      }
      // whole rows at once are read in order of memory: far cheaper than column by column
      all = context.candidates === null;
      if (all) {
        sums.fill(0);
        for (let h = 0; h < count; h++) {
          const line = known[h]! * itemCount;
          for (let item = 0; item < itemCount; item++) sums[item]! += weights[line + item]!;
        }
      }
      return count > 0;
    },
    scoreOf(item) {
      if (item >= itemCount) return 0;
      if (all) return sums[item]!;
      let sum = 0;
      for (let h = 0; h < count; h++) sum += weights[known[h]! * itemCount + item]!;
      return sum;
    },
  };
}

/** A board takes positive numbers only: above zero as it is, below it squeezed into a crumb that keeps the order. */
const CRUMB = 1e-4;
export const positive = (score: number): number => (score > 0 ? CRUMB + score : CRUMB * Math.exp(score));

/** Puts a taste model's scores on a board: for the candidates, the whole catalog, or what `nearby` finds. */
export function scoreTaste(input: {
  taste: TasteModel;
  context: Context;
  board: ScoreBoard;
  nearby: (context: Context, board: ScoreBoard) => void;
}): void {
  const { taste, context, board, nearby } = input;
  if (!taste.prepare(context)) return;
  if (context.candidates !== null) {
    for (let i = 0; i < context.candidateCount; i++) {
      const item = context.candidates[i]!;
      if (board.values[item] === 0) board.add(item, positive(taste.scoreOf(item)));
    }
  } else if (taste.scansAll) {
    for (let item = 0; item < taste.itemCount; item++) board.add(item, positive(taste.scoreOf(item)));
  } else {
    nearby(context, board);
    for (let i = 0; i < board.count; i++) {
      const item = board.touched[i]!;
      board.values[item] = positive(taste.scoreOf(item));
    }
  }
}

/** The public algorithm: EASE where the catalog is small enough to have it and it did better, iALS otherwise. */
export function openLatent(input: {
  taste: TasteModel;
  nearby: (context: Context, board: ScoreBoard) => void;
}): Model {
  return {
    algorithm: 'latent',
    score: (context, board) => scoreTaste({ ...input, context, board }),
  };
}
