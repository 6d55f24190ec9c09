import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildEngine, DEFAULT_KNOBS } from '../build.ts';
import { type Engine, openEngine } from '../engine.ts';
import { DAY, interactionsOf, logOf, MONDAY } from '../log/interaction-log.fixture.ts';
import type { Interaction } from '../log/interactions.ts';
import { MAX_BASKET } from '../models/baskets.ts';

/** Every partner is kept, so that rows can be compared as a whole. */
const knobs = { ...DEFAULT_KNOBS, factors: null, baskets: { shrink: 2, keep: 2 * MAX_BASKET } };
const engineOf = (interactions: readonly Interaction[]) =>
  openEngine(buildEngine({ log: logOf(interactions), knobs }));
const known = interactionsOf('i0:purchase i1:purchase\ni1:purchase last:purchase');

/** One visitor buys `count` items, a second apart, the first of them once more in the middle. */
const purchases = (count: number, visitor = 'wholesaler'): Interaction[] =>
  Array.from({ length: count }, (_, n) => ({
    visitor,
    item: `i${n === Math.floor(count / 2) ? 0 : n}`,
    kind: 'purchase',
    time: MONDAY + DAY + n * 1000,
  }));

const partnersOf = ({ delta, idOf, numberOf }: Engine, id: string): string[] => {
  const partners: string[] = [];
  delta.counters.baskets.visitPartners(numberOf(id), (partner, together) => {
    partners.push(`${idOf(partner)} ${together}`);
  });
  return partners;
};
const pairsIn = (engine: Engine): number => {
  let ends = 0;
  for (let item = 0; item < engine.itemCount; item++) ends += partnersOf(engine, engine.idOf(item)).length;
  return ends / 2;
};

const answerOf = (engine: Engine, id: string): string[] =>
  engine
    .predict({
      algorithm: 'bought-together',
      item: engine.numberOf(id),
      size: 2 * MAX_BASKET,
      fallback: [],
    })
    .map(({ item, score }) => `${engine.idOf(item)} ${Math.round(score / 100)}`)
    .sort();

test('a live basket above the limit has the partners that a build with it finds', () => {
  const bought = purchases(MAX_BASKET + 50);
  const live = engineOf(known);
  for (const interaction of bought) live.add(interaction);
  const rebuilt = engineOf([...known, ...bought]);
  for (const id of ['i0', 'i1', 'i2', 'i49', 'i50', 'i200', `i${MAX_BASKET + 49}`])
    assert.deepEqual(answerOf(live, id), answerOf(rebuilt, id), id);
});

test('however much one visitor buys, no more pairs are kept than those of the largest basket', () => {
  const engine = engineOf(known);
  for (const interaction of purchases(3 * MAX_BASKET)) engine.add(interaction);
  assert.equal(pairsIn(engine), (MAX_BASKET * (MAX_BASKET - 1)) / 2);
  assert.equal(engine.delta.counters.baskets.count, MAX_BASKET);
});

test('what leaves a basket that the base began takes back no more than was counted live', () => {
  const engine = engineOf(known);
  const soon = MONDAY + 5 * 60_000;
  const buy = (from: number, to: number) => {
    for (let n = from; n < to; n++)
      engine.add({ visitor: 'v0', item: `live${n}`, kind: 'purchase', time: soon + n });
  };
  const seen = (id: string) => [
    partnersOf(engine, id),
    engine.delta.counters.baskets.basketsWith(engine.numberOf(id)),
  ];
  buy(0, 1);
  assert.deepEqual(seen('i0'), [['live0 1'], 0], 'the base has i0 with i1, and i0 in a basket');
  buy(1, 100);
  assert.deepEqual(seen('i0'), [Array.from({ length: 100 }, (_, n) => `live${n} 1`), 0]);
  buy(100, MAX_BASKET + 1);
  for (const id of ['i0', 'i1', 'live0']) assert.deepEqual(seen(id), [[], 0], id);
  assert.equal(pairsIn(engine), (MAX_BASKET * (MAX_BASKET - 1)) / 2);
});

test('a purchase that is told late joins what the base knows was bought after it', () => {
  const bought = (item: string, minute: number): Interaction => ({
    visitor: 'ann',
    item,
    kind: 'purchase',
    time: MONDAY + DAY + minute * 60_000,
  });
  const [early, there, last] = [bought('i0', 5), bought('i1', 10), bought('last', 11)];
  const live = engineOf([...known, there]);
  for (const interaction of [early, last]) live.add(interaction);
  const rebuilt = engineOf([...known, early, there, last]);
  for (const id of ['i0', 'i1', 'last']) assert.deepEqual(answerOf(live, id), answerOf(rebuilt, id), id);
});

/** What visitors do, a session per line, each in the order in which it is told. */
const SEEN = 'a c d\na c d';
const STAND_INS: [name: string, modelled: string, live: string][] = [
  ['no model, purchases first', '', 'a:purchase b:purchase\na:purchase b:purchase\na c d\na d'],
  ['no model, views first', '', `${SEEN}\na:purchase b:purchase`],
  ['no model, a purchase after views of one session', '', 'a c d a:purchase b:purchase\na d'],
  ['a model of views', SEEN, 'a c\nd b\na:purchase b:purchase\nb:purchase e:purchase'],
  ['a model of views, and one purchase', SEEN, 'a c e\na:purchase'],
  ['a model of views, and more of them', SEEN, 'a c\nb d\na e'],
];
for (const [name, modelled, told] of STAND_INS)
  test(`sessions stand in for baskets until the first purchase, live as in a build: ${name}`, () => {
    const before = modelled === '' ? [] : interactionsOf(modelled);
    const after = interactionsOf(told, MONDAY + DAY);
    const live = engineOf(before);
    for (const interaction of after) live.add(interaction);
    const rebuilt = engineOf([...before, ...after]);
    for (const id of ['a', 'b', 'c', 'd', 'e'].filter((one) => rebuilt.numberOf(one) >= 0))
      assert.deepEqual(answerOf(live, id), answerOf(rebuilt, id), id);
  });

test('a purchase that continues a session of a model of views begins its basket', () => {
  const before = interactionsOf('a c d');
  const after: Interaction[] = ['a', 'b'].map((item, n) => ({
    visitor: 'v0',
    item,
    kind: 'purchase',
    time: MONDAY + (5 + n) * 60_000,
  }));
  const live = engineOf(before);
  for (const interaction of after) live.add(interaction);
  const rebuilt = engineOf([...before, ...after]);
  for (const id of ['a', 'b', 'c', 'd']) assert.deepEqual(answerOf(live, id), answerOf(rebuilt, id), id);
  assert.deepEqual(answerOf(live, 'a'), ['b 10000']);
});

test('a purchase of a session that is over ends the stand-in too', () => {
  const live = engineOf(interactionsOf(SEEN));
  live.add({ visitor: 'ann', item: 'a', time: MONDAY + DAY });
  assert.notDeepEqual(answerOf(live, 'a'), []);
  live.add({ visitor: 'ann', item: 'a', kind: 'purchase', time: MONDAY + DAY / 2 });
  assert.deepEqual(answerOf(live, 'a'), []);
});

test('what was looked at together is no reason for an answer once something was bought', () => {
  const engine = engineOf(interactionsOf('a d\na d'));
  const reasonsFor = (id: string) =>
    engine
      .predict({ algorithm: 'popular', session: [engine.numberOf('d')], size: 9, explain: true })
      .find(({ item }) => engine.idOf(item) === id)!
      .evidence!.because.map(engine.idOf);
  // Nobody went on from d to a, so that the session is the only reason.
  assert.deepEqual(reasonsFor('a'), ['d']);
  engine.add({ visitor: 'ann', item: 'x', kind: 'purchase', time: MONDAY + DAY });
  assert.deepEqual(reasonsFor('a'), []);
});
