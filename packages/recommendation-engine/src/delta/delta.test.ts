import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { buildEngine, DEFAULT_KNOBS } from '../build.ts';
import { type Engine, openEngine } from '../engine.ts';
import { DAY, interactionsOf, logOf, MONDAY } from '../log/interaction-log.fixture.ts';
import type { Interaction, Kind } from '../log/interactions.ts';
import type { Algorithm } from '../models/model.ts';
import type { Preferences } from '../preferences.ts';

const knobs = {
  ...DEFAULT_KNOBS,
  factors: null,
  covisitation: { ...DEFAULT_KNOBS.covisitation, halfLife: 2 * DAY },
};
const preferences: Preferences = {
  kinds: { view: 2, click: 0, addToCart: 3, purchase: 11 },
  halfLives: { popular: 3 * DAY, related: DAY / 2, trending: DAY / 4, trendingBaseline: 9 * DAY },
};
const build = (interactions: readonly Interaction[], own?: Preferences) =>
  buildEngine({ log: logOf(interactions), knobs, ...(own === undefined ? {} : { preferences: own }) });
const names = (engine: Engine, list: { item: number }[]): string[] =>
  list.map(({ item }) => engine.idOf(item));

/** A log in order of time, cut somewhere: the front is built, the rest arrives live. */
const logs = fc
  .tuple(
    fc.array(
      fc.record({
        visitor: fc.constantFrom('ann', 'bob', 'cyd'),
        item: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
        kind: fc.constantFrom<Kind>('view', 'addToCart', 'purchase'),
        pause: fc.integer({ min: 1, max: 40 }),
      }),
      { minLength: 4, maxLength: 40 },
    ),
    fc.double({ min: 0.1, max: 1, noNaN: true }),
    // After views alone, a first purchase changes what a basket is.
    fc.constantFrom<Kind>('purchase', 'view'),
  )
  .map(([steps, share, kind]) => {
    let time = MONDAY;
    // every item is known from the start
    const known: Interaction[] = ['a', 'b', 'c', 'd', 'e'].map((item) => ({
      visitor: `first-${item}`,
      item,
      kind,
      time,
    }));
    const all = steps.map(({ pause, ...step }) => {
      time += pause * 60_000;
      return { ...step, time };
    });
    return { known, all, cut: Math.floor(all.length * share) };
  });

const ids = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const ALIKE: Algorithm[] = ['related', 'bought-together', 'popular'];

test('a base with live interactions answers as a base that was built with them', () => {
  fc.assert(
    fc.property(logs, ids, fc.constantFrom(undefined, preferences), ({ known, all, cut }, id, own) => {
      const live = openEngine(build([...known, ...all.slice(0, cut)], own));
      for (const interaction of all.slice(cut)) live.add(interaction);
      const rebuilt = openEngine(build([...known, ...all], own));
      for (const algorithm of ALIKE) {
        const answers = [live, rebuilt].map((engine) =>
          engine
            .predict({ algorithm, item: engine.numberOf(id), size: 5 })
            .filter(({ model }) => model === algorithm)
            .map(({ item, score }) => ({ item: engine.idOf(item), score }))
            // counters in float32 may differ in their last digit
            .sort((a, b) => (a.item < b.item ? -1 : 1)),
        );
        assert.deepEqual(
          answers[0]!.map((entry) => entry.item),
          answers[1]!.map((entry) => entry.item),
        );
        if (algorithm === 'popular') continue;
        for (const [i, entry] of answers[0]!.entries()) {
          assert.ok(
            Math.abs(entry.score - answers[1]![i]!.score) <= 20,
            `${algorithm}: ${JSON.stringify(answers)}`,
          );
        }
      }
    }),
    { numRuns: 200 },
  );
});

const visits = fc.array(
  fc.record({
    visitor: fc.constantFrom('ann', 'bob', 'cyd'),
    item: ids,
    country: fc.constantFrom(undefined, 'BE', 'NL'),
    pause: fc.constantFrom(1, 60, 120),
  }),
  { minLength: 4, maxLength: 40 },
);

test('what is popular, anywhere and in a country, is so of live interactions as of those in the base, however many are asked for', () => {
  const halfLives = fc.constantFrom(DAY / 24, DAY);
  fc.assert(
    fc.property(
      visits,
      fc.nat(40),
      fc.constantFrom(undefined, 'BE'),
      halfLives,
      (steps, cut, country, popular) => {
        const own = { ...preferences, halfLives: { ...preferences.halfLives, popular } };
        let time = MONDAY;
        const all = steps.map(({ pause, country, ...step }): Interaction => {
          time += pause * 60_000;
          return { ...step, time, ...(country === undefined ? {} : { country }) };
        });
        const known = ['a', 'b', 'c', 'd', 'e'].map((item) => ({ visitor: 'first', item, time: MONDAY }));
        const live = openEngine(build([...known, ...all.slice(0, cut)], own));
        for (const interaction of all.slice(cut)) live.add(interaction);
        const rebuilt = openEngine(build([...known, ...all], own));
        const ask = (engine: Engine, size: number) =>
          engine
            .predict({
              algorithm: 'popular',
              fallback: [],
              size,
              ...(country === undefined ? {} : { country }),
            })
            .map(({ item, score }) => [engine.idOf(item), score] as const);
        const scores = new Map(ask(rebuilt, 5));
        for (const size of [1, 2, 5]) {
          const answer = ask(live, size);
          // counters in float32 may differ in their last digit, so those that are nearly equal may change places
          for (const [place, [id]] of answer.entries()) {
            const [, expected] = [...scores][place]!;
            assert.ok(
              Math.abs(scores.get(id)! - expected) <= 20,
              JSON.stringify([size, answer, [...scores]]),
            );
          }
        }
      },
    ),
    { numRuns: 500 },
  );
});

const shop = () => openEngine(build(interactionsOf('a b c\na b\nb c\nd e\nd e')));

test('an interaction counts in the very next prediction', () => {
  const engine = shop();
  const ask = (algorithm: Algorithm) =>
    names(engine, engine.predict({ algorithm, item: engine.numberOf('a'), size: 1 }));
  assert.deepEqual(ask('related'), ['b']);
  const time = engine.base.through + DAY;
  for (const visitor of ['x', 'y', 'z']) {
    engine.add({ visitor, item: 'a', time });
    engine.add({ visitor, item: 'e', time: time + 1000 });
  }
  for (const algorithm of ['related', 'session', 'auto'] as const) assert.deepEqual(ask(algorithm), ['e']);
});

test('nobody is their own neighbour', () => {
  const engine = shop();
  const time = engine.base.through + DAY;
  engine.add({ visitor: 'me', item: 'd', time });
  engine.add({ visitor: 'me', item: 'a', time: time + 1000 });
  const session = ['d', 'a'].map(engine.numberOf);
  const own = engine.delta.visitors.sessionOf('me');
  const vote = (extra: object) =>
    engine
      .predict({ algorithm: 'session', session, size: 5, ...extra })
      .filter(({ model }) => model === 'session');
  assert.notDeepEqual(vote({ own }), vote({}));
});

test('an item enters and leaves the answers at once', () => {
  const engine = openEngine(
    buildEngine({ log: logOf(interactionsOf('a b')), catalog: [{ id: 'a' }, { id: 'b' }], knobs }),
  );
  const all = () => names(engine, engine.predict({ algorithm: 'new', size: 9 })).sort();
  engine.putItem({ id: 'c', title: 'c' });
  assert.deepEqual(all(), ['a', 'b', 'c']);
  engine.removeItem('a');
  assert.deepEqual(all(), ['b', 'c']);
  engine.add({ visitor: 'v', item: 'a-page', time: engine.base.through + 1 });
  assert.deepEqual(all(), ['b', 'c'], 'a page that is no item is never answered');
  engine.putItem({ id: 'a' });
  assert.deepEqual(all(), ['a', 'b', 'c']);
});

test('a live item that comes again with other words is found by these alone, and is new only once', () => {
  const { delta, numberOf, predict, putItem, idOf } = openEngine(
    buildEngine({ catalog: [{ id: 'base', title: 'Red boots' }], log: logOf([]), knobs }),
  );
  for (const title of ['Red boots', 'Blue lamp', 'Green lamp']) putItem({ id: 'live', title });
  putItem({ id: 'boots', title: 'Red boots' });
  putItem({ id: 'lamp', title: 'Green lamp' });
  const sharers = (id: string) =>
    delta.catalog
      .wordsOf(numberOf(id))
      .map(({ word }) => delta.catalog.itemsWith(word)!.map(({ item }) => idOf(item)));
  assert.deepEqual(sharers('boots'), [['boots'], ['boots']]);
  assert.deepEqual(sharers('lamp'), [
    ['live', 'lamp'],
    ['live', 'lamp'],
  ]);
  const newest = predict({ algorithm: 'new', size: 4 }).map(({ item }) => idOf(item));
  assert.deepEqual(newest, ['lamp', 'boots', 'live', 'base']);
});

const catalogOf = (dated: Record<string, number>) =>
  Object.entries(dated).map(([id, day]) => ({ id, addedAt: MONDAY - day * DAY }));

for (const [what, base] of [
  ['a base', catalogOf({ june: 200, page: 150, may: 230 })],
  ['a base without items', []],
] as const)
  test(`live items are new by the date of the catalog, with ${what}`, () => {
    const engine = openEngine(buildEngine({ catalog: base, log: logOf(interactionsOf('page june')) }));
    // Out of stock until now, new, changed; in the order in which a feed happens to tell of them.
    for (const item of catalogOf({ years: 900, today: 0, yesterday: 1, summer: 180, today2: 0 }))
      engine.putItem(item);
    engine.putItem({ id: 'yesterday', addedAt: MONDAY - DAY, title: 'with another title' });
    const first = names(engine, engine.predict({ algorithm: 'new', fallback: [], size: 9 }));
    const expected = ['today2', 'today', 'yesterday', 'page', 'summer', 'june', 'may', 'years'];
    const known = new Set(['today', 'today2', 'yesterday', 'summer', 'years', ...base.map(({ id }) => id)]);
    assert.deepEqual(
      first,
      expected.filter((id) => known.has(id)),
    );
  });

test('scores that are raised beyond every measure are still numbers', () => {
  const own = {
    kinds: { ...preferences.kinds, view: 1000 },
    halfLives: { ...preferences.halfLives, related: DAY / 24 },
  };
  const engine = openEngine(build(interactionsOf('a b c'), own));
  const time = engine.base.through + 101 * (DAY / 24);
  for (const [minute, item] of ['a', 'b', 'a', 'b', 'c'].entries())
    engine.add({ visitor: 'x', item, time: time + minute * 60_000 });
  const boost = new Float32Array(engine.itemCount).fill(1e6);
  const list = engine.predict({ algorithm: 'related', item: engine.numberOf('a'), boost, size: 3 });
  assert.ok(list.length > 0);
  for (const { score } of list) assert.ok(Number.isInteger(score), String(score));
});
