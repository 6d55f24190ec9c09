/** What happened counts at the next request; a restarted server knows it all; other processes hear of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock } from '../kernel/time/clock.ts';
import { createTestDatabaseUrl } from '../testing/database.ts';
import { startTestServer } from '../testing/server.ts';
import { until } from '../testing/wait.ts';
import { base64url, PAGE, startTestShop } from './demo-shop.fixture.ts';
import { readForgotten } from './store/forgotten.ts';

const databaseUrl = await createTestDatabaseUrl();
const shop = await startTestShop({ databaseUrl });
const { server } = shop;
const { recommendations, catalog } = server.modules;
/** Everywhere within five seconds; more here, because a machine may be busy with other tests. */
const SOON = { timeoutMs: 15_000 };
const personal = await shop.widget({ algorithm: 'recently-viewed', size: 3 });
const top = await shop.widget({ size: 100 });
const all = await shop.widget({ size: 100, exclude_bought: false });
const forContact = (widgetid: string, tpid: number, sid = '') =>
  `/r/?widgetid=${widgetid}&lang=en&tpid=${tpid}${sid && `&sid=${sid}`}`;

test('a view changes the answer for that visitor on the next request', async () => {
  assert.notEqual((await shop.pids(forContact(personal, 101)))[0], 'g');
  await shop.did({ contact: 101 }, 'view', 'g');
  assert.equal((await shop.pids(forContact(personal, 101)))[0], 'g');
  await shop.did({ visitor: 'anonymous-9' }, 'view', 'h');
  assert.equal((await shop.pids(forContact(personal, 0, 'anonymous-9')))[0], 'h');
});

test('a visitor who turns out to be a contact brings their past along on the next request', async () => {
  await shop.did({ visitor: 'soon-known' }, 'view', 'i');
  // Whoever is unknown gets what is popular, and the newest view of one person must not make `i` that.
  for (const visitor of ['other-1', 'other-2', 'other-3']) await shop.did({ visitor }, 'view', 'j');
  const first = async () => (await shop.pids(forContact(personal, 105)))[0];
  assert.notEqual(await first(), 'i');
  recommendations.engines.peek(server.tenant.id)!.people.link('vsoon-known', 105);
  assert.equal(await first(), 'i');
});

test('what a contact bought lately is left out on personalised operations, if the widget wants so', async () => {
  await shop.did({ contact: 103 }, 'purchase', 'a');
  assert.ok(!(await shop.pids(forContact(top, 103))).includes('a'));
  assert.ok((await shop.pids(forContact(all, 103))).includes('a'));
  assert.ok((await shop.pids(`/r?widgetid=${top}&lang=en`)).includes('a'));
});

test('tpid and sid add up, and an unknown contact gets what an unknown visitor gets', async () => {
  await shop.did({ contact: 104 }, 'view', 'c');
  await shop.did({ visitor: 'other-device' }, 'view', 'd');
  const both = await shop.pids(forContact(personal, 104, 'other-device'));
  assert.deepEqual(both.slice(0, 2).toSorted(), ['c', 'd']);
  // An answer for everyone is given again for a second.
  await until(async () => {
    const [unknown, everyone] = [forContact(top, 999_999), `/r?widgetid=${top}&lang=en`];
    return String(await shop.pids(unknown)) === String(await shop.pids(everyone));
  });
});

test('an item that is set unavailable, or removed, disappears at once and comes back at once', async () => {
  const path = `/r?widgetid=${top}&lang=en`;
  assert.ok((await shop.pids(path)).includes('e'));
  assert.equal((await shop.call('PATCH', '/catalog/items/e', { available: false })).status, 200);
  assert.ok(!(await shop.pids(path)).includes('e'));
  assert.equal((await shop.call('PATCH', '/catalog/items/e', { available: true })).status, 200);
  assert.ok((await shop.pids(path)).includes('e'));
  await catalog.remove(server.tenant.id, 'f');
  assert.ok(!(await shop.pids(path)).includes('f'));
  await catalog.put(server.tenant.id, {
    itemPid: 'new',
    itemUrl: PAGE('new'),
    available: true,
    fields: { title: 'New' },
    languages: {},
    countries: {},
  });
  assert.ok((await shop.pids(path)).includes('new'));
});

test('a page that is no item still has its audience (D13), however long its address', async () => {
  const related = await shop.widget({ algorithm: 'related', size: 1 });
  const long = 'shop.example/search?q='.padEnd(5000, 'x');
  const audiences: [page: string, itemPid: string][] = [
    ['shop.example/blog/winter', 'j'],
    [`${long}1`, 'k'],
    [`${long}2`, 'h'],
  ];
  const rows = audiences.flatMap(([page, itemPid]) =>
    ['p1', 'p2', 'p3'].flatMap((name, index) => [
      { visitor: name + itemPid, kind: 'view' as const, page, at: Date.now() + index * 10 },
      { visitor: name + itemPid, kind: 'view' as const, itemPid, at: Date.now() + index * 10 + 1 },
    ]),
  );
  await server.modules.db.transaction((tx) =>
    recommendations.interactions.record(tx, server.tenant.id, rows),
  );
  for (const [page, itemPid] of audiences) {
    const url = new URL(`https://${page}`);
    url.searchParams.append('utm_source', 'mail');
    const path = `/r/${base64url(`${url}#top`)}?widgetid=${related}&lang=en`;
    assert.deepEqual(await shop.pids(path), [itemPid]);
  }
  const [kept] = await server.modules.db.sql<{ longest: number }[]>`
    select max(length(page))::int as longest from interactions where tenant_id = ${server.tenant.id}`;
  assert.equal(kept!.longest, 256, 'or a thousand of them would fill the memory');
});

test('a build changes models, not what is known: items and people answer as before', async () => {
  const { tenant } = server;
  const [before] = await shop.pids(forContact(personal, 101));
  const model = await recommendations.build(tenant.id);
  assert.equal(recommendations.engines.peek(tenant.id)!.buildId, model.buildId);
  assert.equal((await shop.pids(forContact(personal, 101)))[0], before);
  await shop.did({ contact: 101 }, 'view', 'b');
  assert.equal((await shop.pids(forContact(personal, 101)))[0], 'b');
  assert.ok(!(await shop.pids(`/r?widgetid=${top}&lang=en`)).includes('f'));
});

test('the page of what is sold out has similar items, without a model and with one, and it is similar when it is back', async () => {
  const similar = await shop.widget({ algorithm: 'similar', fallback: [], size: 100 });
  const similarTo = (pid: string) => shop.pids(`/r/${base64url(PAGE(pid))}?widgetid=${similar}&lang=en`);
  const setAvailable = (available: boolean) => shop.call('PATCH', '/catalog/items/l', { available });
  for (const build of [false, true]) {
    if (build) await recommendations.build(server.tenant.id);
    assert.ok((await similarTo('l')).includes('c'), `${build}`);
    assert.ok(!(await similarTo('c')).includes('l'), `${build}`);
    await setAvailable(true);
    assert.ok((await similarTo('c')).includes('l'), `${build}`);
    await setAvailable(false);
  }
});

test('another process answers from the stored snapshot when it starts, and hears of news by itself', async () => {
  const other = await startTestServer({ databaseUrl });
  const api = `${other.origin}/api/${server.tenant.id}`;
  const pids = async () => {
    const answer = await fetch(api + forContact(personal, 101), { headers: { accept: 'application/json' } });
    return ((await answer.json()) as { item_pid: string }[]).map(({ item_pid }) => item_pid);
  };
  const opened = other.modules.recommendations.engines.peek(server.tenant.id);
  assert.ok(opened?.buildId, 'open, from the snapshot, before the first request comes');
  assert.equal((await pids())[0], 'b');
  await shop.did({ contact: 101 }, 'view', 'i');
  await until(async () => (await pids())[0] === 'i', SOON);
  await shop.did({ contact: 101 }, 'purchase', 'i');
  await until(async () => !(await pids()).includes('i'), SOON);
  await catalog.patch(server.tenant.id, 'b', { available: false });
  await until(async () => !(await pids()).includes('b'), SOON);
  await catalog.patch(server.tenant.id, 'b', { available: true });
  await until(async () => (await pids()).includes('b'), SOON);
  await other.stop();
});

/** What an origin answers for a contact, for the visitor that the contact was, and for somebody unknown. */
const answersOf = async (origin: string, contact: number, visitor: string) =>
  Promise.all(
    [forContact(personal, contact), forContact(personal, 0, visitor), forContact(personal, 888_888)].map(
      async (path) => {
        const headers = { accept: 'application/json' };
        const answer = await fetch(`${origin}/api/${server.tenant.id}${path}`, { headers });
        const items = (await answer.json()) as { item_pid: string }[];
        return items.map(({ item_pid }) => item_pid).join();
      },
    ),
  );
const isStranger = ([contacts, visitors, unknown]: string[]) => contacts === unknown && visitors === unknown;

/** A person with a past in the stored model. */
async function personWithPast(externalId: string, visitor: string) {
  const { tenant, modules } = server;
  const [person] = await modules.db.transaction((tx) =>
    modules.profiles.resolve(tx, tenant.id, [{ externalId }]),
  );
  const contact = person!.systemId;
  await shop.did({ visitor }, 'view', 'g');
  await shop.did({ contact }, 'view', 'h');
  await modules.db.transaction((tx) =>
    recommendations.interactions.record(tx, tenant.id, [], [{ key: `v${visitor}`, contact }]),
  );
  await recommendations.build(tenant.id, { complete: true });
  return contact;
}

test('who is erased stays a stranger to a process that starts before a model is built without them, and after', async () => {
  const { tenant, modules } = server;
  const contact = await personWithPast('erased-before-the-start', 'their-tablet');
  const { buildId } = recommendations.engines.peek(tenant.id)!;
  await modules.profiles.forget(tenant.id, { externalId: 'erased-before-the-start' });
  const early = await startTestServer({ databaseUrl });
  const opened = early.modules.recommendations.engines.peek(tenant.id)!;
  assert.equal(opened.buildId, buildId, 'the model from before the erasure');
  assert.ok(isStranger(await answersOf(early.origin, contact, 'their-tablet')));
  await early.stop();
  // The build that was asked for leaves nobody to be forgotten.
  await until(async () => (await readForgotten(modules.db.sql, tenant.id)).length === 0);
  await shop.did({ visitor: 'their-tablet' }, 'view', 'd');
  const late = await startTestServer({ databaseUrl });
  const [contacts, visitors, unknown] = await answersOf(late.origin, contact, 'their-tablet');
  assert.equal(contacts, unknown);
  assert.equal(visitors!.split(',')[0], 'd', 'what comes after counts');
  await late.stop();
});

test('who is erased is a stranger on the next request, by contact and by visitor, here and in other processes', async () => {
  const { tenant, modules } = server;
  const other = await startTestServer({ databaseUrl });
  // In the base and behind it.
  const contact = await personWithPast('to-be-erased', 'their-phone');
  await shop.did({ contact }, 'view', 'i');
  const known = 'i,h,g';
  await until(async () => (await answersOf(other.origin, contact, 'their-phone'))[0] === known, SOON);
  assert.deepEqual((await answersOf(server.origin, contact, 'their-phone')).slice(0, 2), [known, known]);
  assert.ok(await modules.profiles.forget(tenant.id, { externalId: 'to-be-erased' }));
  assert.ok(isStranger(await answersOf(server.origin, contact, 'their-phone')));
  await until(async () => isStranger(await answersOf(other.origin, contact, 'their-phone')), SOON);
  // A build from before the erasure may end after it.
  const live = recommendations.engines.peek(tenant.id)!;
  const { base } = live.engine;
  live.replaceBase({ base, buildId: live.buildId!, cut: 0, catalogRevision: 0 });
  assert.ok(isStranger(await answersOf(server.origin, contact, 'their-phone')));
  await shop.did({ visitor: 'their-phone' }, 'view', 'd');
  assert.equal((await shop.pids(forContact(personal, 0, 'their-phone')))[0], 'd', 'what comes after counts');
  await other.stop();
});

test('a clock ahead lets everything of the past be built in, and nothing is counted twice', async () => {
  const clock = createManualClock(Date.now() + 60_000);
  const other = await startTestServer({ databaseUrl, clock });
  const { tenant } = server;
  const model = await other.modules.recommendations.build(tenant.id);
  assert.ok(model.interactions >= 10);
  const live = await other.modules.recommendations.engines.get(tenant.id);
  assert.equal(live.engine.delta.size, 0);
  assert.equal(live.engine.base.interactions, model.interactions);
  await other.stop();
});
