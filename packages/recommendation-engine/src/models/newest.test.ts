import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildEngine } from '../build.ts';
import { openEngine } from '../engine.ts';
import { DAY, interactionsOf, logOf, MONDAY } from '../log/interaction-log.fixture.ts';

test('the newest item of the catalog comes first, an undated one by its first visit', () => {
  const catalog = [
    { id: 'may', addedAt: MONDAY - 200 * DAY },
    { id: 'today', addedAt: MONDAY + DAY },
    { id: 'undated' },
  ];
  const engine = openEngine(buildEngine({ catalog, log: logOf(interactionsOf('undated may')) }));
  const list = engine.predict({ algorithm: 'new', size: 3 });
  assert.deepEqual(
    list.map(({ item }) => engine.idOf(item)),
    ['today', 'undated', 'may'],
  );
});

test('recently viewed is the history backwards, each item once', () => {
  const engine = openEngine(buildEngine({ log: logOf(interactionsOf('a b c d')) }));
  const numbers = ['a', 'b', 'a', 'c'].map(engine.numberOf);
  const list = engine.predict({
    algorithm: 'recently-viewed',
    history: numbers.slice(0, 2),
    session: numbers.slice(2),
    size: 3,
  });
  assert.deepEqual(
    list.map(({ item }) => engine.idOf(item)),
    ['c', 'a', 'b'],
  );
});
