import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildEngine, DEFAULT_KNOBS, prepare } from './build.ts';
import { openEngine } from './engine.ts';
import { DAY, interactionsOf, logOf, MONDAY, shopSessions } from './log/interaction-log.fixture.ts';
import type { Interaction, Kind } from './log/interactions.ts';
import { DEFAULT_PREFERENCES, type Preferences } from './preferences.ts';
import { tuneEngine } from './tuning/tuner.ts';

const did = (visitor: string, kind: Kind, item: string, daysAgo = 0): Interaction => ({
  visitor,
  kind,
  item,
  time: MONDAY - daysAgo * DAY,
});
const halfLives = (given: Partial<Preferences['halfLives']>): Preferences => ({
  ...DEFAULT_PREFERENCES,
  halfLives: { ...DEFAULT_PREFERENCES.halfLives, ...given },
});
const kinds = (given: Partial<Preferences['kinds']>): Preferences => ({
  ...DEFAULT_PREFERENCES,
  kinds: { ...DEFAULT_PREFERENCES.kinds, ...given },
});
function first(log: readonly Interaction[], preferences: Preferences, live: readonly Interaction[] = []) {
  const engine = openEngine(buildEngine({ log: logOf(log), preferences }));
  for (const interaction of live) engine.add(interaction);
  return engine.idOf(engine.predict({ algorithm: 'popular', size: 1 })[0]!.item);
}

test('a purchase outweighs three views unless the tenant says otherwise, in the base and live', () => {
  const bought = [did('a', 'purchase', 'bought')];
  const seen = ['b', 'c', 'd'].map((visitor) => did(visitor, 'view', 'seen'));
  const known = [did('e', 'view', 'bought'), did('f', 'view', 'seen')];
  for (const [preferences, expected] of [
    [DEFAULT_PREFERENCES, 'bought'],
    [kinds({ purchase: 2 }), 'seen'],
    [kinds({ view: 0 }), 'bought'],
    [kinds({ purchase: 0 }), 'seen'],
  ] as const) {
    assert.equal(first([...bought, ...seen], preferences), expected);
    assert.equal(first(known, preferences, [...bought, ...seen]), expected, 'live');
  }
});

test('what counts nothing brings no partners, in the base and live', () => {
  const seen = interactionsOf(
    ['cap hat bag', 'cap hat bag', 'cap bag hat', 'cap hat', 'bag hat cap'].join('\n'),
  );
  const bought = interactionsOf('cap:purchase bag:purchase', MONDAY + DAY);
  for (const [log, live] of [
    [[...seen, ...bought], []],
    [bought, seen],
  ] as const) {
    const engine = openEngine(buildEngine({ log: logOf(log), preferences: kinds({ view: 0 }) }));
    for (const interaction of live) engine.add(interaction);
    const partners = engine.predict({ algorithm: 'related', item: engine.numberOf('cap'), size: 2 });
    assert.deepEqual(
      partners.map(({ item, model }) => [engine.idOf(item), model]),
      [
        ['bag', 'related'],
        ['hat', 'popular'],
      ],
    );
    const { items, weights } = engine.base.covisits;
    assert.deepEqual([[...items], [...weights]], [[engine.numberOf('bag')], [8]]);
  }
});

test('what counts nothing in a country is not popular there, in the base and live', () => {
  const lookedAt = (['a', 'b', 'c'] as const).map((visitor) => ({
    ...did(visitor, 'view', 'lamp'),
    country: 'BE',
  }));
  const bought = ['d', 'e'].map((visitor) => ({ ...did(visitor, 'purchase', 'sofa'), country: 'FR' }));
  for (const [log, live] of [
    [[...lookedAt, ...bought], []],
    [bought, lookedAt],
  ] as const) {
    const engine = openEngine(buildEngine({ log: logOf(log), preferences: kinds({ view: 0 }) }));
    for (const interaction of live) engine.add(interaction);
    const [first] = engine.predict({ algorithm: 'popular', country: 'BE', size: 1 });
    assert.equal(engine.idOf(first!.item), 'sofa');
    assert.equal(engine.base.popularity.countryItems.length, 1);
  }
});

test('a half-life says whether the many of last month or the few of today are popular', () => {
  const log = [
    ...['a', 'b', 'c', 'd'].map((visitor) => did(visitor, 'view', 'old', 30)),
    did('e', 'view', 'fresh'),
  ];
  assert.equal(first(log, halfLives({ popular: 7 * DAY })), 'fresh');
  assert.equal(first(log, halfLives({ popular: 365 * DAY })), 'old');
  assert.equal(first(log, halfLives({ popular: 0 })), 'old');
});

test('the tuner leaves alone what the tenant has decided, and turns what is left to it', () => {
  const sessions = shopSessions({ sessions: 200, families: 4 });
  const log = logOf(interactionsOf(sessions.map((items) => items.join(' ')).join('\n')));
  const preferences = halfLives({ popular: 5 * DAY, related: 3 * DAY, trending: DAY / 2 });
  const { knobs } = tuneEngine(prepare({ log, preferences }), { budgetMs: 3000, at: 5 });
  assert.equal(knobs.popularity.halfLife, 5 * DAY);
  assert.equal(knobs.covisitation.halfLife, 3 * DAY);
  const base = buildEngine({ log, knobs: DEFAULT_KNOBS, preferences });
  assert.equal(base.knobs.popularity.short, DAY / 2);
  assert.equal(base.knobs.covisitation.halfLife, 3 * DAY);
});
