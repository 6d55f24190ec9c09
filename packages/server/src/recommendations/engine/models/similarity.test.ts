import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildEngine } from '../build.ts';
import { wordsOf } from '../catalog/texts.ts';
import { openEngine } from '../engine.ts';
import { logOf } from '../log/interaction-log.fixture.ts';
import { priceCloseness } from './similarity.ts';

const CATALOG = [
  { id: 'red-lamp', title: 'Red desk lamp', categories: ['light'], brand: 'Lumo', price: 40 },
  { id: 'blue-lamp', title: 'Blue desk lamp', categories: ['light'], brand: 'Lumo', price: 40 },
  { id: 'floor-lamp', title: 'Floor lamp', categories: ['light'], brand: 'Other', price: 160 },
  { id: 'sofa', title: 'Red sofa', categories: ['seat'], brand: 'Other', price: 900 },
  { id: 'bare' },
];

const open = () => openEngine(buildEngine({ catalog: CATALOG, log: logOf([]) }));

function similarTo(engine: ReturnType<typeof open>, id: string, size: number): string[] {
  return engine
    .predict({ algorithm: 'similar', item: engine.numberOf(id), size })
    .filter(({ model }) => model === 'similar')
    .map(({ item }) => engine.idOf(item));
}

test('words lose accents, case, punctuation and single letters', () => {
  assert.deepEqual(wordsOf('Café-Crème, 2 L x500'), ['cafe', 'creme', 'x500']);
});

test('twice the price is half as close, an unknown price not close at all', () => {
  assert.equal(priceCloseness(10, 20), 0.5);
  assert.equal(priceCloseness(20, 10), 0.5);
  assert.equal(priceCloseness(10, 10), 1);
  assert.equal(priceCloseness(Number.NaN, 10), 0);
});

test('words, category, brand and price add up', () => {
  assert.deepEqual(similarTo(open(), 'red-lamp', 4), ['blue-lamp', 'floor-lamp', 'sofa']);
});

test('an item that nothing is known of has no similar ones, the answer is filled all the same', () => {
  const engine = open();
  assert.deepEqual(similarTo(engine, 'bare', 3), []);
  assert.equal(engine.predict({ algorithm: 'similar', item: engine.numberOf('bare'), size: 3 }).length, 3);
});

test('an item that came a moment ago is similar, and has similar ones', () => {
  const engine = open();
  engine.putItem({
    id: 'green-lamp',
    title: 'Green desk lamp',
    categories: ['light'],
    brand: 'Lumo',
    price: 41,
  });
  assert.equal(similarTo(engine, 'green-lamp', 3).length, 3);
  assert.deepEqual(similarTo(engine, 'green-lamp', 2).sort(), ['blue-lamp', 'red-lamp']);
  assert.ok(similarTo(engine, 'red-lamp', 2).includes('green-lamp'));
});
