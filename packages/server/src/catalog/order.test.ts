/** Who writes to the catalog at the same time: what was said later counts, whichever ends last. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../testing/server.ts';
import { feedLoader } from './feed-loader.fixture.ts';
import { itemOf } from './index.ts';

const server = await startTestServer({ config: { roles: ['api'] } });
const { catalog } = server.modules;
const tenantId = server.tenant.id;

const ALL = Array.from({ length: 8 }, (_, index) => `i${index}`);
const line = (id: string, title: string, more = {}) =>
  JSON.stringify({ id, link: `https://s.example/${id}`, title, ...more });
const feed = (title: string, ids = ALL) => ids.map((id) => line(id, title)).join('\n');
/** A feed, and what happens while it is read. */
async function* content(text: string, meanwhile?: () => Promise<unknown>) {
  yield Buffer.from(text);
  await meanwhile?.();
}
const load = feedLoader({ catalog, tenantId });
const put = (id: string, title: string) =>
  catalog.put(tenantId, itemOf({ item_pid: id, item_url: `https://s.example/${id}`, fields: { title } }));
const titles = async () =>
  Object.fromEntries(
    (await catalog.list(tenantId, {})).map(({ itemPid, fields }) => [itemPid, fields.title as string]),
  );

test('what is put, changed, removed or fed while a full feed is read is newer than the feed', async () => {
  await load(content(feed('old')));
  const { state } = await load(
    content(feed('full'), async () => {
      await put('new', 'put');
      await put('i0', 'put');
      await catalog.remove(tenantId, 'i1');
      await load(content([line('i2', 'delta'), line('fed', 'delta')].join('\n')), { mode: 'delta' });
      await load(content(line('i3', 'Nederlands')), { mode: 'delta', language: 'nl' });
      await load(content(JSON.stringify({ id: 'i4', deleted: true })), { mode: 'delta' });
    }),
  );
  assert.equal(state, 'done');
  assert.deepEqual(await titles(), {
    i0: 'put',
    i2: 'delta',
    i3: 'full',
    i5: 'full',
    i6: 'full',
    i7: 'full',
    new: 'put',
    fed: 'delta',
  });
  const { languages } = await catalog.get(tenantId, 'i3');
  assert.equal(languages.nl!.title, 'Nederlands', 'feeds of other parts do not stand in the way');
  await load(content(feed('next')), { confirmed: true });
  assert.deepEqual(
    await titles(),
    Object.fromEntries(ALL.map((id) => [id, 'next'])),
    'the next one has its say',
  );
});

test('of two full feeds the one that began later stays, and older deltas have nothing to add', async () => {
  let meanwhile: string[] = [];
  for (const mode of ['full', 'delta'] as const) {
    const { state, message } = await load(
      content(feed('older'), async () => {
        const later = await load(content(feed(`later than the ${mode}`)));
        meanwhile = [later.state, later.id];
      }),
      { mode },
    );
    assert.equal(meanwhile[0], 'done');
    assert.deepEqual([state, message], ['cancelled', `${meanwhile[1]} began later and is done.`]);
    assert.equal((await titles()).i0, `later than the ${mode}`);
  }
  const twice = await Promise.all([load(content(feed('same'))), load(content(feed('same')))]);
  assert.ok(twice.some(({ state }) => state === 'done'));
  assert.deepEqual(await titles(), Object.fromEntries(ALL.map((id) => [id, 'same'])));
});

test('a held feed is not confirmed behind a later one', async () => {
  const held = await load(content(feed('held', ['i0'])));
  assert.equal(held.state, 'held');
  await load(content(feed('later')));
  await assert.rejects(catalog.imports.confirm(tenantId, held.id), /began later and is done/);
  assert.equal((await titles()).i7, 'later');
});

test('a feed that is changed twice at once has one timer, and one that is deleted meanwhile stays deleted', async () => {
  const { db } = server.modules;
  const input = { name: 'shop', url: 'http://127.0.0.1:9/feed.csv', enabled: false };
  const { id } = await catalog.createFeed(tenantId, input);
  const later = { ...input, enabled: true };
  await Promise.all(Array.from({ length: 8 }, () => catalog.updateFeed(tenantId, id, later)));
  assert.equal((await catalog.getFeed(tenantId, id)).version, 9);
  const timers = await db.sql`
    select from jobs where queue = 'catalog-feeds' and key = ${id} and (payload->>'version')::int = 9`;
  assert.equal(timers.length, 1, 'those of earlier versions end when they are due');
  await Promise.allSettled([
    catalog.deleteFeed(tenantId, id),
    ...Array.from({ length: 8 }, () => catalog.updateFeed(tenantId, id, input)),
  ]);
  assert.equal((await catalog.listFeeds(tenantId)).length, 0);
});

test('changes of different members of an item at the same time all stay', async () => {
  for (let round = 0; round < 10; round++) {
    await put('i0', 'before');
    await Promise.all([
      catalog.patch(tenantId, 'i0', { available: false }),
      catalog.patch(tenantId, 'i0', { fields: { title: 'after' } }),
      catalog.patch(tenantId, 'i0', { countries: { BE: {} } }),
    ]);
    const { available, fields, countries } = await catalog.get(tenantId, 'i0');
    assert.deepEqual(
      { available, fields, countries },
      { available: false, fields: { title: 'after' }, countries: { BE: {} } },
    );
  }
});

test('a feed for nobody changes nothing: no import, no new revision', async () => {
  const state = async () => [
    (await catalog.imports.list(tenantId)).length,
    await catalog.revisions([tenantId]),
  ];
  const before = await state();
  for (const [input, message] of [
    [{ language: 'nl', country: 'BE' }, /one language or for one country/],
    [{ language: 'n' }, /BCP 47/],
    [{ country: 'Belgium' }, /ISO 3166/],
  ] as const)
    await assert.rejects(load(content(feed('x')), input), message);
  assert.deepEqual(await state(), before);
});

test('the planner knows of all rows of a long feed before they become items', async () => {
  const { sql } = server.modules.db;
  await sql`alter table catalog_staging set (autovacuum_enabled = false)`;
  const ids = Array.from({ length: 1500 }, (_, index) => `long${index}`);
  assert.equal((await load(content(feed('long', ids)), { mode: 'delta' })).changed, 1500);
  const [known] = await sql`select reltuples from pg_class where relname = 'catalog_staging'`;
  assert.ok(known!.reltuples >= 1500, `${known!.reltuples}`);
  assert.equal((await load(content(feed('short')), { confirmed: true })).removed, 1500);
});

const gone = (id: string) => JSON.stringify({ id, deleted: true });

test('an item that comes again after it was deleted is a new one; one that a feed missed has its age and its other parts again', async () => {
  const deletions: Record<string, () => Promise<unknown>> = {
    api: () => catalog.remove(tenantId, 'again'),
    delta: () => load(content(gone('again')), { mode: 'delta' }),
    full: () => load(content(`${feed('full')}\n${gone('again')}`), { confirmed: true }),
    missed: () => load(content(feed('full')), { confirmed: true }),
  };
  const returns: Record<string, () => Promise<unknown>> = {
    put: () => put('again', 'new'),
    fed: () => load(content(line('again', 'new')), { mode: 'delta' }),
  };
  const parts = { 'title:nl': 'oud', countries: { BE: { price: 5 } } };
  for (const [how, remove] of Object.entries(deletions))
    for (const [way, bringBack] of Object.entries(returns)) {
      await put('i0', 'before');
      await load(content(line('again', 'old', parts)), { mode: 'delta' });
      const before = await catalog.get(tenantId, 'again');
      await remove();
      await assert.rejects(catalog.get(tenantId, 'again'), how);
      await bringBack();
      const { fields, languages, countries, addedAt } = await catalog.get(tenantId, 'again');
      const keepsParts = how === 'missed' && way === 'fed';
      assert.deepEqual(
        { fields, languages, countries },
        {
          fields: { title: 'new' },
          languages: keepsParts ? { nl: { title: 'oud' } } : {},
          countries: keepsParts ? { BE: { price: 5 } } : {},
        },
        `${how} ${way}`,
      );
      const isNew = addedAt > before.addedAt;
      assert.deepEqual([isNew, addedAt >= before.addedAt], [how !== 'missed', true], `${how} ${way}`);
      await catalog.remove(tenantId, 'again');
    }
});
