import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildEngine } from '@signalbox/recommendation-engine/build';
import { logOf, MONDAY } from '@signalbox/recommendation-engine/log/interaction-log.fixture';
import type { StoredInteraction } from '../store/interactions.ts';
import { PLACEHOLDER } from './engine-input.ts';
import { createTenantEngine } from './tenant-engine.ts';

let arrivals = 0;
const view = (visitor: string, itemPid: string): StoredInteraction => {
  const receivedAt = MONDAY + ++arrivals * 1000;
  return {
    id: `i${arrivals}`,
    kind: 'view',
    visitor,
    contact: null,
    itemPid,
    page: null,
    at: receivedAt,
    widgetId: null,
    country: null,
    quantity: null,
    value: null,
    receivedAt,
  };
};

test('a base that was built meanwhile takes over without losing or repeating what came since', () => {
  const shop = createTenantEngine('tenant');
  const [known, late] = [
    [view('x', 'a'), view('x', 'b')],
    [view('y', 'a'), view('y', 'c')],
  ];
  shop.add([...known, ...late]);
  shop.add(late);
  assert.equal(shop.engine.delta.size, 4);

  const log = logOf(known.map(({ itemPid, at }) => ({ visitor: 'vx', item: itemPid!, time: at })));
  const base = buildEngine({ catalog: [PLACEHOLDER], log });
  shop.replaceBase({ base, buildId: 'build', cut: known[1]!.receivedAt, catalogRevision: 0 });
  assert.equal(shop.engine.delta.size, 2);
  const pastOf = (visitor: string) =>
    shop.engine.delta.visitors.historyOf(`v${visitor}`).map(({ item }) => shop.engine.idOf(item));
  assert.deepEqual(
    [pastOf('x'), pastOf('y')],
    [
      ['a', 'b'],
      ['a', 'c'],
    ],
  );
  shop.add([...known, ...late]);
  assert.equal(shop.engine.delta.size, 2);
});

test('without a new base the newest of what came is kept, and what was dropped does not come back', () => {
  const shop = createTenantEngine('tenant', { mostNews: 3 });
  const rows = Array.from({ length: 6 }, (_, n) => view(`v${n}`, `item${n}`));
  shop.add(rows.slice(0, 5));
  shop.forget(['vv4'], rows[4]!.receivedAt);
  assert.equal(shop.engine.delta.size, 5);
  shop.add(rows.slice(5));
  assert.equal(shop.engine.delta.size, 2, 'the three newest, less the one that is forgotten');
  const deeds = rows.map((_, n) => shop.engine.delta.visitors.countOf(`vv${n}`));
  assert.deepEqual(deeds, [0, 0, 0, 1, 0, 1]);
  shop.add(rows);
  assert.equal(shop.engine.delta.size, 2);
});
