/** What a contact did is found under the id of the profile, which pages pass as `sid` (D11), and under no id that is made up. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock, HOUR } from '../kernel/time/clock.ts';
import { PAGE, startTestShop } from './demo-shop.fixture.ts';

const clock = createManualClock(Date.now());
const shop = await startTestShop({ clock });
const { server, universeId } = shop;
const recent = await shop.widget({ algorithm: 'recently-viewed', size: 1 });
const unbought = await shop.widget({ algorithm: 'popular', size: 12, exclude_bought: true });

async function post(path: string, body: object, headers: Record<string, string> = {}) {
  const answer = await fetch(`${server.origin}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  assert.ok(answer.ok, `${path} ${answer.status}`);
  return (await answer.json()) as Record<string, string>;
}

async function lookUp(customIdentifier: string, visited?: string) {
  const visit = visited === undefined ? {} : { isEvent: false, referer: PAGE(visited) };
  const found = await post('/frontend/api/track', { universeId, customIdentifier, ...visit });
  return { sid: found.$$profileId!, tpid: found.$$thirdPartyId! };
}

const recentFor = async (query: string) =>
  (await shop.pids(`/r/?widgetid=${recent}&lang=en&${query}`)).join();

test('pages that a contact visited are found by the id of the profile alone, and add up with another contact', async () => {
  const ada = await lookUp('ada', 'e');
  const bob = await lookUp('bob', 'f');
  assert.equal(await recentFor(`tpid=${ada.tpid}`), 'e');
  assert.equal(await recentFor(`tpid=0&sid=${ada.sid}`), 'e');
  const wide = await shop.widget({ algorithm: 'recently-viewed', size: 2 });
  const both = await shop.pids(`/r/?widgetid=${wide}&lang=en&tpid=${bob.tpid}&sid=${ada.sid}`);
  assert.deepEqual(both.toSorted(), ['e', 'f']);
});

test('what a contact bought by a signal is left out for the id of the profile, too', async () => {
  const headers = { 'x-api-key': server.sdkKey };
  const items = [{ sku: 'g', quantity: 1, netprice: 5 }];
  await post(
    '/signals/v1/cart/purchase',
    { idType: 'external', customerId: 'eve', cartId: '1', items },
    headers,
  );
  await server.modules.lanes.idle('follow');
  const { sid } = await lookUp('eve');
  const shown = await shop.pids(`/r/?widgetid=${unbought}&lang=en&tpid=0&sid=${sid}`);
  assert.ok(shown.includes('h') && !shown.includes('g'), shown.join());
});

test('nobody becomes another contact by giving a visitor the form of its key', async () => {
  const victim = await lookUp('victim', 'i');
  const thief = await lookUp('thief', 'j');
  await post('/frontend/api/interactions', {
    universeId,
    visitor: thief.sid,
    previousVisitor: `c${victim.tpid}`,
    events: [{ kind: 'view', item: { pid: 'j' } }],
  });
  assert.equal(await recentFor(`tpid=${thief.tpid}`), 'j');
  assert.equal(await recentFor(`tpid=${victim.tpid}`), 'i');
  const { people } = await server.modules.recommendations.engines.get(server.tenant.id);
  assert.ok(!people.keysOf({ contact: Number(thief.tpid) }).includes(`c${victim.tpid}`));
});

test('what is sent under the id of a profile after it was forgotten is gone with the last sweep', async () => {
  const { db, profiles } = server.modules;
  const { sid } = await lookUp('forgotten');
  await profiles.forget(server.tenant.id, { externalId: 'forgotten' });
  const events = [{ kind: 'view', item: { pid: 'a' } }];
  await post('/frontend/api/interactions', { universeId, visitor: sid, events });
  const kept = () => db.sql`select 1 from interactions where visitor = ${sid}`;
  assert.equal((await kept()).length, 1);
  clock.advance(2 * HOUR);
  await profiles.maintain();
  assert.equal((await kept()).length, 0);
});
