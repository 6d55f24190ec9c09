import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildHistories } from '../../log/histories.ts';
import { interactionsOf, logOf } from '../../log/interaction-log.fixture.ts';
import { sessionise } from '../../log/sessions.ts';
import { indexOfId } from '../../structures/vocabulary.ts';
import { createContext, loadContext } from '../context.ts';
import { trainFactors } from './implicit-factors.ts';
import { trainItemWeights } from './item-weights.ts';
import { openFactors, openItemWeights, positive, type TasteModel } from './latent.ts';

/** Two circles of people: one reads a..d, the other w..z; nobody has read everything of a circle. */
const CIRCLES = `
  a b c
  b c d
  a c d
  a b d
  w x y
  x y z
  w y z
  w x z`;

const log = logOf(interactionsOf(CIRCLES));
const histories = buildHistories({
  sessions: sessionise(log),
  itemCount: log.items.count,
  visitorCount: log.visitors.count,
});
const number = (id: string): number => indexOfId(log.items, id);

function scores(taste: TasteModel, having: string[], of: string[]): number[] {
  const context = createContext();
  loadContext({ context, session: having.map(number), history: [] });
  assert.equal(taste.prepare(context), true);
  return [...taste.scoresOf(Int32Array.from(of, number), 0, of.length).subarray(0, of.length)];
}

const FACTORS = { dimensions: 16, epochs: 12, unobserved: 0.1, regularisation: 0.01 };

for (const [name, taste] of [
  ['iALS', openFactors(trainFactors({ histories, knobs: FACTORS }))],
  ['EASE', openItemWeights(trainItemWeights({ histories, knobs: { ridge: 1 } }))],
] as const) {
  test(`${name} knows which circle somebody belongs to`, () => {
    const [c, d, w, z] = scores(taste, ['a', 'b'], ['c', 'd', 'w', 'z']);
    assert.ok(Math.min(c!, d!) > Math.max(w!, z!) + 0.05, `${[c, d]} over ${[w, z]}`);
  });

  test(`${name} knows nothing of somebody without items`, () => {
    const context = createContext();
    loadContext({ context, session: [], history: [] });
    assert.equal(taste.prepare(context), false);
  });
}

for (const [name, taste] of [
  ['iALS', openFactors(trainFactors({ histories, knobs: FACTORS }))],
  ['EASE', openItemWeights(trainItemWeights({ histories, knobs: { ridge: 1 } }))],
] as const)
  test(`${name} has nothing to say of items that came later, and learns nothing from them`, () => {
    const later = taste.itemCount + 3;
    const scoresAfter = (session: number[]): number[] => {
      const context = createContext();
      loadContext({ context, session, history: [] });
      assert.equal(taste.prepare(context), true);
      return [...taste.scoresOf(Int32Array.of(later, number('c')), 0, 2).subarray(0, 2)];
    };
    const [ofLater, ofKnown] = scoresAfter([number('a')]);
    assert.equal(ofLater, 0);
    assert.notEqual(ofKnown, 0);
    assert.deepEqual(scoresAfter([number('a'), later]), [ofLater, ofKnown]);
  });

test('the dense weights are those of the closed form', () => {
  const { weights, itemCount } = trainItemWeights({ histories, knobs: { ridge: 2 } });
  const inverse = invert(gramOf(itemCount, 2));
  for (let j = 0; j < itemCount; j++) {
    for (let i = 0; i < itemCount; i++) {
      const expected = i === j ? 0 : -inverse[j]![i]! / inverse[i]![i]!;
      assert.ok(Math.abs(weights[j * itemCount + i]! - expected) < 1e-5, `${j},${i}`);
    }
  }
});

test('item vectors lie on the axes where the sum of all of them is diagonal', () => {
  const { items, spread, dimensions, unobserved } = trainFactors({ histories, knobs: FACTORS });
  const vectors = rowsOf(items, dimensions);
  for (let i = 0; i < dimensions; i++) {
    for (let j = 0; j < dimensions; j++) {
      const cell = unobserved * vectors.reduce((sum, vector) => sum + vector[i]! * vector[j]!, 0);
      assert.ok(Math.abs(cell - (i === j ? spread[i]! : 0)) < 1e-5, `${i},${j}`);
    }
  }
});

test('the vector of a visitor is that of the closed form', () => {
  const factors = trainFactors({ histories, knobs: FACTORS });
  const { dimensions, spread, unobserved, regularisation, itemCount } = factors;
  const vectors = rowsOf(factors.items, dimensions);
  const all = ['a', 'b', 'c', 'd', 'w', 'x', 'y', 'z'];
  for (const having of [['a'], ['a', 'b'], ['a', 'x', 'y'], all]) {
    const own = having.map((id) => vectors[number(id)]!);
    const ridge = regularisation * (own.length + unobserved * itemCount);
    const matrix = Array.from({ length: dimensions }, (_, i) =>
      Array.from({ length: dimensions }, (_, j) =>
        own.reduce((sum, vector) => sum + vector[i]! * vector[j]!, i === j ? spread[i]! + ridge : 0),
      ),
    );
    const sums = Array.from({ length: dimensions }, (_, i) =>
      own.reduce((sum, vector) => sum + vector[i]!, 0),
    );
    const visitor = invert(matrix).map((line) => line.reduce((sum, cell, i) => sum + cell * sums[i]!, 0));
    const expected = all.map((id) =>
      vectors[number(id)]!.reduce((sum, value, i) => sum + value * visitor[i]!, 0),
    );
    for (const [i, score] of scores(openFactors(factors), having, all).entries())
      assert.ok(Math.abs(score - expected[i]!) < 0.01, `${having}: ${score} for ${expected[i]}`);
  }
});

test('training is the same every time and can be called off', () => {
  const train = () => trainFactors({ histories, knobs: FACTORS }).items;
  assert.deepEqual(train(), train());
  const signal = AbortSignal.abort(new Error('enough'));
  assert.throws(() => trainFactors({ histories, knobs: FACTORS, signal }), /enough/);
  assert.throws(() => trainItemWeights({ histories, knobs: { ridge: 1 }, signal }), /enough/);
});

test('scores below zero keep their order on a board that knows only positive ones', () => {
  const raw = [-3, -0.5, -0.01, 0.01, 0.5];
  const mapped = raw.map(positive);
  assert.ok(mapped.every((value) => value > 0));
  assert.deepEqual(
    [...mapped].sort((a, b) => a - b),
    mapped,
  );
  for (const least of [-1e3, -1e30]) assert.ok(Math.fround(positive(least)) > 0);
});

const rowsOf = (matrix: Float32Array, width: number): number[][] =>
  Array.from({ length: matrix.length / width }, (_, row) => [
    ...matrix.subarray(row * width, (row + 1) * width),
  ]);

function gramOf(itemCount: number, ridge: number): number[][] {
  const gram = Array.from({ length: itemCount }, (_, i) =>
    Array.from({ length: itemCount }, (_, j) => (i === j ? ridge : 0)),
  );
  for (let row = 0; row < histories.count; row++) {
    const items = histories.items.subarray(histories.offsets[row], histories.offsets[row + 1]);
    for (const i of items) for (const j of items) gram[i]![j]!++;
  }
  return gram;
}

/** Gauss-Jordan, the long way. */
function invert(matrix: number[][]): number[][] {
  const n = matrix.length;
  const rows = matrix.map((line, i) => [...line, ...Array.from({ length: n }, (_, j) => (i === j ? 1 : 0))]);
  for (let k = 0; k < n; k++) {
    const pivot = rows[k]![k]!;
    rows[k] = rows[k]!.map((value) => value / pivot);
    for (let i = 0; i < n; i++) {
      if (i === k) continue;
      const factor = rows[i]![k]!;
      rows[i] = rows[i]!.map((value, j) => value - factor * rows[k]![j]!);
    }
  }
  return rows.map((line) => line.slice(n));
}
