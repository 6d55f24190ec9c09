/** Feeds of a language or a country, and items that they no longer name: these lose that part, and nothing else (D11, D16). */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { startTestServer } from '../testing/server.ts';
import { feedLoader } from './feed-loader.fixture.ts';
import { type CatalogRecord, type ImportInput, isOffered } from './index.ts';

const server = await startTestServer({ config: { roles: ['api'] } });
const { catalog } = server.modules;
const tenantId = server.tenant.id;
const loadFeed = feedLoader({ catalog, tenantId });

type Row = Record<string, unknown>;
async function* contentOf(rows: Row[]) {
  yield Buffer.from(`[${rows.map((row) => JSON.stringify(row)).join()}]`);
}
const load = (rows: Row[], input: Partial<ImportInput> = {}) =>
  loadFeed(contentOf(rows), { format: 'json', ...input });
const base = (ids: string[]): Row[] =>
  ids.map((id) => ({ id, link: `https://s.example/${id}`, title: id, price: 5 }));
const offers = (ids: string[], price = 9): Row[] => ids.map((id) => ({ id, price }));
const BE = { country: 'BE' };
const ALL = ['a', 'b', 'c', 'd'];

/** The item as whoever recommends it is told of it. */
async function recordOf(id: string): Promise<CatalogRecord> {
  for await (const batch of catalog.changes(tenantId, 0)) {
    const found = batch.find(({ itemPid }) => itemPid === id);
    if (found !== undefined) return found;
  }
  throw new Error(`no record of ${id}`);
}
/** Where the item is offered, `anywhere` being for those of whom no country is known. */
async function offeredIn(id: string): Promise<string> {
  const record = await recordOf(id);
  const places = ['BE', 'NL', undefined].filter((country) => isOffered(record, country));
  return places.map((country) => country ?? 'anywhere').join(' ');
}
const countriesOf = async (id: string) => (await catalog.get(tenantId, id)).countries;

beforeEach(async () => {
  for (const { itemPid } of await catalog.list(tenantId, {})) await catalog.remove(tenantId, itemPid);
  await load(base(ALL), { confirmed: true });
});

const LOSSES: Record<string, () => ReturnType<typeof load>> = {
  'a full feed that does not name it': () => load(offers(['a', 'b', 'c']), BE),
  'a full feed that marks it': () =>
    load([...offers(['a', 'b', 'c']), { id: 'd', deleted: true }], { ...BE }),
  'a delta that marks it': () => load([{ id: 'd', deleted: true }], { ...BE, mode: 'delta' }),
};
for (const [how, lose] of Object.entries(LOSSES))
  test(`an item that loses its only country by ${how} is offered nowhere until that country's feed names it again`, async () => {
    await load(offers(ALL), BE);
    assert.equal(await offeredIn('d'), 'BE anywhere');
    assert.equal((await lose()).removed, 1);
    const { revision, fields, removed } = await recordOf('d');
    assert.deepEqual([fields.title, removed, await offeredIn('d')], ['d', false, '']);
    assert.deepEqual(await catalog.count(tenantId), { items: 4, available: 3 });
    for (const repeat of [lose, () => load(base(ALL))]) {
      const again = await repeat();
      assert.deepEqual([again.state, again.changed, again.removed], ['done', 0, 0]);
    }
    assert.deepEqual([(await recordOf('d')).revision, await offeredIn('d')], [revision, '']);
    assert.equal((await load(base(ALL).map((row) => ({ ...row, price: 6 })))).changed, 4);
    assert.equal(await offeredIn('d'), '', 'nor does news of the item offer it');
    const back = await load(offers(ALL), BE);
    assert.deepEqual([back.rejected, back.changed], [0, 1]);
    assert.equal(await offeredIn('d'), 'BE anywhere');
    assert.deepEqual(await countriesOf('d'), { BE: { price: 9, available: true } });
  });

test('an item that loses one of its countries is offered in the others as before', async () => {
  await load(offers(ALL), BE);
  await load(offers(ALL, 8), { country: 'NL' });
  await load(offers(['a', 'b', 'c']), BE);
  assert.equal(await offeredIn('d'), 'NL anywhere');
  assert.deepEqual(await countriesOf('d'), { BE: { available: false }, NL: { price: 8, available: true } });
  assert.equal((await catalog.count(tenantId)).available, 4);
});

test('an item without countries is offered everywhere, whether the feed of one leaves it out or marks it', async () => {
  await load(offers(['a', 'b']), BE);
  const { removed } = await load([{ id: 'd', deleted: true }], { ...BE, mode: 'delta' });
  assert.equal(removed, 0);
  for (const id of ['c', 'd']) assert.equal(await offeredIn(id), 'BE NL anywhere');
  assert.equal(await offeredIn('a'), 'BE anywhere');
});

test('a row that names countries or languages replaces them, as a change of the item does', async () => {
  const EVERYTHING = { fr: { title: 'F' }, nl: { title: 'N' } };
  const feeds = async (row: Row) => {
    await load([{ ...base(['d'])[0], languages: EVERYTHING, countries: { BE: {}, NL: {} } }], {
      mode: 'delta',
    });
    await load(offers(['d']), { country: 'FR', mode: 'delta' });
    await load([{ ...base(['d'])[0], ...row }], { mode: 'delta' });
    const { languages, countries } = await catalog.get(tenantId, 'd');
    return [Object.keys(languages).sort().join(' '), Object.keys(countries).sort().join(' ')];
  };
  const table: [row: Row, languages: string, countries: string][] = [
    [{}, 'fr nl', 'BE FR NL'],
    [{ countries: null, languages: null }, 'fr nl', 'BE FR NL'],
    [{ countries: { be: {} } }, 'fr nl', 'BE'],
    [{ countries: {} }, 'fr nl', ''],
    [{ languages: { nl: {} } }, 'nl', 'BE FR NL'],
    [{ 'title:de': 'D' }, 'de fr nl', 'BE FR NL'],
    [{ 'title:de': 'D', languages: {} }, 'de', 'BE FR NL'],
  ];
  for (const [row, languages, countries] of table)
    assert.deepEqual(await feeds(row), [languages, countries], JSON.stringify(row));
  await load([{ ...base(['d'])[0], countries: { NL: {} } }], { mode: 'delta' });
  assert.equal(await offeredIn('d'), 'NL anywhere');
});

test('of a country that a row leaves out, what its feed says later stays, and what it said before does not come back', async () => {
  const named = (countries: object) => [{ ...base(['d'])[0], countries }];
  async function* whileItIsRead(rows: Row[], meanwhile: () => Promise<unknown>) {
    yield* contentOf(rows);
    await meanwhile();
  }
  const later = () => load(offers(['d']), { country: 'NL', mode: 'delta' });
  await loadFeed(whileItIsRead(named({ BE: {} }), later), { format: 'json', mode: 'delta' });
  assert.equal(await offeredIn('d'), 'BE NL anywhere');
  await load(offers(ALL), BE);
  const held = await load(offers(['d'], 7), BE);
  assert.equal(held.state, 'held');
  await load(named({ NL: {} }), { mode: 'delta' });
  await catalog.imports.confirm(tenantId, held.id);
  assert.deepEqual(Object.keys(await countriesOf('d')), ['NL']);
});

test('what a country no longer has is not dropped once more: a feed is held by half of what is left', async () => {
  const soldOut = { id: 'd', price: 9, availability: 'sold out' };
  await load([...offers(['a', 'b', 'c']), soldOut], BE);
  const table: [rows: Row[], state: string, removed: number][] = [
    [offers(['a']), 'held', 3],
    [[...offers(['a']), soldOut], 'done', 2],
    [offers(['a']), 'done', 1],
    [[], 'held', 1],
    [offers(ALL), 'done', 0],
    [offers(['a']), 'held', 3],
  ];
  for (const [rows, state, removed] of table) {
    const ended = await load(rows, BE);
    assert.deepEqual([ended.state, ended.removed], [state, removed], JSON.stringify(rows));
  }
});

test('an item that loses a language stays, and may have it again without a link', async () => {
  const titles = (ids: string[]) => ids.map((id) => ({ id, title: `${id} nl` }));
  const nl = { language: 'nl' };
  const languagesOf = async () => (await catalog.get(tenantId, 'd')).languages;
  await load(titles(ALL), nl);
  assert.equal((await load(titles(['a', 'b', 'c']), nl)).removed, 1);
  assert.deepEqual([await languagesOf(), await offeredIn('d')], [{}, 'BE NL anywhere']);
  assert.deepEqual((await load(titles(ALL), nl)).changed, 1);
  assert.deepEqual(await languagesOf(), { nl: { title: 'd nl' } });
});

const linked = (rows: Row[]) => rows.map((row) => ({ ...row, link: `https://s.example/${row.id}` }));
const isThere = async (id: string) =>
  (await catalog.list(tenantId, {})).some(({ itemPid }) => itemPid === id);
const REMOVALS: Record<string, () => Promise<unknown>> = {
  'by the API': () => catalog.remove(tenantId, 'd'),
  'by a delta': () => load([{ id: 'd', deleted: true }], { mode: 'delta' }),
  'by a full feed': () => load([...base(['a', 'b', 'c']), { id: 'd', deleted: true }]),
};
for (const [how, remove] of Object.entries(REMOVALS))
  test(`an item that was deleted ${how} is not made of what the feed of a language or a country says of it`, async () => {
    const parts = [
      { rows: linked([{ id: 'd', title: 'D' }]), input: { language: 'nl' } },
      { rows: [{ id: 'd', title: 'D' }], input: { language: 'nl' } },
      { rows: linked(offers(['d'])), input: BE },
    ];
    await remove();
    for (const { rows, input } of parts)
      for (const mode of ['delta', 'full'] as const) {
        const { state, rejected, errors } = await load(rows, { ...input, mode });
        assert.deepEqual([state, rejected, await isThere('d')], ['done', 1, false]);
        assert.match(errors[0]!.reasons[0]!, /^the item was deleted/);
      }
    await load(base(['d']), { mode: 'delta' });
    for (const { rows, input } of parts) await load(rows, { ...input, mode: 'delta' });
    const { fields, languages, countries } = await catalog.get(tenantId, 'd');
    assert.deepEqual(fields, { title: 'd', price: 5 });
    assert.deepEqual([Object.keys(languages), Object.keys(countries)], [['nl'], ['BE']]);
  });

test('an item that was deleted while the feed of a language waited is not made of what that says of it', async () => {
  const titles = (ids: string[]) => ids.map((id) => ({ id, title: `${id} nl` }));
  await load(titles(ALL), { language: 'nl' });
  const held = await load(linked([{ id: 'd', title: 'later' }]), { language: 'nl' });
  assert.equal(held.state, 'held');
  await load([{ id: 'd', deleted: true }], { mode: 'delta' });
  assert.equal((await catalog.imports.confirm(tenantId, held.id)).changed, 0);
  assert.equal(await isThere('d'), false);
});

test('an item that a full feed missed is there again with all that was said of it when any feed names it with its link', async () => {
  await load(base(['a', 'b', 'c']));
  assert.equal(await isThere('d'), false);
  await load(linked([{ id: 'd', title: 'D' }]), { language: 'nl', mode: 'delta' });
  const { fields, languages } = await catalog.get(tenantId, 'd');
  assert.deepEqual([fields, languages.nl!.title], [{ title: 'd', price: 5 }, 'D']);
});
