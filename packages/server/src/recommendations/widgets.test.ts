/** Widgets: CRUD, filters, boosts, bury, pins, hiding, validity, mapping, preview (D15). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../testing/wait.ts';
import { base64url, PAGE, startTestShop } from './demo-shop.fixture.ts';

const shop = await startTestShop();
const top = (id: string) => shop.pids(`/r?widgetid=${id}&lang=en`);
await shop.did({ visitor: 'x' }, 'view', 'a', 'b', 'c', 'd');

test('a widget is created, read, replaced and deleted', async () => {
  const created = await shop.call('POST', '/widgets', { name: 'One', algorithm: 'popular', size: 3 });
  assert.equal(created.status, 201);
  const { id } = created.body;
  assert.equal((await shop.call('GET', `/widgets/${id}`)).body.size, 3);
  assert.equal((await top(id)).length, 3);
  assert.equal((await shop.call('PUT', `/widgets/${id}`, { ...created.body, size: 5 })).status, 200);
  assert.equal((await top(id)).length, 5);
  assert.equal((await shop.call('PUT', `/widgets/${id}`, { name: 'One' })).body.size, 10);
  assert.equal((await shop.call('DELETE', `/widgets/${id}`)).status, 200);
  assert.equal((await shop.call('GET', `/widgets/${id}`)).status, 404);
  await assert.rejects(top(id), /404/);
});

test('a request that names one item by its id and another by its page is answered with neither', async () => {
  const { id } = (await shop.call('POST', '/widgets', { name: 'Two', algorithm: 'popular', size: 100 })).body;
  const all = await top(id);
  for (const slash of ['', '/'])
    for (const page of ['b', 'c', 'a']) {
      const path = `/rp/a/${base64url(PAGE(page))}${slash}?widgetid=${id}&lang=en&tpid=0`;
      assert.deepEqual(
        (await shop.pids(path)).toSorted(),
        all.filter((pid) => pid !== 'a' && pid !== page).toSorted(),
      );
    }
});

test('the items of one page are no answers to each other, whichever of them the request names', async () => {
  const { id } = (await shop.call('POST', '/widgets', { name: 'Sizes', algorithm: 'popular', size: 100 }))
    .body;
  const { catalog } = shop.server.modules;
  const { id: tenantId } = shop.server.tenant;
  const sizes = ['boot-40', 'boot-41', 'boot-42'];
  const fields = { title: 'Boot' };
  for (const itemPid of sizes)
    await catalog.put(tenantId, {
      itemPid,
      itemUrl: PAGE('boot'),
      available: true,
      fields,
      languages: {},
      countries: {},
    });
  const others = (await top(id)).filter((pid) => !sizes.includes(pid));
  const page = base64url(PAGE('boot'));
  for (const path of [`/r/${page}`, `/rp/boot-40/${page}`, `/rp/boot-42/${page}/`])
    assert.deepEqual(
      (await shop.pids(`${path}?widgetid=${id}&lang=en&tpid=0`)).toSorted(),
      others.toSorted(),
      path,
    );
  assert.ok((await top(id)).includes('boot-41'));
  for (const itemPid of sizes) await catalog.remove(tenantId, itemPid);
});

test('what is wrong with a widget is refused, all of it', async () => {
  const table: Record<string, unknown>[] = [
    {},
    { name: '' },
    { name: ' \t' },
    { name: 'x', size: 0 },
    { name: 'x', size: 101 },
    { name: 'x', algorithm: 'magic' },
    { name: 'x', colour: 'red' },
    { name: 'x', filters: [{ field: 'a', operator: 'equals' }] },
    { name: 'x', filters: [{ field: 'a', operator: 'exists', value: 1 }] },
    { name: 'x', filters: [{ field: 'a', operator: 'in', value: [] }] },
    { name: 'x', filters: [{ field: 'a', operator: 'equals', value: null }] },
    { name: 'x', boosts: [{ when: [{ field: 'a', operator: 'equals', value: { b: 1 } }], factor: 2 }] },
    { name: 'x', bury: [{ when: [{ field: 'a', operator: 'in', value: ['b', ['c']] }] }] },
    { name: 'x', bury: [{ when: Array(51).fill({ field: 'a', operator: 'exists' }) }] },
    { name: 'x', fields: [{ field: 'title', as: 'score' }] },
    { name: 'x', fields: [{ field: 'image_url', as: 'item_url' }] },
    {
      name: 'x',
      pins: [
        {
          item_pid: 'a',
          position: 1,
          valid_from: '2026-02-01T00:00:00Z',
          valid_until: '2026-01-01T00:00:00Z',
        },
      ],
    },
    { name: 'x', experiment: { widget: 'nobody', share: 50 } },
  ];
  for (const body of table) {
    const answer = await shop.call('POST', '/widgets', body);
    assert.equal(answer.status, 400, JSON.stringify(body));
    assert.equal(answer.body.result_code, 'ValidationFailed');
  }
});

test('of a widget, wrong types and broken rules are reported together, by their places', async () => {
  const { status, body } = await shop.call('POST', '/widgets', {
    id: 'no id',
    size: '5',
    filters: ['brand', { field: 'brand', operator: 'equals' }],
    boosts: [{ when: [{ field: 'a', operator: 'exists', value: 1 }], factor: -1 }],
    pins: [{ item_pid: 'a', position: 1, valid_from: 'soon', valid_until: '2026-01-01T00:00:00Z' }],
    fields: [{ field: 'title', as: 'score' }, {}, {}],
  });
  assert.equal(status, 400);
  const wrong = body.errors.map(({ description }: { description: string }) => description.split(' ', 1)[0]);
  assert.deepEqual(wrong.toSorted(), [
    'boosts[0].factor',
    'boosts[0].when[0]',
    'fields[0].as',
    'fields[1].field',
    'fields[2].field',
    'filters[0]',
    'filters[1]',
    'id',
    'name',
    'pins[0].valid_from',
    'size',
  ]);
});

test('a blank name is refused where a widget is created, replaced or tried out', async () => {
  const id = await shop.widget();
  for (const [method, path, body] of [
    ['POST', '/widgets', { name: ' ' }],
    ['PUT', `/widgets/${id}`, { name: ' ' }],
    ['POST', `/widgets/${id}/preview`, { widget: { name: ' ' } }],
  ] as const) {
    const answer = await shop.call(method, path, body);
    assert.equal(answer.status, 400, path);
    assert.match(JSON.stringify(answer.body), /name must not be blank/);
  }
});

test('amounts that are texts, empty or none at all are filtered by what they are', async () => {
  const weights: Record<string, unknown> = { y1: '', y2: 45, y3: null, y4: '100 g', y5: '45.00' };
  for (const [pid, weight] of Object.entries(weights)) {
    const item = { item_url: PAGE(pid), fields: { title: pid, series: 'y', weight } };
    assert.equal((await shop.call('PUT', `/catalog/items/${pid}`, item)).status, 201);
  }
  const table: [operator: 'less_than' | 'equals' | 'exists' | 'missing', value: unknown, pids: string[]][] = [
    ['less_than', 50, ['y2', 'y5']],
    ['equals', 45, ['y2', 'y5']],
    ['equals', '45.0', ['y2', 'y5']],
    ['exists', undefined, ['y2', 'y4', 'y5']],
    ['missing', undefined, ['y1', 'y3']],
  ];
  for (const [operator, value, pids] of table) {
    const ours = { field: 'series', operator: 'equals', value: 'y' } as const;
    const asked = value === undefined ? { field: 'weight', operator } : { field: 'weight', operator, value };
    const id = await shop.widget({ size: 100, filters: [ours, asked] });
    assert.deepEqual((await top(id)).toSorted(), pids, operator);
  }
  for (const pid of Object.keys(weights)) await shop.call('DELETE', `/catalog/items/${pid}`);
});

test('filters know when an item was added, and that what is answered is available', async () => {
  const all = (await top(await shop.widget({ size: 100 }))).toSorted();
  const table: [field: string, operator: 'greater_than' | 'equals', value: unknown, pids: string[]][] = [
    ['added_at', 'greater_than', '2020-01-01', all],
    ['added_at', 'greater_than', '9999-01-01T00:00:00Z', []],
    ['available', 'equals', true, all],
    ['available', 'equals', false, []],
  ];
  for (const [field, operator, value, pids] of table) {
    const id = await shop.widget({ size: 100, filters: [{ field, operator, value }] });
    assert.deepEqual((await top(id)).toSorted(), pids, `${field} ${value}`);
  }
});

test('filters let through what satisfies them, also with an operand of the item in view', async () => {
  const cheap = await shop.widget({
    size: 100,
    filters: [{ field: 'price', operator: 'less_than', value: 13 }],
  });
  assert.deepEqual((await top(cheap)).toSorted(), ['a', 'b', 'c']);
  const same = await shop.widget({
    size: 100,
    filters: [{ field: 'brand', operator: 'equals', context_field: 'brand' }],
  });
  const item = Buffer.from('https://shop.example/p/a').toString('base64url');
  const pids = await shop.pids(`/rp/a/${item}?widgetid=${same}&lang=en`);
  assert.deepEqual(pids.toSorted(), ['c', 'e', 'g', 'i', 'k']);
  await shop.call('PATCH', '/catalog/items/c', { fields: { title: 'C', brand: 'Other', price: 1 } });
  assert.ok(!(await shop.pids(`/rp/a/${item}?widgetid=${same}&lang=en`)).includes('c'));
  assert.ok((await top(cheap)).includes('c'));
});

test('answers that are kept for a moment are told apart by the item in view, also where no model knows it', async () => {
  const same = await shop.widget({
    size: 100,
    filters: [{ field: 'category', operator: 'equals', context_field: 'category' }],
  });
  for (const [pid, category] of [
    ['u1', 'Hats'],
    ['u2', 'Bags'],
  ]) {
    const item = { item_url: `https://shop.example/p/${pid}`, available: false, fields: { category } };
    assert.equal((await shop.call('PUT', `/catalog/items/${pid}`, item)).status, 201);
  }
  const about = async (path: string) => (await shop.pids(`${path}?widgetid=${same}&lang=en`)).toSorted();
  const page = (pid: string) => Buffer.from(`https://shop.example/p/${pid}`).toString('base64url');
  assert.deepEqual(await about(`/rp/u1/${page('u1')}`), ['b', 'e', 'h', 'k']);
  assert.deepEqual(await about(`/rp/u2/${page('u2')}`), ['f', 'i']);
  assert.equal((await about('/r')).length, 11);
});

test('pins, hiding, boosts and bury decide places, while they are valid', async () => {
  const past = { valid_until: '2020-01-01T00:00:00Z' };
  const ruled = await shop.widget({
    size: 6,
    pins: [
      { item_pid: 'j', position: 2 },
      { item_pid: 'i', position: 1, ...past },
      { item_pid: 'l', position: 3 },
      { item_pid: 'j', position: 4 },
    ],
    hide: [{ item_pid: 'a' }, { item_pid: 'b', ...past }],
    boosts: [{ when: [{ field: 'item_pid', operator: 'equals', value: 'd' }], factor: 100 }],
    bury: [{ when: [{ field: 'item_pid', operator: 'equals', value: 'c' }] }],
  });
  const pids = await top(ruled);
  assert.deepEqual(pids.slice(0, 2), ['d', 'j']);
  assert.equal(new Set(pids).size, 6);
  assert.ok(!pids.includes('a') && !pids.includes('l') && pids.includes('b'));
  assert.ok(pids.indexOf('b') < (pids.includes('c') ? pids.indexOf('c') : 99));
});

test('boosts and bury may compare with the item in view, and do nothing where there is none', async () => {
  const brand = [{ field: 'brand', operator: 'equals' as const, context_field: 'brand' }];
  const plain = await shop.widget({ size: 4 });
  const boosted = await shop.widget({ size: 4, boosts: [{ when: brand, factor: 1000 }] });
  const buried = await shop.widget({ size: 4, bury: [{ when: brand }] });
  interface Shown {
    item_pid: string;
    score: number;
    rules: string[];
    fields: { brand: string };
  }
  const shown = async (id: string, body: { item_pid?: string }): Promise<Shown[]> =>
    (await shop.call('POST', `/widgets/${id}/preview`, body)).body.items;
  // e is of Acme, f of Bolt
  for (const [item_pid, own] of [
    ['e', 'Acme'],
    ['f', 'Bolt'],
  ] as const) {
    const raised = await shown(boosted, { item_pid });
    assert.deepEqual([raised[0]!.fields.brand, raised[0]!.rules], [own, ['boosted by 1000']]);
    const lowered = await shown(buried, { item_pid });
    assert.ok(lowered.every(({ fields, rules }) => fields.brand !== own && rules.length === 0));
    const path = `/rp/${item_pid}/${base64url(PAGE(item_pid))}?widgetid=${buried}&lang=en`;
    assert.deepEqual(
      await shop.pids(path),
      lowered.map((one) => one.item_pid),
    );
  }
  for (const id of [boosted, buried]) {
    assert.deepEqual(await top(id), await top(plain));
    for (const { score, rules } of await shown(id, {})) assert.ok(score > 0 && rules.length === 0);
  }
});

test('a filter on a field that the item in view does not have lets everything through', async () => {
  const id = await shop.widget({
    size: 3,
    filters: [{ field: 'brand', operator: 'equals', context_field: 'season' }],
  });
  assert.equal((await shop.pids(`/rp/e/${base64url(PAGE('e'))}?widgetid=${id}&lang=en`)).length, 3);
});

test('many boosts together are still a score, and two pins for one place keep their order', async () => {
  // So far it and d differ by milliseconds of decay, which scores show or do not, as they are rounded.
  await shop.did({ visitor: 'y' }, 'view', 'b');
  const id = await shop.widget({
    size: 5,
    boosts: Array.from({ length: 20 }, () => ({
      when: [{ field: 'brand', operator: 'equals' as const, value: 'Bolt' }],
      factor: 1000,
    })),
    pins: ['g', 'e', 'i'].map((item_pid) => ({ item_pid, position: 1 })),
  });
  const { body } = await shop.call('POST', `/widgets/${id}/preview`, {});
  assert.deepEqual(
    body.items.map(({ item_pid }: { item_pid: string }) => item_pid),
    ['g', 'e', 'i', 'b', 'd'],
  );
  for (const { score } of body.items) assert.ok(Number.isInteger(score) && score > 0, String(score));
});

test('rules look at what items say in the country of the request', async () => {
  const k = (operator: 'at_most' | 'greater_than', value: number) => ({ field: 'price', operator, value });
  const dear = await shop.widget({ filters: [k('greater_than', 90)], size: 100 });
  const cheap = await shop.widget({ filters: [k('at_most', 20)], size: 100 });
  const buried = await shop.widget({ bury: [{ when: [k('at_most', 90)] }], size: 1 });
  const dearer = await shop.widget({
    filters: [{ field: 'price', operator: 'greater_than', context_field: 'price' }],
    size: 100,
  });
  const inBelgium = (id: string, path = '/r') => shop.pids(`${path}?widgetid=${id}&lang=en&loc=be`);
  assert.deepEqual([await top(dear), await inBelgium(dear)], [[], ['k']]);
  assert.deepEqual(
    [await top(cheap), await inBelgium(cheap)].map((pids) => pids.includes('k')),
    [true, false],
  );
  assert.deepEqual([(await top(buried))[0] === 'k', await inBelgium(buried)], [false, ['k']]);
  const viewed = `/rp/k/${base64url(PAGE('k'))}`;
  assert.deepEqual(await inBelgium(dearer, viewed), [], 'nothing costs more than k does there');
});

test('a preview explains each place and takes settings that are not saved', async () => {
  const id = await shop.widget({ pins: [{ item_pid: 'h', position: 1 }] });
  const { status, body } = await shop.call('POST', `/widgets/${id}/preview`, {
    lang: 'nl',
    widget: { size: 2 },
  });
  assert.equal(status, 200);
  assert.equal(body.items.length, 2);
  assert.deepEqual(
    [body.items[0].item_pid, body.items[0].model, body.items[0].rules],
    ['h', 'pin', ['pinned']],
  );
  assert.equal(body.items[0].fields.title, 'Ding h');
  assert.equal((await shop.call('GET', `/widgets/${id}`)).body.size, 10);
});

test('a preview names the items in the language that it is asked in', async () => {
  const id = await shop.widget({ size: 1 });
  const { body } = await shop.call('POST', `/widgets/${id}/preview`, { lang: 'nl-BE' });
  assert.match(body.items[0].title, /^Ding /);
});

test('what is wrong with the question of a preview is refused, all of it', async () => {
  const id = await shop.widget();
  const wrong = { lang: 'e', loc: 'BEL', url: '/p', tpid: 2 ** 31, sid: 's'.repeat(257), item_pid: '\0' };
  const { status, body } = await shop.call('POST', `/widgets/${id}/preview`, wrong);
  assert.equal(status, 400);
  for (const name of Object.keys(wrong)) assert.ok(JSON.stringify(body.errors).includes(name), name);
});

test('a preview with some settings keeps what is saved of the others', async () => {
  const id = await shop.widget({ size: 3, exclude_seen: true });
  await shop.did({ visitor: 'seen' }, 'view', 'a');
  const widget = { title: 'Only the title' };
  const { body } = await shop.call('POST', `/widgets/${id}/preview`, { sid: 'seen', widget });
  assert.equal(body.items.length, 3);
  assert.ok(!body.items.some(({ item_pid }: { item_pid: string }) => item_pid === 'a'));
});

test('a widget that is read again is the very same object until it changes', async () => {
  const { widgets } = shop.server.modules.recommendations;
  const { id: tenantId } = shop.server.tenant;
  const id = await shop.widget();
  const widget = await widgets.find(tenantId, id);
  await shop.server.modules.db.notify('recommendation_widgets', `${tenantId} ${id}`);
  await until(() => widgets.peek(tenantId, id) === undefined);
  assert.equal(await widgets.find(tenantId, id), widget);
  await shop.call('PUT', `/widgets/${id}`, { name: 'another' });
  assert.equal((await widgets.find(tenantId, id))?.name, 'another');
});

test('a stranger to whom the algorithm has nothing to say gets what the fallback has, and 204 when that is empty too (D12)', async () => {
  const table: [object, number][] = [
    [{ fallback: [] }, 204],
    [{ fallback: ['related'] }, 204],
    [{ fallback: ['new'] }, 200],
    [{}, 200],
  ];
  for (const [chain, expected] of table) {
    const widgetid = await shop.widget({ algorithm: 'recently-viewed', ...chain });
    const { status } = await shop.ask(`/r/?widgetid=${widgetid}&lang=en&tpid=4711`);
    assert.equal(status, expected, JSON.stringify(chain));
  }
});

test('a title is one text, or texts by language that are named by language tags', async () => {
  const stored: [title: unknown, shown: unknown][] = [
    ['Popular', 'Popular'],
    [
      { nl_BE: 'Populair', EN: 'Popular' },
      { 'nl-be': 'Populair', en: 'Popular' },
    ],
    [null, null],
  ];
  for (const [title, shown] of stored) {
    const { status, body } = await shop.call('POST', '/widgets', { name: 'Titled', title });
    assert.equal(status, 201, JSON.stringify(body));
    assert.deepEqual((await shop.call('GET', `/widgets/${body.id}`)).body.title, shown);
  }
  const refused: unknown[] = [
    5,
    ['Popular'],
    { e: 'x' },
    { nl: 5 },
    { nl: 'x', NL: 'y' },
    { nl: 'x'.repeat(201) },
  ];
  for (const title of refused) {
    const { status, body } = await shop.call('POST', '/widgets', { name: 'Titled', title });
    assert.equal(status, 400, JSON.stringify(title));
    assert.match(body.errors[0].description, /^title/, JSON.stringify(title));
  }
});
