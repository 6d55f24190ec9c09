import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../structures/random.ts';
import { principalAxes } from './principal-axes.ts';

const SIDE = 24;

/** Sum of v vT of some vectors; fewer of them than dimensions leave axes along which there is nothing. */
function gramOf(vectors: number): Float64Array {
  const random = createRandom(5);
  const gram = new Float64Array(SIDE * SIDE);
  for (let n = 0; n < vectors; n++) {
    const v = Float64Array.from({ length: SIDE }, () => random.normal());
    for (let i = 0; i < SIDE; i++) for (let j = 0; j < SIDE; j++) gram[i * SIDE + j]! += v[i]! * v[j]!;
  }
  return gram;
}

const cases: [string, Float64Array][] = [
  ['of full rank', gramOf(100)],
  ['of low rank', gramOf(5)],
  [
    'that is diagonal already',
    Float64Array.from({ length: SIDE * SIDE }, (_, i) => Number(i % (SIDE + 1) === 0)),
  ],
  ['of zeros', new Float64Array(SIDE * SIDE)],
];
for (const [name, matrix] of cases) {
  test(`a matrix ${name} is put together again from its axes, which are at right angles`, () => {
    const { values, axes } = principalAxes(matrix, SIDE);
    for (let i = 0; i < SIDE; i++) {
      for (let j = 0; j < SIDE; j++) {
        let angle = 0;
        let cell = 0;
        for (let k = 0; k < SIDE; k++) {
          angle += axes[i * SIDE + k]! * axes[j * SIDE + k]!;
          cell += values[k]! * axes[k * SIDE + i]! * axes[k * SIDE + j]!;
        }
        assert.ok(Math.abs(angle - Number(i === j)) < 1e-9, `axes ${i}, ${j}`);
        assert.ok(Math.abs(cell - matrix[i * SIDE + j]!) < 1e-9 * SIDE, `cell ${i}, ${j}`);
      }
    }
    assert.deepEqual(
      [...values],
      [...values].sort((a, b) => b - a),
    );
  });
}
