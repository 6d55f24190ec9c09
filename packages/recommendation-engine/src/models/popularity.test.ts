import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildEngine } from '../build.ts';
import { openEngine } from '../engine.ts';
import { DAY, logOf, MONDAY } from '../log/interaction-log.fixture.ts';
import { type Interaction, KIND_WEIGHTS } from '../log/interactions.ts';
import { decayed } from '../structures/decay.ts';
import { DEFAULT_POPULARITY_KNOBS, popularityOf, steepness } from './popularity.ts';

const seen = (item: string, daysAgo: number, country?: string): Interaction => ({
  visitor: `${item}-${daysAgo}`,
  item,
  time: MONDAY - daysAgo * DAY,
  ...(country === undefined ? {} : { country }),
});

function engineOf(interactions: Interaction[], catalog?: { id: string; categories?: string[] }[]) {
  const engine = openEngine(buildEngine({ log: logOf(interactions), ...(catalog ? { catalog } : {}) }));
  const ids = (list: { item: number }[]) => list.map(({ item }) => engine.idOf(item));
  return { engine, ids };
}

test('a counter halves with every half-life and a purchase counts eight', () => {
  assert.equal(decayed(MONDAY - 7 * DAY, MONDAY, 7 * DAY), 0.5);
  assert.equal(decayed(MONDAY - 7 * DAY, MONDAY, 0), 1);
  assert.equal(popularityOf(KIND_WEIGHTS.purchase, MONDAY - 14 * DAY, MONDAY, 7 * DAY), 2);
});

test('two visits today outweigh three of a fortnight ago', () => {
  const { engine, ids } = engineOf([
    seen('old', 14),
    seen('old', 14.1),
    seen('old', 14.2),
    seen('new', 0),
    seen('new', 0.1),
  ]);
  assert.deepEqual(ids(engine.predict({ algorithm: 'popular', size: 2 })), ['new', 'old']);
});

test('what is popular in the country comes first, the rest of the world fills up', () => {
  const world = [
    seen('w', 0, 'FR'),
    seen('w', 0.1, 'FR'),
    seen('w', 0.2, 'FR'),
    seen('b', 0.3, 'be'),
    seen('z', 1, 'FR'),
  ];
  const { engine, ids } = engineOf(world);
  assert.deepEqual(ids(engine.predict({ algorithm: 'popular', size: 3, country: 'BE' })), ['b', 'w', 'z']);
  assert.deepEqual(ids(engine.predict({ algorithm: 'popular', size: 3 })), ['w', 'b', 'z']);
  assert.deepEqual(ids(engine.predict({ algorithm: 'popular', size: 1, country: 'XX' })), ['w']);
});

test('a boost holds in each country, whichever was asked for before', () => {
  const visits = [seen('w', 0, 'FR'), seen('w', 0.1, 'FR'), seen('w', 0.2, 'FR'), seen('b', 0.3, 'FR')];
  for (const order of [
    ['FR', 'BE'],
    ['BE', 'FR'],
  ]) {
    const { engine, ids } = engineOf([...visits, seen('z', 1)]);
    // Nobody had come from Belgium when the base was built.
    engine.add(seen('z', 0, 'BE'));
    const boost = Float32Array.from({ length: engine.itemCount }, (_, item) =>
      item === engine.numberOf('b') ? 1.5 : 1,
    );
    const found = order.map((country) => {
      const list = engine.predict({ algorithm: 'popular', size: 1, country, boost });
      return [country, ...ids(list)];
    });
    assert.deepEqual(Object.fromEntries(found), { FR: 'b', BE: 'z' }, order.join(' before '));
  }
});

test('a category keeps to itself as long as it has items', () => {
  const catalog = [
    { id: 'lamp', categories: ['light'] },
    { id: 'bulb', categories: ['light'] },
    { id: 'sofa', categories: ['seat'] },
  ];
  const { engine, ids } = engineOf([seen('sofa', 0), seen('sofa', 0.1), seen('bulb', 1)], catalog);
  const category = engine.categoryOf('light');
  assert.deepEqual(ids(engine.predict({ algorithm: 'popular', size: 2, category })), ['bulb', 'lamp']);
  assert.deepEqual(ids(engine.predict({ algorithm: 'popular', size: 3, category })), [
    'bulb',
    'lamp',
    'sofa',
  ]);
});

test('steepness is the surplus over the usual rate in deviations of a count', () => {
  const knobs = DEFAULT_POPULARITY_KNOBS;
  assert.equal(steepness({ short: 8, long: 42, knobs }), (8 - 3) / 2);
  assert.ok(steepness({ short: 1, long: 28, knobs }) < 0);
});

test('an item that rises trends, one that was always there does not', () => {
  const steady = Array.from({ length: 30 }, (_, day) => seen('steady', day));
  const rising = [seen('rising', 0), seen('rising', 0.1), seen('rising', 0.2)];
  const { engine, ids } = engineOf([...steady, ...rising]);
  const list = engine.predict({ algorithm: 'trending', size: 1 });
  assert.deepEqual(ids(list), ['rising']);
  assert.equal(list[0]?.model, 'trending');
});
