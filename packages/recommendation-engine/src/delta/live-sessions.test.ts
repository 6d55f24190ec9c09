import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildEngine, DEFAULT_KNOBS } from '../build.ts';
import { openEngine } from '../engine.ts';
import { DAY, interactionsOf, logOf, MONDAY } from '../log/interaction-log.fixture.ts';
import type { Interaction } from '../log/interactions.ts';
import { MAX_HISTORY } from '../models/context.ts';
import { MAX_SESSION_ITEMS } from '../models/sessions/session-index.ts';

const engineOf = (interactions: readonly Interaction[]) =>
  openEngine(buildEngine({ log: logOf(interactions), knobs: { ...DEFAULT_KNOBS, factors: null } }));
const known = interactionsOf('i0 i1');

/** A robot looks at `count` items, a second apart. */
const views = (count: number, start = MONDAY + DAY): Interaction[] =>
  Array.from({ length: count }, (_, n) => ({ visitor: 'robot', item: `i${n}`, time: start + n * 1000 }));

test('of a long session the last items vote, as in a build with it', () => {
  const seen = views(MAX_SESSION_ITEMS + 45);
  const live = engineOf(known);
  for (const interaction of seen) live.add(interaction);
  const { base, idOf } = engineOf([...known, ...seen]);
  const { offsets, items } = base.sessions;
  const built = Array.from(items.subarray(offsets[1], offsets[2]), idOf);
  const { visitors } = live.delta;
  assert.deepEqual(visitors.itemsOf(0).map(live.idOf), built);
  const sessionsWith = (id: string) => visitors.withItem(live.numberOf(id));
  assert.deepEqual([sessionsWith('i44'), sessionsWith('i45')], [undefined, [0]]);
});

test('the steps that are kept of a visitor do not grow without end, and yet each one is noticed', () => {
  const engine = engineOf(known);
  const { visitors } = engine.delta;
  const seen = () => visitors.historyOf('robot').map(({ item }) => engine.idOf(item));
  for (const interaction of views(3 * MAX_HISTORY)) engine.add(interaction);
  assert.equal(seen().length, MAX_HISTORY);
  assert.equal(seen().at(-1), `i${3 * MAX_HISTORY - 1}`);
  assert.equal(visitors.countOf('robot'), 3 * MAX_HISTORY);
  for (const day of [2, 3, 4])
    for (const interaction of views(MAX_HISTORY, MONDAY + day * DAY)) engine.add(interaction);
  assert.equal(seen().length, 2 * MAX_HISTORY, 'the running session and what came before it');
  assert.equal(visitors.countOf('robot'), 6 * MAX_HISTORY);
});

test('what somebody has bought is known however much they look at afterwards, in a model and live', () => {
  const bought: Interaction = { visitor: 'robot', item: 'i0', kind: 'purchase', time: MONDAY + DAY - 1000 };
  const seen = [MONDAY + DAY, MONDAY + 2 * DAY].flatMap((start) => views(2 * MAX_HISTORY, start).slice(1));
  const live = engineOf(known);
  for (const interaction of [bought, ...seen]) live.add(interaction);
  for (const engine of [live, engineOf([...known, bought, ...seen])]) {
    const [first] = engine.delta.visitors.historyOf('robot');
    assert.deepEqual([engine.idOf(first!.item), first!.time], ['i0', bought.time]);
  }
});

/** Minutes after the first, by item: two sessions, an hour apart. */
const MINUTES = { i1: 0, i2: 1, i3: 5, i4: 65, i5: 66, i6: 70, i7: 71 };
const ORDERS: [name: string, live: (keyof typeof MINUTES)[]][] = [
  ['in time', ['i1', 'i2', 'i3', 'i4', 'i5', 'i6', 'i7']],
  ['one step late in its session', ['i1', 'i2', 'i3', 'i4', 'i6', 'i7', 'i5']],
  ['the beginning of the session late', ['i1', 'i2', 'i3', 'i5', 'i6', 'i7', 'i4']],
  ['the earlier session last', ['i4', 'i5', 'i6', 'i7', 'i1', 'i2', 'i3']],
  ['backwards', ['i7', 'i6', 'i5', 'i4', 'i3', 'i2', 'i1']],
  ['one of the earlier session late', ['i1', 'i3', 'i4', 'i2', 'i5', 'i6', 'i7']],
];
for (const [name, live] of ORDERS) {
  const stepOf = (item: keyof typeof MINUTES): Interaction => {
    return { visitor: 'ann', item, time: MONDAY + DAY + MINUTES[item] * 60_000 };
  };
  for (const share of [0, 3, 6]) {
    test(`interactions that come ${name}, ${share} of them in the model, make the history of a build with them`, () => {
      const engine = engineOf([...known, ...live.slice(0, share).map(stepOf)]);
      for (const item of live.slice(share)) engine.add(stepOf(item));
      const { visitors } = engine.delta;
      const history = visitors.historyOf('ann').map(({ item }) => engine.idOf(item));
      assert.deepEqual(history, Object.keys(MINUTES));
      assert.equal(visitors.countOf('ann'), live.length);
      const session = visitors.sessionOf('ann');
      const items = session < 0 ? [] : visitors.itemsOf(session).map(engine.idOf);
      assert.deepEqual(items, session < 0 ? [] : ['i4', 'i5', 'i6', 'i7']);
      for (const item of ['i1', 'i2', 'i3'])
        assert.ok(!visitors.withItem(engine.numberOf(item))?.includes(session), item);
    });
  }
}
