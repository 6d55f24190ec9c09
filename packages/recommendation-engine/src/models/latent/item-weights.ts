/**
 * `latent`, small catalogs: EASE, the closed-form linear autoencoder. One dense inverse of items x items; blocked
 * Gauss-Jordan on float32 tiles, about 10^10 multiply-adds a second, so 3,700 items take some seconds.
 */
import { openWorkspace, type Workspace } from '../../algebra/kernels.ts';
import type { Histories } from '../../log/histories.ts';
import { sharedFloat32 } from '../../structures/shared-array.ts';

export interface ItemWeightKnobs {
  ridge: number;
}

/** Time grows with the third power and memory with the second: 5,000 items are 100 MB. */
export const MAX_ITEMS = 5000;

export interface ItemWeights {
  itemCount: number;
  /** Row j: what having j says for every other item. */
  weights: Float32Array;
}

const BLOCK = 32;

export function trainItemWeights(input: {
  histories: Histories;
  knobs: ItemWeightKnobs;
  onBlock?: (done: number, total: number) => void;
  signal?: AbortSignal | undefined;
}): ItemWeights {
  const { histories, knobs, onBlock, signal } = input;
  const { itemCount } = histories;
  const side = Math.ceil(itemCount / BLOCK) * BLOCK;
  const space = openWorkspace(4 * (side * side + 2 * side * BLOCK) + 65_536);
  const matrix = space.floats(side * side);
  countPairs(histories, matrix, side);
  for (let i = 0; i < side; i++) matrix[i * side + i]! += knobs.ridge;
  invert({ space, matrix, side, onBlock, signal });
  const weights = sharedFloat32(itemCount * itemCount);
  for (let column = 0; column < itemCount; column++) {
    const pivot = matrix[column * side + column]!;
    for (let row = 0; row < itemCount; row++) {
      weights[row * itemCount + column] = row === column ? 0 : -matrix[row * side + column]! / pivot;
    }
  }
  return { itemCount, weights };
}

function countPairs(histories: Histories, matrix: Float32Array, side: number): void {
  const { offsets, items } = histories;
  for (let row = 0; row < histories.count; row++) {
    const to = offsets[row + 1]!;
    for (let i = offsets[row]!; i < to; i++) {
      const line = items[i]! * side;
      for (let j = offsets[row]!; j < to; j++) matrix[line + items[j]!]!++;
    }
  }
}

/** Inverts a symmetric positive definite matrix in place. */
function invert(input: {
  space: Workspace;
  matrix: Float32Array;
  side: number;
  onBlock: ((done: number, total: number) => void) | undefined;
  signal: AbortSignal | undefined;
}): void {
  const { space, matrix, side, onBlock, signal } = input;
  const columns = space.floats(side * BLOCK);
  const pivotRows = space.floats(side * BLOCK);
  const pivot = new Float64Array(BLOCK * BLOCK);
  const line = (row: number): number => row * side;
  for (let k = 0; k < side; k += BLOCK) {
    signal?.throwIfAborted();
    for (let i = 0; i < BLOCK; i++) {
      for (let j = 0; j < BLOCK; j++) pivot[i * BLOCK + j] = matrix[line(k + i) + k + j]!;
    }
    invertSmall(pivot, BLOCK);
    for (let row = 0; row < side; row++) {
      for (let j = 0; j < BLOCK; j++) {
        columns[row * BLOCK + j] = matrix[line(row) + k + j]!;
        matrix[line(row) + k + j] = row - k === j ? 1 : 0;
      }
    }
    // rows of the pivot block times the block's inverse (negated twice: the kernel subtracts)
    pivotRows.fill(0);
    for (let i = 0; i < BLOCK; i++) {
      for (let m = 0; m < BLOCK; m++) {
        const factor = pivot[i * BLOCK + m]!;
        const from = line(k + m);
        const to = i * side;
        for (let j = 0; j < side; j++) pivotRows[to + j]! += factor * matrix[from + j]!;
      }
    }
    for (const [from, to] of [
      [0, k],
      [k + BLOCK, side],
    ] as const) {
      space.kernels.subtractProduct(
        columns.byteOffset + from * BLOCK * 4,
        BLOCK,
        pivotRows.byteOffset,
        matrix.byteOffset + line(from) * 4,
        side,
        to - from,
        side,
        BLOCK,
      );
    }
    matrix.set(pivotRows.subarray(0, BLOCK * side), line(k));
    onBlock?.(k / BLOCK + 1, side / BLOCK);
  }
}

/** Gauss-Jordan in double precision, no pivoting: the matrix is positive definite. */
function invertSmall(matrix: Float64Array, side: number): void {
  for (let k = 0; k < side; k++) {
    const scale = 1 / matrix[k * side + k]!;
    matrix[k * side + k] = 1;
    for (let j = 0; j < side; j++) matrix[k * side + j]! *= scale;
    for (let i = 0; i < side; i++) {
      if (i === k) continue;
      const factor = matrix[i * side + k]!;
      matrix[i * side + k] = 0;
      for (let j = 0; j < side; j++) matrix[i * side + j]! -= factor * matrix[k * side + j]!;
    }
  }
}
