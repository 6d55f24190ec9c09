import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../structures/random.ts';
import { openWorkspace } from './kernels.ts';

const WIDTH = 32;
const ROWS = 12;
const random = createRandom(11);
const filled = (out: Float32Array<ArrayBuffer>): Float32Array<ArrayBuffer> => {
  for (let i = 0; i < out.length; i++) out[i] = random.normal();
  return out;
};
const near = (actual: ArrayLike<number>, expected: ArrayLike<number>): void => {
  assert.equal(actual.length, expected.length);
  for (let i = 0; i < actual.length; i++) assert.ok(Math.abs(actual[i]! - expected[i]!) < 1e-3, `at ${i}`);
};

const space = openWorkspace(1 << 18);
const matrix = filled(space.floats(ROWS * WIDTH));
const x = filled(space.floats(WIDTH));
const row = (r: number): Float32Array => matrix.subarray(r * WIDTH, (r + 1) * WIDTH);
const dot = (a: Float32Array, b: Float32Array): number => a.reduce((sum, value, i) => sum + value * b[i]!, 0);

test('a matrix times a vector', () => {
  const out = space.floats(ROWS);
  space.kernels.multiply(matrix.byteOffset, ROWS, WIDTH, x.byteOffset, out.byteOffset);
  near(
    out,
    Array.from({ length: ROWS }, (_, r) => dot(row(r), x)),
  );
});

test('listed rows of a matrix times a vector, in the order of the list', () => {
  const list = space.ints(4);
  list.set([7, 0, 11, 7]);
  const out = space.floats(4);
  space.kernels.multiplyRows(list.byteOffset, 4, matrix.byteOffset, WIDTH, x.byteOffset, out.byteOffset);
  near(
    out,
    [7, 0, 11, 7].map((r) => dot(row(r), x)),
  );
});

test('listed rows times themselves times a vector, added to what is there', () => {
  const list = space.ints(3);
  list.set([1, 5, 5]);
  const out = space.floats(WIDTH).fill(1);
  space.kernels.multiplyListed(list.byteOffset, 3, matrix.byteOffset, WIDTH, x.byteOffset, out.byteOffset);
  const expected = Array.from({ length: WIDTH }, (_, i) =>
    [1, 5, 5].reduce((sum, r) => sum + dot(row(r), x) * row(r)[i]!, 1),
  );
  near(out, expected);
});

test('an empty list changes nothing', () => {
  const out = space.floats(WIDTH).fill(2);
  space.kernels.multiplyListed(0, 0, matrix.byteOffset, WIDTH, x.byteOffset, out.byteOffset);
  space.kernels.addListed(0, 0, matrix.byteOffset, WIDTH, out.byteOffset);
  near(out, new Float32Array(WIDTH).fill(2));
});

test('the sum of listed rows', () => {
  const list = space.ints(2);
  list.set([0, 11]);
  const out = space.floats(WIDTH);
  space.kernels.addListed(list.byteOffset, 2, matrix.byteOffset, WIDTH, out.byteOffset);
  near(
    out,
    Array.from({ length: WIDTH }, (_, i) => row(0)[i]! + row(11)[i]!),
  );
});

test('the Gram matrix', () => {
  const out = space.floats(WIDTH * WIDTH);
  space.kernels.gram(matrix.byteOffset, ROWS, WIDTH, out.byteOffset);
  const expected = Array.from({ length: WIDTH * WIDTH }, (_, c) => {
    let sum = 0;
    for (let r = 0; r < ROWS; r++) sum += row(r)[Math.floor(c / WIDTH)]! * row(r)[c % WIDTH]!;
    return sum;
  });
  near(out, expected);
});

test('a product is subtracted tile by tile', () => {
  const depth = 5;
  const a = filled(space.floats(8 * depth));
  const b = filled(space.floats(depth * 16));
  const c = filled(space.floats(8 * 16));
  const expected = Array.from(c, (value, i) => {
    let sum = value;
    for (let k = 0; k < depth; k++) sum -= a[Math.floor(i / 16) * depth + k]! * b[k * 16 + (i % 16)]!;
    return sum;
  });
  space.kernels.subtractProduct(a.byteOffset, depth, b.byteOffset, c.byteOffset, 16, 8, 16, depth);
  near(c, expected);
});

test('a workspace says when it is full', () => {
  const small = openWorkspace(16);
  assert.throws(() => small.floats(1 << 20), RangeError);
});
