/** What is kept of a person is moved with the person, handed out and removed, wherever it lies. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { guid, newIdIn } from '../../kernel/ids.ts';
import { laneOfNumber } from '../../kernel/lanes/lane-of.ts';
import { createManualClock } from '../../kernel/time/clock.ts';
import type { Identification } from '../../profiles/index.ts';
import type { NewInteraction } from '../index.ts';
import { openRecommendations } from '../recommendations.fixture.ts';
import type { Link } from '../store/interactions.ts';
import { visitorKey } from './people.ts';

const clock = createManualClock(Date.now());
const { db, profiles, recommendations } = await openRecommendations(clock);
const { personalData, engines: shops, interactions } = recommendations;
const [FROM, INTO, OTHER] = [70, 193, 134];
const idOf = (systemId: number) => newIdIn('prf', laneOfNumber(systemId));

const view = (itemPid: string, who: Pick<NewInteraction, 'contact' | 'visitor'>): NewInteraction => ({
  kind: 'view',
  itemPid,
  at: clock.now() - 1000,
  ...who,
});
const record = (tenantId: string, rows: NewInteraction[], links: Link[] = []) =>
  db.transaction((tx) => interactions.record(tx, tenantId, rows, links));
const kept = (tenantId: string) => db.sql<{ contact: number | null; lane: number; item_pid: string }[]>`
  select id, received_at, contact, lane, item_pid, at, country, value, visitor from interactions
  where tenant_id = ${tenantId} order by id`;
const merge = (tenantId: string, from: number, into: number) =>
  db.transaction((tx) => personalData.merge!(tx, { tenantId, from, into }));

test('a merge moves the interactions of the merged number page by page, as they are, and ends', async () => {
  const tenantId = guid();
  const shop = await shops.get(tenantId);
  const many = Array.from({ length: 2300 }, (_, index) => ({
    ...view(`i${index}`, { contact: FROM, visitor: index % 2 ? 'phone' : null }),
    country: 'BE',
    value: index,
  }));
  await record(tenantId, [...many, view('own', { contact: INTO }), view('strange', { contact: OTHER })]);
  const before = await kept(tenantId);
  const calls: boolean[] = [];
  do calls.push(await merge(tenantId, FROM, INTO));
  while (calls.at(-1));
  assert.deepEqual(calls, [true, true, false]);
  const expected = before.map((row) =>
    row.contact === FROM ? { ...row, contact: INTO, lane: laneOfNumber(INTO) } : { ...row },
  );
  assert.deepEqual([...(await kept(tenantId))], expected);
  assert.equal(shop.people.living(FROM), INTO);
  assert.equal(await merge(tenantId, FROM, INTO), false, 'after a crash it runs again');
  assert.deepEqual([...(await kept(tenantId))], expected);
});

test('two numbers of one lane are merged, too', async () => {
  const tenantId = guid();
  await record(tenantId, [view('a', { contact: FROM })]);
  await merge(tenantId, FROM, FROM + 64);
  assert.deepEqual(
    (await kept(tenantId)).map(({ contact, lane }) => [contact, lane]),
    [[FROM + 64, laneOfNumber(FROM)]],
  );
});

test('a purchase after a merge finds a click from before it, under whatever number or visitor that was', async () => {
  const tenantId = guid();
  const click = (who: Pick<NewInteraction, 'contact' | 'visitor'>, widgetId: string, itemPid: string) =>
    ({ ...view(itemPid, who), kind: 'click', widgetId }) as const;
  await record(tenantId, [click({ contact: FROM }, 'w1', 'a'), click({ visitor: 'phone' }, 'w2', 'b')]);
  await record(tenantId, [], [{ key: visitorKey('phone'), contact: FROM }]);
  await merge(tenantId, FROM, INTO);
  clock.advance(60_000);
  const purchase = (itemPid: string) =>
    ({ ...view(itemPid, { contact: INTO }), kind: 'purchase', value: 5 }) as const;
  await record(tenantId, [purchase('a'), purchase('b')]);
  const report = await recommendations.statistics.report(tenantId, {
    from: '2000-01-01',
    until: '2100-01-01',
  });
  assert.deepEqual(
    report.map(({ widgetId, revenue }) => [widgetId, revenue]),
    [
      ['w1', 5],
      ['w2', 5],
    ],
  );
});

test('a purchase finds the click of a merged person also before the merge has moved anything', async () => {
  const tenantId = guid();
  const email = 'ada@example.com';
  const resolve = (identification: Identification) =>
    db.transaction(async (tx) => (await profiles.resolve(tx, tenantId, [identification]))[0]!.systemId);
  const known = await resolve({ email });
  const guest = await resolve({ externalId: 'guest' });
  const click = { ...view('a', { contact: guest }), kind: 'click', widgetId: 'w' } as const;
  const anonymous = { ...view('b', { visitor: 'phone' }), kind: 'click', widgetId: 'w' } as const;
  await record(tenantId, [click, anonymous]);
  await record(tenantId, [], [{ key: visitorKey('phone'), contact: guest }]);
  assert.equal(await resolve({ email, externalId: 'guest' }), known);
  const purchases = ['a', 'b'].map((itemPid) => ({
    ...view(itemPid, { contact: known }),
    kind: 'purchase' as const,
    value: 5,
  }));
  await record(tenantId, purchases);
  const report = await recommendations.statistics.report(tenantId, {
    from: '2000-01-01',
    until: '2100-01-01',
  });
  assert.equal(report[0]!.revenue, 10);
});

test('a person’s interactions are handed out and erased, in whatever lane they lie, and nobody else’s', async () => {
  const tenantId = guid();
  const subject = {
    tenantId,
    profileIds: [idOf(INTO), idOf(FROM)],
    systemIds: [INTO, FROM],
    identifiers: [],
  };
  await record(
    tenantId,
    [
      view('living', { contact: INTO }),
      view('merged', { contact: FROM }),
      view('by id', { visitor: subject.profileIds[1]! }),
      view('anonymous', { visitor: 'phone' }),
      view('put down to another', { visitor: 'phone', contact: OTHER }),
      { ...view('clicked', { contact: INTO }), kind: 'click', widgetId: 'w' },
      { ...view('clicked', { contact: OTHER }), kind: 'click', widgetId: 'w' },
      view('strange', { contact: OTHER }),
      view('strange', { visitor: 'tablet' }),
    ],
    [
      { key: visitorKey('phone'), contact: FROM },
      { key: visitorKey('tablet'), contact: OTHER },
    ],
  );
  const handedOut = (await personalData.export(db.sql, subject)) as { itemPid: string; at: Date }[];
  assert.deepEqual(handedOut.map(({ itemPid }) => itemPid).toSorted(), [
    'anonymous',
    'by id',
    'clicked',
    'living',
    'merged',
    'put down to another',
  ]);
  assert.ok(handedOut[0]!.at instanceof Date);
  // Six interactions and a link.
  assert.equal(await db.transaction((tx) => personalData.erase(tx, subject)), 7);
  assert.equal(await db.transaction((tx) => personalData.erase(tx, subject)), 0);
  assert.deepEqual((await kept(tenantId)).map(({ item_pid }) => item_pid).toSorted(), [
    'clicked',
    'strange',
    'strange',
  ]);
  const clicks = await db.sql`select visitor from interaction_clicks where tenant_id = ${tenantId}`;
  assert.deepEqual([...clicks], [{ visitor: `c${OTHER}` }]);
  assert.equal((await personalData.export(db.sql, subject)).length, 0);
});
