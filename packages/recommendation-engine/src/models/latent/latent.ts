/**
 * `latent`: taste beyond co-occurrence. A visitor's vector is folded in at request time from the visitor's items (nothing is
 * stored per visitor, a new interaction counts at once); EASE adds up its dense rows.
 */
import { openWorkspace } from '../../algebra/kernels.ts';
import type { ScoreBoard } from '../../structures/score-board.ts';
import { type Context, MAX_HISTORY } from '../context.ts';
import type { Model } from '../model.ts';
import type { Factors } from './implicit-factors.ts';
import type { ItemWeights } from './item-weights.ts';

/** Steps for a visitor's vector. On online-retail (192 dimensions, 49 items each) 99 of 100 first items are those of the exact one. */
const STEPS = 3;
/** Multiply-adds that one answer may spend on walking the whole catalog (about half a millisecond). */
const FULL_SCAN = 1_000_000;

/** Items whose scores are asked for at once, at most; a history is no longer (`MAX_HISTORY`). */
export const BATCH = 1024;

/** What a workspace needs beside its arrays: each begins at a multiple of 64 bytes. */
const SLACK = 1024;

/** Scores on their natural scale, about 0..1, negative ones included. */
export interface TasteModel {
  /** Gets ready for a context; false when nothing is known. */
  prepare(context: Context): boolean;
  /** Of `items[from]` and those behind it, as many as `count`; good until the next call. */
  scoresOf(items: Int32Array, from: number, count: number): Float32Array;
  /** Whether walking the whole catalog is cheap enough. */
  readonly scansAll: boolean;
  readonly itemCount: number;
}

/**
 * A visitor's vector x solves (spread + ridge I + sum of the history's v vT) x = sum of the history's v: conjugate gradients in
 * which the diagonal part, the same for everybody, is solved at once. What the history adds is found in a few steps.
 */
export function openFactors(factors: Factors): TasteModel {
  const { dimensions, spread, itemCount } = factors;
  // Vector instructions reach one memory only, so the rows are copied there once. (Customers of online-retail, 142 items each: an answer
  // takes 36 us, with loops of JavaScript 112.)
  const rows = itemCount + 1;
  const space = openWorkspace(4 * (rows * dimensions + 4 * dimensions + 2 * BATCH) + SLACK);
  const { kernels } = space;
  const items = space.floats(rows * dimensions);
  items.set(factors.items);
  /** Items that came later have a row of nothing. */
  const unknown = itemCount;
  const vector = space.floats(dimensions);
  const residual = space.floats(dimensions);
  const direction = space.floats(dimensions);
  const image = space.floats(dimensions);
  const listed = space.ints(BATCH);
  const scores = space.floats(BATCH);
  const diagonal = new Float64Array(dimensions);

  const list = (from: Int32Array, first: number, count: number): void => {
    for (let i = 0; i < count; i++) {
      const item = from[first + i]!;
      listed[i] = item < itemCount ? item : unknown;
    }
  };

  const apply = (count: number): void => {
    for (let i = 0; i < dimensions; i++) image[i] = diagonal[i]! * direction[i]!;
    kernels.multiplyListed(
      listed.byteOffset,
      count,
      items.byteOffset,
      dimensions,
      direction.byteOffset,
      image.byteOffset,
    );
  };

  return {
    itemCount,
    scansAll: itemCount * dimensions <= FULL_SCAN,
    prepare({ history, historyCount }) {
      vector.fill(0);
      residual.fill(0);
      list(history, 0, historyCount);
      let known = 0;
      for (let h = 0; h < historyCount; h++) if (listed[h] !== unknown) known++;
      kernels.addListed(listed.byteOffset, historyCount, items.byteOffset, dimensions, residual.byteOffset);
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
        apply(historyCount);
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
    scoresOf(asked, from, count) {
      list(asked, from, count);
      kernels.multiplyRows(
        listed.byteOffset,
        count,
        items.byteOffset,
        dimensions,
        vector.byteOffset,
        scores.byteOffset,
      );
      return scores;
    },
  };
}

export function openItemWeights(model: ItemWeights): TasteModel {
  const { itemCount, weights } = model;
  const known = new Int32Array(MAX_HISTORY);
  let count = 0;
  let all = false;
  const sums = new Float32Array(itemCount);
  const scores = new Float32Array(BATCH);

  const scoreOf = (item: number): number => {
    if (item >= itemCount) return 0;
    if (all) return sums[item]!;
    let sum = 0;
    for (let h = 0; h < count; h++) sum += weights[known[h]! * itemCount + item]!;
    return sum;
  };

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
    scoresOf(items, from, length) {
      for (let i = 0; i < length; i++) scores[i] = scoreOf(items[from + i]!);
      return scores;
    },
  };
}

/** A board takes positive numbers only: above zero as it is, below it squeezed into a crumb that keeps the order. */
const CRUMB = 1e-4;
export const positive = (score: number): number => (score > 0 ? CRUMB + score : CRUMB / (1 - score));

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
    putScores(taste, context.candidates, context.candidateCount, board);
  } else if (taste.scansAll) {
    putScores(taste, everyItem(taste.itemCount), taste.itemCount, board);
  } else {
    nearby(context, board);
    putScores(taste, board.touched, board.count, board);
  }
}

/** What was on the board of these items before does not count. */
function putScores(taste: TasteModel, items: Int32Array, count: number, board: ScoreBoard): void {
  for (let from = 0; from < count; from += BATCH) {
    const length = Math.min(BATCH, count - from);
    const scores = taste.scoresOf(items, from, length);
    for (let i = 0; i < length; i++) board.put(items[from + i]!, positive(scores[i]!));
  }
}

let numbers = new Int32Array(0);
/** 0, 1, 2... up to some number of items at least. */
function everyItem(count: number): Int32Array {
  if (numbers.length < count) numbers = Int32Array.from({ length: count }, (_, item) => item);
  return numbers;
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
