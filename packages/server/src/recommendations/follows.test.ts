/** What the follower hands on becomes interactions, the same however it is split. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { guid, newIdIn } from '../kernel/ids.ts';
import { laneOfNumber } from '../kernel/lanes/lane-of.ts';
import type { FollowedSignal } from '../kernel/module.ts';
import { createManualClock } from '../kernel/time/clock.ts';
import { visitorKey } from './interactions/people.ts';
import { openRecommendations } from './recommendations.fixture.ts';

const clock = createManualClock(Date.now());
const { db, recommendations } = await openRecommendations(clock);
const { follows, engines: shops, statistics } = recommendations;

const persons = [64, 65, 200].map((systemId) => ({
  id: newIdIn('prf', laneOfNumber(systemId)),
  systemId,
}));
const [ann, bob, cid] = persons;
const hoursAgo = (hours: number) => clock.now() - hours * 3_600_000;

const signal = (
  tenantId: string,
  name: string,
  one: Pick<FollowedSignal, 'payload' | 'profile' | 'time'> & Partial<FollowedSignal>,
): FollowedSignal => ({
  tenantId,
  id: guid(),
  signal: name,
  receivedAt: clock.now(),
  origin: 'claimed',
  ...one,
});
const item = { sku: 'a', quantity: 2, netprice: 20 };
const signalsOf = (tenantId: string) => [
  signal(tenantId, 'browse', {
    profile: ann!,
    time: hoursAgo(9),
    payload: { elements: [{ id: 'a' }, { id: 'b' }] },
  }),
  signal(tenantId, 'cart/add', { profile: ann!, time: hoursAgo(7), payload: { items: [item] } }),
  signal(tenantId, 'cart/purchase', {
    profile: ann!,
    time: hoursAgo(5),
    payload: {},
    lines: [{ ...item, sku: 'a' }],
  }),
  signal(tenantId, 'cart/purchase', {
    profile: ann!,
    time: hoursAgo(4),
    payload: { items: [item] },
    lines: [],
  }),
  signal(tenantId, 'cart/replace', { profile: bob!, time: hoursAgo(3), payload: { items: [item] } }),
  signal(tenantId, 'cart/purchase', { profile: cid!, time: hoursAgo(2), payload: { items: [item] } }),
];

/** What is stored of a tenant, in one order, without ids and times of arrival. */
async function storedOf(tenantId: string) {
  const interactions = await db.sql`
    select kind, visitor, contact, item_pid, at, quantity, value, lane from interactions where tenant_id = ${tenantId}
    order by contact, at, item_pid`;
  const links = await db.sql`
    select visitor, contact, lane from interaction_links where tenant_id = ${tenantId} order by visitor`;
  return {
    interactions: [...interactions],
    links: [...links],
    report: await statistics.report(tenantId, { from: '2000-01-01', until: '2100-01-01' }),
  };
}

async function tell(...parts: FollowedSignal[][]) {
  for (const part of parts) await db.transaction((tx) => follows.take(tx, part));
}

test('signals give the same interactions in one call, one by one, backwards, and among those of other tenants', async () => {
  const tenants = Array.from({ length: 5 }, guid);
  for (const tenantId of tenants) {
    const click = {
      kind: 'click',
      widgetId: 'w',
      itemPid: 'a',
      at: hoursAgo(6),
      contact: ann!.systemId,
    } as const;
    await db.transaction((tx) => recommendations.interactions.record(tx, tenantId, [click]));
  }
  const [whole, single, backwards, mixed, other] = tenants.map(signalsOf);
  await tell(whole!);
  await tell(...single!.map((one) => [one]));
  await tell(backwards!.toReversed().slice(0, 4), backwards!.toReversed().slice(4));
  await tell(mixed!.flatMap((one, index) => [other![index]!, one]));
  const [expected, ...others] = await Promise.all(tenants.map(storedOf));
  assert.equal(expected!.interactions.length, 7);
  assert.deepEqual(
    expected!.report.map(({ purchases, revenue }) => [purchases, revenue]),
    [[1, 20]],
  );
  for (const stored of others) assert.deepEqual(stored, expected);
});

test('what a person did lies in the person’s lane, as of the moment when it is written, and is found under the profile’s id', async () => {
  const tenantId = guid();
  const shop = await shops.get(tenantId);
  clock.advance(1000);
  await tell(signalsOf(tenantId));
  const { interactions, links } = await storedOf(tenantId);
  for (const { contact, lane } of interactions) assert.equal(lane, laneOfNumber(contact));
  assert.deepEqual(
    links.map(({ visitor, contact, lane }) => [visitor, contact, lane]),
    persons
      .map(({ id, systemId }) => [visitorKey(id), systemId, laneOfNumber(systemId)])
      .toSorted(([one], [two]) => (one! < two! ? -1 : 1)),
  );
  const [received] = await db.sql<{ times: Date[] }[]>`
    select array_agg(distinct received_at) as times from interactions where tenant_id = ${tenantId}`;
  assert.deepEqual(
    received!.times.map((time) => time.getTime()),
    [clock.now()],
  );
  assert.ok(shop.people.isLinked(visitorKey(ann!.id), ann!.systemId));
  assert.ok(shop.activityCount({ visitor: cid!.id }) > 0);
});
