import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildEngine } from '../build.ts';
import { wordsOf } from '../catalog/texts.ts';
import { openEngine } from '../engine.ts';
import { interactionsOf, logOf } from '../log/interaction-log.fixture.ts';
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

test('what is sold out is no answer, but has similar ones, and is an answer when it is back', () => {
  const [lamp, ...others] = CATALOG;
  const engine = openEngine(
    buildEngine({ catalog: [{ ...lamp!, listed: false }, ...others], log: logOf([]) }),
  );
  assert.deepEqual(similarTo(engine, 'red-lamp', 2), ['blue-lamp', 'floor-lamp']);
  assert.ok(!similarTo(engine, 'blue-lamp', 4).includes('red-lamp'));
  engine.putItem(lamp!);
  assert.equal(similarTo(engine, 'blue-lamp', 4)[0], 'red-lamp');
  engine.putItem({ ...lamp!, listed: false });
  assert.ok(!similarTo(engine, 'blue-lamp', 4).includes('red-lamp'));
});

test('an item that visitors knew before the catalog did is similar, has similar ones, and is as new as it says', () => {
  const log = logOf(interactionsOf('green-lamp sofa'));
  const catalog = CATALOG.map((item, index) => ({ ...item, addedAt: index }));
  const engine = openEngine(buildEngine({ catalog, log }));
  assert.deepEqual(similarTo(engine, 'green-lamp', 3), []);
  engine.putItem({ ...CATALOG[0]!, id: 'green-lamp', title: 'Green desk lamp', addedAt: 2.5 });
  assert.deepEqual(similarTo(engine, 'green-lamp', 2).sort(), ['blue-lamp', 'red-lamp']);
  assert.ok(similarTo(engine, 'red-lamp', 2).includes('green-lamp'));
  const newest = engine.predict({ algorithm: 'new', size: 9 }).map(({ item }) => engine.idOf(item));
  assert.deepEqual(newest, ['bare', 'sofa', 'green-lamp', 'floor-lamp', 'blue-lamp', 'red-lamp']);
});

test('what is sold out takes no place of what can be answered, however much of it there is', () => {
  const gone = Array.from({ length: 2000 }, (_, index) => ({
    id: `gone-${index}`,
    title: 'Lamp',
    categories: ['light'],
    listed: false,
  }));
  const engine = openEngine(buildEngine({ catalog: [...gone, ...CATALOG], log: logOf([]) }));
  assert.deepEqual(similarTo(engine, 'gone-0', 3).sort(), ['blue-lamp', 'floor-lamp', 'red-lamp']);
  engine.putItem({ id: 'source', categories: ['light'] });
  assert.deepEqual(similarTo(engine, 'source', 3).sort(), ['blue-lamp', 'floor-lamp', 'red-lamp']);
});
