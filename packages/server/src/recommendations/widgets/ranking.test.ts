import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildEngine } from '@signalbox/recommendation-engine/build';
import { DAY, interactionsOf, logOf } from '@signalbox/recommendation-engine/log/interaction-log.fixture';
import { createTenantEngine } from '../live/tenant-engine.ts';
import { pastOf } from './ranking.ts';

test('a person is known by the running session, continued from the model, and by what came before', () => {
  const shop = createTenantEngine('tenant');
  const base = buildEngine({ log: logOf(interactionsOf('a b c\nd e')) });
  shop.replaceBase({ base, buildId: 'build', cut: 0, catalogRevision: 0 });
  const { engine } = shop;
  const last = base.through;
  const past = (visitor: string, now: number) => {
    const { session, history, own } = pastOf(shop, { visitor }, now);
    return { session: session.map(engine.idOf).join(' '), history: history.map(engine.idOf).join(' '), own };
  };
  // The visitor of the second line; the base has their session under the key `v1`.
  engine.add({ visitor: 'v1', item: 'a', time: last + 60_000 });
  assert.deepEqual(past('1', last + 120_000), { session: 'd e a', history: '', own: 0 });
  engine.add({ visitor: 'v1', item: 'b', time: last + DAY });
  assert.deepEqual(past('1', last + DAY), { session: 'b', history: 'd e a', own: 1 });
  assert.deepEqual(past('1', last + 2 * DAY), { session: '', history: 'd e a b', own: -1 });
  assert.deepEqual(past('nobody', last), { session: '', history: '', own: -1 });
});

test("of a person with several keys, the running session is the one that does not vote on the person's own answers", () => {
  const shop = createTenantEngine('tenant');
  const now = Date.now();
  shop.engine.add({ visitor: 'c7', item: 'a', time: now - DAY });
  shop.engine.add({ visitor: 'vphone', item: 'b', time: now });
  shop.people.link('vphone', 7);
  const { own, session } = pastOf(shop, { contact: 7 }, now);
  assert.deepEqual(session.map(shop.engine.idOf), ['b']);
  assert.equal(own, shop.engine.delta.visitors.sessionOf('vphone'));
});
