/**
 * The axes on which a symmetric matrix is diagonal: cyclic Jacobi. A turn in the plane of two axes takes away what joins them;
 * after a few rounds over all pairs nothing joins any. Slow for thousands of dimensions, exact and short for some hundreds.
 */

export interface PrincipalAxes {
  /** What the matrix does along each axis, greatest first. */
  values: Float64Array;
  /** The axes, of length one, row by row in the order of the values. */
  axes: Float64Array;
}

const MAX_ROUNDS = 30;
/** Of the whole matrix: what may be left beside the diagonal. */
const NEGLIGIBLE = 1e-20;

/** @example principalAxes(Float64Array.of(2, 1, 1, 2), 2).values // [3, 1] */
export function principalAxes(matrix: ArrayLike<number>, side: number): PrincipalAxes {
  const rest = Float64Array.from(matrix);
  const turned = new Float64Array(side * side);
  for (let i = 0; i < side; i++) turned[i * side + i] = 1;
  let whole = 0;
  for (let i = 0; i < rest.length; i++) whole += rest[i]! ** 2;
  for (let round = 0; round < MAX_ROUNDS && beside(rest, side) > NEGLIGIBLE * whole; round++) {
    for (let p = 0; p < side; p++) for (let q = p + 1; q < side; q++) turn({ rest, turned, side, p, q });
  }
  const order = Array.from({ length: side }, (_, i) => i).sort(
    (a, b) => rest[b * side + b]! - rest[a * side + a]!,
  );
  const axes = new Float64Array(side * side);
  for (const [place, axis] of order.entries())
    axes.set(turned.subarray(axis * side, (axis + 1) * side), place * side);
  return { values: Float64Array.from(order, (axis) => rest[axis * side + axis]!), axes };
}

/** Squares of what is beside the diagonal. */
function beside(matrix: Float64Array, side: number): number {
  let sum = 0;
  for (let p = 0; p < side; p++) for (let q = p + 1; q < side; q++) sum += 2 * matrix[p * side + q]! ** 2;
  return sum;
}

function turn(input: { rest: Float64Array; turned: Float64Array; side: number; p: number; q: number }): void {
  const { rest, turned, side, p, q } = input;
  const joint = rest[p * side + q]!;
  if (joint === 0) return;
  const half = (rest[q * side + q]! - rest[p * side + p]!) / (2 * joint);
  const tangent = Math.sign(half || 1) / (Math.abs(half) + Math.sqrt(half * half + 1));
  const cosine = 1 / Math.sqrt(tangent * tangent + 1);
  const sine = tangent * cosine;
  for (let k = 0; k < side; k++) {
    const a = rest[k * side + p]!;
    const b = rest[k * side + q]!;
    rest[k * side + p] = cosine * a - sine * b;
    rest[k * side + q] = sine * a + cosine * b;
  }
  turnRows(rest, { side, p, q, cosine, sine });
  turnRows(turned, { side, p, q, cosine, sine });
}

function turnRows(
  matrix: Float64Array,
  { side, p, q, cosine, sine }: { side: number; p: number; q: number; cosine: number; sine: number },
): void {
  for (let k = 0; k < side; k++) {
    const a = matrix[p * side + k]!;
    const b = matrix[q * side + k]!;
    matrix[p * side + k] = cosine * a - sine * b;
    matrix[q * side + k] = sine * a + cosine * b;
  }
}
