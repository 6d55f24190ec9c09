import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { buildEngine, DEFAULT_KNOBS } from '../build.ts';
import { openEngine } from '../engine.ts';
import { interactionsOf, logOf, shopSessions } from '../log/interaction-log.fixture.ts';
import { ALGORITHMS, type Algorithm } from '../models/model.ts';
import { createBitset, has } from '../structures/bitset.ts';

const sessions = shopSessions({ sessions: 300, families: 6 });
const ids = [...new Set(sessions.flat())];
const catalog = [
  ...ids.map((id) => ({ id, title: `thing ${id}`, categories: [id.slice(0, 2)], price: 10 + id.length })),
  { id: 'never-seen', title: 'thing that nobody saw' },
];
const engine = openEngine(
  buildEngine({
    // pages are in the log, not in the catalog: they carry behaviour and are never answered
    log: logOf(
      interactionsOf([...sessions.map((items) => items.join(' ')), 'page f0i0', 'page f0i1'].join('\n')),
    ),
    catalog,
    knobs: { ...DEFAULT_KNOBS, weights: { ridge: 10 } },
  }),
);
engine.putItem({ id: 'brand-new', title: 'new thing', categories: ['f1'] });
engine.add({ visitor: 'live', item: 'brand-new', time: engine.base.through + 1000, country: 'BE' });
const count = engine.itemCount;
const item = fc.nat(count - 1);

const requests = fc.record({
  algorithm: fc.constantFrom(...ALGORITHMS),
  fallback: fc.array(fc.constantFrom(...ALGORITHMS), { maxLength: 3 }),
  item: fc.option(item, { nil: undefined }),
  session: fc.array(item, { maxLength: 40 }),
  history: fc.array(item, { maxLength: 40 }),
  country: fc.constantFrom(undefined, 'BE', 'XX'),
  category: fc.constantFrom(undefined, engine.categoryOf('f1'), engine.categoryOf('nowhere')),
  allowed: fc.option(fc.array(item, { maxLength: count }), { nil: null }),
  exclude: fc.array(item, { maxLength: 12 }),
  buried: fc.option(fc.array(item, { maxLength: count }), { nil: undefined }),
  diversity: fc.constantFrom(0, 0.4, 1),
  size: fc.integer({ min: 0, max: count + 5 }),
});

const listed = (number: number): boolean => engine.idOf(number) !== 'page';

test('an answer never repeats, never breaks a rule, never rises, buries at the end, and is as long as rules and fallbacks allow', () => {
  fc.assert(
    fc.property(requests, (drawn) => {
      const { item: inView, country, category, buried, ...rest } = drawn;
      const isBuried = new Set(buried);
      const boost = Array.from({ length: count }, (_, number) => (isBuried.has(number) ? 0 : 1));
      const allowed = rest.allowed === null ? null : createBitset(count, rest.allowed);
      const exclude = new Set(rest.exclude);
      const list = engine.predict({
        ...rest,
        allowed,
        exclude,
        ...(buried === undefined ? {} : { boost }),
        ...(inView === undefined ? {} : { item: inView }),
        ...(country === undefined ? {} : { country }),
        ...(category === undefined ? {} : { category }),
      });
      const permitted = Array.from({ length: count }, (_, number) => number).filter(
        (number) =>
          listed(number) &&
          number !== inView &&
          !exclude.has(number) &&
          (allowed === null || has(allowed, number)),
      );
      const most = Math.min(rest.size, permitted.length);
      const chain: string[] = [rest.algorithm, ...rest.fallback];
      if (chain.includes('popular') || chain.includes('new')) assert.equal(list.length, most);
      else assert.ok(list.length <= most && list.every(({ model }) => chain.includes(model)));
      assert.equal(new Set(list.map((entry) => entry.item)).size, list.length);
      for (const [i, entry] of list.entries()) {
        assert.ok(permitted.includes(entry.item), engine.idOf(entry.item));
        assert.ok(Number.isSafeInteger(entry.score) && entry.score >= 0);
        if (i === 0) continue;
        assert.ok(entry.score <= list[i - 1]!.score);
        assert.ok(isBuried.has(entry.item) || !isBuried.has(list[i - 1]!.item), 'the buried come last');
      }
    }),
    { numRuns: 400 },
  );
});

test('the same request gives the same answer', () => {
  const session = ['f2i1', 'f2i2'].map(engine.numberOf);
  for (const algorithm of ALGORITHMS) {
    const ask = () => engine.predict({ algorithm, session, size: 10 });
    assert.deepEqual(ask(), ask());
  }
});

const expectations: [Algorithm, string][] = [
  ['auto', 'f2i4'],
  ['session', 'f2i4'],
  ['related', 'f2i4'],
];
for (const [algorithm, id] of expectations) {
  test(`${algorithm} goes on where visitors went on`, () => {
    const session = ['f2i2', 'f2i3'].map(engine.numberOf);
    const list = engine.predict({ algorithm, session, size: 3, exclude: new Set(session) });
    assert.equal(engine.idOf(list[0]!.item), id);
    assert.equal(list[0]!.model, algorithm);
    assert.equal(list[0]!.score, 1_000_000);
  });
}

test('auto knows who comes back by their taste, and says why', () => {
  for (const family of ['f0', 'f1', 'f2', 'f3', 'f4']) {
    const history = [0, 1, 2].map((i) => engine.numberOf(`${family}i${i}`));
    const request = {
      algorithm: 'auto' as const,
      history,
      size: 1,
      exclude: new Set(history),
      explain: true,
    };
    const [first] = engine.predict(request);
    assert.equal(engine.idOf(first!.item), `${family}i3`);
    assert.ok(first!.evidence!.because.includes(engine.numberOf(`${family}i2`)));
    assert.deepEqual(
      first!.evidence!.signals.map(({ signal, share }) => [signal, share > 0]),
      [['taste', true]],
    );
  }
});

test('visitors of a page that is no item are its audience', () => {
  const list = engine.predict({ algorithm: 'related', item: engine.numberOf('page'), size: 2 });
  assert.deepEqual(list.map((entry) => engine.idOf(entry.item)).sort(), ['f0i0', 'f0i1']);
});

test('to somebody of whom nothing is known a filter that every item passes changes nothing', () => {
  const allowed = createBitset(
    count,
    Array.from({ length: count }, (_, number) => number),
  );
  for (const country of ['BE', 'XX']) {
    for (const algorithm of ALGORITHMS) {
      const asked = { algorithm, country, size: count };
      assert.deepEqual(
        engine.predict({ ...asked, allowed }),
        engine.predict(asked),
        `${algorithm} ${country}`,
      );
    }
  }
});

test('where visitors come back to items, auto offers those of the session, however many others are near', () => {
  const others = Array.from({ length: 150 }, (_, i) => `start near${i}`);
  const crowded = openEngine(
    buildEngine({
      log: logOf(interactionsOf(['favourite elsewhere', ...others].join('\n'))),
      knobs: { ...DEFAULT_KNOBS, blend: { next: 1, seen: 5, seenLast: -9 } },
    }),
  );
  const session = ['favourite', 'start'].map(crowded.numberOf);
  const [first] = crowded.predict({ algorithm: 'auto', session, size: 5 });
  assert.equal(crowded.idOf(first!.item), 'favourite');
});

test('a fallback answers when the algorithm has nothing to say, and says so', () => {
  const list = engine.predict({ algorithm: 'related', fallback: ['new'], size: 2 });
  assert.deepEqual(new Set(list.map((entry) => entry.model)), new Set(['new']));
});

test('who wants no fallback gets what the algorithm itself knows, and nothing where that is nothing', () => {
  const seen = engine.numberOf('f2i1');
  const ask = (session: number[], fallback?: Algorithm[]) =>
    engine
      .predict({ algorithm: 'recently-viewed', session, size: 3, ...(fallback && { fallback }) })
      .map(({ model }) => model);
  const table: [number[], Algorithm[] | undefined, string[]][] = [
    [[], [], []],
    [[seen], [], ['recently-viewed']],
    [[], ['related'], []],
    [[], ['new'], ['new', 'new', 'new']],
    [[seen], undefined, ['recently-viewed', 'popular', 'popular']],
  ];
  for (const [session, fallback, models] of table) assert.deepEqual(ask(session, fallback), models);
});

test('a boost moves an item up, a boost of zero to the end', () => {
  const plain = engine.predict({ algorithm: 'popular', size: 10 });
  const boost = new Float32Array(count).fill(1);
  boost[plain[9]!.item] = 10;
  boost[plain[0]!.item] = 0;
  const boosted = engine.predict({ algorithm: 'popular', size: 5, boost });
  assert.equal(boosted[0]!.item, plain[9]!.item);
  assert.ok(boosted.every(({ item }) => item !== plain[0]!.item));
  const all = engine.predict({ algorithm: 'popular', size: count, boost });
  assert.equal(all.find(({ item }) => item === plain[0]!.item)?.score, 0);
  // Also behind what the fallbacks say, whose scores count from the last of the others.
  const [first, seen] = [plain[0]!.item, plain[1]!.item];
  const list = engine.predict({ algorithm: 'recently-viewed', session: [seen, first], size: count, boost });
  assert.equal(list[0]!.item, seen);
  assert.deepEqual([list[1]!.model, list[1]!.score], ['popular', 1_000_000]);
  assert.deepEqual([list.at(-1)!.item, list.at(-1)!.score], [first, 0]);
});

test('what one answer buries takes nothing from the next', () => {
  const base = buildEngine({
    log: logOf(interactionsOf(`${'a b c d e f g h\n'.repeat(5)}a:purchase b:purchase`)),
    knobs: DEFAULT_KNOBS,
  });
  const answerAfter = (askBefore: boolean) => {
    const shop = openEngine(base);
    let time = base.through;
    const looksAt = (visitor: string, ...items: string[]) => {
      for (const one of items) {
        time += 1000;
        shop.add({ visitor, item: one, time });
      }
    };
    looksAt('first', 'fresh', 'a');
    const kept = ['fresh', 'a'].map(shop.numberOf);
    const boost = Array.from({ length: shop.itemCount }, (_, number) => Number(kept.includes(number)));
    const own = shop.delta.visitors.sessionOf('first');
    if (askBefore) shop.predict({ algorithm: 'auto', session: kept, own, boost, size: 3 });
    for (const visitor of ['second', 'third']) looksAt(visitor, 'b', 'fresh');
    const list = shop.predict({ algorithm: 'auto', session: [shop.numberOf('b')], size: 9 });
    return list.map((found) => [shop.idOf(found.item), found.model]);
  };
  assert.deepEqual(answerAfter(true), answerAfter(false));
});

/** A hundred lamps, each looked at by fewer than the one before it, then a boot and a hat that were looked at once. */
const lamps = Array.from({ length: 100 }, (_, n) => ({ id: `lamp${n}`, categories: ['lamps'] }));
const others = ['boot', 'hat'].map((id) => ({ id, categories: [id] }));
const longTail = openEngine(
  buildEngine({
    catalog: [...others, ...lamps].map((one, addedAt) => ({ ...one, title: one.id, addedAt })),
    log: logOf(
      [...lamps, ...others].flatMap(({ id: item }, rank) =>
        Array.from({ length: Math.max(1, 101 - rank) }, (_, n) => ({
          visitor: `${item} ${n}`,
          item,
          time: 1e12,
        })),
      ),
    ),
    knobs: { ...DEFAULT_KNOBS, factors: null },
  }),
);

test('a boost raises an item from wherever it stands, and lowers what stands in front of others', () => {
  for (const algorithm of ['popular', 'new'] as const) {
    const ask = (factors: Record<string, number>, size = 2) => {
      const boost = new Float32Array(longTail.itemCount).fill(1);
      for (const [id, factor] of Object.entries(factors)) boost[longTail.numberOf(id)] = factor;
      return longTail.predict({ algorithm, size, boost }).map((found) => longTail.idOf(found.item));
    };
    const front = ask({}, 50);
    assert.deepEqual(ask({ hat: 1000, boot: 900 }), ['hat', 'boot'], algorithm);
    assert.deepEqual(ask({ hat: 1000 }), ['hat', front[0]], algorithm);
    const lowered = ask(Object.fromEntries(front.map((id) => [id, 1e-6])));
    assert.deepEqual(lowered, ask({}, 52).slice(50), algorithm);
  }
});

test('a diverse list has a category whose best item stands far behind', () => {
  const found = longTail.predict({ algorithm: 'popular', size: 3, diversity: 1 });
  assert.deepEqual(
    found.map(({ item }) => longTail.idOf(item)),
    ['lamp0', 'boot', 'hat'],
  );
});

test('an explanation names the items and the signals behind a place', () => {
  const session = ['f2i2', 'f2i3'].map(engine.numberOf);
  const [first] = engine.predict({
    algorithm: 'auto',
    session,
    size: 1,
    explain: true,
    exclude: new Set(session),
  });
  assert.ok(first?.evidence?.because.includes(engine.numberOf('f2i3')));
  assert.ok(
    first?.evidence?.signals.some(({ signal, share }) => signal.startsWith('session') && share !== 0),
  );
});
