/**
 * `latent`, larger catalogs: iALS (implicit alternating least squares; frequency-scaled regularisation). Rows are solved
 * by a few warm-started steps of conjugate gradients instead of a Cholesky factorisation: at 192 dimensions that is about
 * ten times less work per epoch and ends in the same place.
 */
import { openWorkspace, type Workspace } from '../../algebra/kernels.ts';
import { principalAxes } from '../../algebra/principal-axes.ts';
import type { Histories } from '../../log/histories.ts';
import { createRandom } from '../../structures/random.ts';
import { groupBy, sharedFloat32 } from '../../structures/shared-array.ts';

export interface FactorKnobs {
  /** A multiple of 16. */
  dimensions: number;
  epochs: number;
  /** Weight of everything that was not seen. */
  unobserved: number;
  regularisation: number;
}

export const DEFAULT_FACTOR_KNOBS: FactorKnobs = {
  dimensions: 64,
  epochs: 8,
  unobserved: 0.1,
  regularisation: 0.01,
};

export interface Factors {
  itemCount: number;
  dimensions: number;
  /** Item vectors, row by row, on the axes where the sum of all v vT is diagonal: who asks has a product of matrices less to make. */
  items: Float32Array;
  /** unobserved * sum of v vT, its diagonal: the same for every visitor. */
  spread: Float32Array;
  unobserved: number;
  regularisation: number;
}

const STEPS = 3;
/** Rows per call: a long-running call would stay in the engine's first, slow tier of code. */
const GRAM_ROWS = 512;

interface Side {
  count: number;
  offsets: Uint32Array;
  list: Int32Array<ArrayBuffer>;
  factors: Float32Array<ArrayBuffer>;
}

/** Trains item vectors. `onEpoch` hears of each finished epoch. */
export function trainFactors(input: {
  histories: Histories;
  knobs: FactorKnobs;
  onEpoch?: (done: number, total: number) => void;
  signal?: AbortSignal | undefined;
}): Factors {
  const { histories, knobs, onEpoch, signal } = input;
  const { dimensions, unobserved, regularisation } = knobs;
  const pairs = histories.items.length;
  const rows = histories.count + histories.itemCount;
  const bytes = 4 * (rows * dimensions + 2 * pairs + 2 * dimensions * dimensions + 16 * dimensions) + 65_536;
  const space = openWorkspace(bytes);
  const visitors = openSide(space, histories.count, histories.offsets, histories.items, dimensions);
  const byItem = transpose(histories);
  const items = openSide(space, histories.itemCount, byItem.offsets, byItem.values, dimensions);
  const random = createRandom(20_100_601);
  const deviation = 0.1 / Math.sqrt(dimensions);
  for (let i = 0; i < items.factors.length; i++) items.factors[i] = random.normal() * deviation;

  const gram = space.floats(dimensions * dimensions);
  const solve = openSolver(space, gram, dimensions);
  for (let epoch = 0; epoch < knobs.epochs; epoch++) {
    for (const [side, other] of [
      [visitors, items],
      [items, visitors],
    ] as const) {
      signal?.throwIfAborted();
      gramOf({ space, side: other, dimensions, scale: unobserved, out: gram });
      for (let row = 0; row < side.count; row++) {
        const from = side.offsets[row]!;
        const size = side.offsets[row + 1]! - from;
        solve({
          x: side.factors.byteOffset + row * dimensions * 4,
          list: side.list.byteOffset + from * 4,
          size,
          matrix: other.factors.byteOffset,
          ridge: regularisation * (size + unobserved * other.count),
        });
      }
    }
    onEpoch?.(epoch + 1, knobs.epochs);
  }
  gramOf({ space, side: items, dimensions, scale: unobserved, out: gram });
  const { values, axes } = principalAxes(gram, dimensions);
  const result: Factors = {
    itemCount: histories.itemCount,
    dimensions,
    items: sharedFloat32(items.factors.length),
    spread: sharedFloat32(dimensions),
    unobserved,
    regularisation,
  };
  result.spread.set(values.map((value) => Math.max(0, value)));
  turnOnto({ space, axes, items: items.factors, out: result.items, dimensions });
  return result;
}

/** Scores are products of vectors, which do not change when all of them are turned alike. */
function turnOnto(input: {
  space: Workspace;
  axes: Float64Array;
  items: Float32Array;
  out: Float32Array;
  dimensions: number;
}): void {
  const { space, items, out, dimensions } = input;
  const axes = space.floats(dimensions * dimensions);
  axes.set(input.axes);
  const turned = space.floats(dimensions);
  for (let at = 0; at < items.length; at += dimensions) {
    const vector = items.byteOffset + at * 4;
    space.kernels.multiply(axes.byteOffset, dimensions, dimensions, vector, turned.byteOffset);
    out.set(turned, at);
  }
}

function openSide(
  space: Workspace,
  count: number,
  offsets: Uint32Array,
  list: Int32Array,
  dimensions: number,
): Side {
  const side: Side = {
    count,
    offsets,
    list: space.ints(list.length),
    factors: space.floats(count * dimensions),
  };
  side.list.set(list);
  return side;
}

/** Item -> rows of the histories. */
function transpose(histories: Histories): { offsets: Uint32Array; values: Int32Array } {
  const { offsets, values } = groupBy(histories.items, histories.itemCount);
  const rowOf = new Int32Array(histories.items.length);
  for (let row = 0; row < histories.count; row++) {
    rowOf.fill(row, histories.offsets[row], histories.offsets[row + 1]);
  }
  for (let i = 0; i < values.length; i++) values[i] = rowOf[values[i]!]!;
  return { offsets, values };
}

function gramOf(input: {
  space: Workspace;
  side: Side;
  dimensions: number;
  scale: number;
  out: Float32Array;
}): void {
  const { space, side, dimensions, scale, out } = input;
  out.fill(0);
  for (let row = 0; row < side.count; row += GRAM_ROWS) {
    const rows = Math.min(GRAM_ROWS, side.count - row);
    space.kernels.gram(side.factors.byteOffset + row * dimensions * 4, rows, dimensions, out.byteOffset);
  }
  for (let i = 0; i < out.length; i++) out[i]! *= scale;
}

/** Solves (gram + sum of listed v vT + ridge I) x = sum of listed v, starting from the x that is there. */
function openSolver(space: Workspace, gram: Float32Array, dimensions: number) {
  const { kernels } = space;
  const residual = space.floats(dimensions);
  const direction = space.floats(dimensions);
  const image = space.floats(dimensions);
  const start = space.floats(dimensions);
  const floats = new Float32Array(gram.buffer);

  return (row: { x: number; list: number; size: number; matrix: number; ridge: number }): void => {
    const { x, list, size, matrix, ridge } = row;
    const at = x >> 2;
    if (size === 0) {
      floats.fill(0, at, at + dimensions);
      return;
    }
    const apply = (vector: number): void => {
      kernels.multiply(gram.byteOffset, dimensions, dimensions, vector, image.byteOffset);
      kernels.multiplyListed(list, size, matrix, dimensions, vector, image.byteOffset);
    };
    for (let i = 0; i < dimensions; i++) start[i] = floats[at + i]!;
    residual.fill(0);
    kernels.addListed(list, size, matrix, dimensions, residual.byteOffset);
    apply(start.byteOffset);
    let error = 0;
    for (let i = 0; i < dimensions; i++) {
      const r = residual[i]! - image[i]! - ridge * start[i]!;
      residual[i] = r;
      direction[i] = r;
      error += r * r;
    }
    for (let step = 0; step < STEPS && error > 1e-12; step++) {
      apply(direction.byteOffset);
      let curvature = 0;
      for (let i = 0; i < dimensions; i++) {
        const value = image[i]! + ridge * direction[i]!;
        image[i] = value;
        curvature += value * direction[i]!;
      }
      const stride = error / curvature;
      let next = 0;
      for (let i = 0; i < dimensions; i++) {
        floats[at + i]! += stride * direction[i]!;
        const r = residual[i]! - stride * image[i]!;
        residual[i] = r;
        next += r * r;
      }
      const turn = next / error;
      for (let i = 0; i < dimensions; i++) direction[i] = residual[i]! + turn * direction[i]!;
      error = next;
    }
  };
}
