/** Widgets: CRUD, filters, boosts, bury, pins, hiding, validity, mapping, preview, experiments (D15). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { untilWaiting, whileLocked } from '../testing/locks.ts';
import { until } from '../testing/wait.ts';
import { base64url, PAGE, startTestShop } from './demo-shop.fixture.ts';
import { contactKey } from './visitor-key.ts';
import { variantOf } from './widgets/widget.ts';

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

test('an experiment compares widgets of one organization: another one keeps its figures to itself', async () => {
  const { accounts, recommendations } = shop.server.modules;
  const { tenant } = shop.server;
  await accounts.createOrganization(tenant, { name: 'neighbour' });
  const theirs = await recommendations.widgets.create(tenant.id, 'neighbour', { name: 'theirs' });
  const ours = await shop.widget({});
  const experiment = { widget: theirs.id, share: 50 };
  for (const answer of [
    await shop.call('POST', '/widgets', { name: 'x', experiment }),
    await shop.call('PUT', `/widgets/${ours}`, { name: 'x', experiment }),
  ]) {
    assert.equal(answer.status, 400);
    assert.match(
      JSON.stringify(answer.body),
      /experiment\.widget must be another widget of the organization/,
    );
  }
});

test('a widget that another one is compared with is not deleted before that experiment ends', async () => {
  const b = await shop.widget({ size: 1 });
  const a = await shop.widget({ size: 2, experiment: { widget: b, share: 50 } });
  const { status, body } = await shop.call('DELETE', `/widgets/${b}`);
  assert.deepEqual([status, body.result_code], [409, 'Conflict']);
  assert.equal(body.message, `Widget ${a} is compared with ${b}: end its experiment first.`);
  await shop.call('PUT', `/widgets/${a}`, { name: 'a', size: 2 });
  assert.equal((await shop.call('DELETE', `/widgets/${b}`)).status, 200);
});

test('a widget is not deleted while it becomes one that another is compared with', async () => {
  const { db, recommendations } = shop.server.modules;
  const { widgets } = recommendations;
  const [{ id: tenantId }, { organization }] = [shop.server.tenant, shop.server];
  const [a, b] = [await shop.widget(), await shop.widget()];
  const { both } = await whileLocked(
    db,
    (sql) => sql`select from recommendation_widgets where tenant_id = ${tenantId} and id = ${a} for update`,
    async () => {
      const experiment = { widget: b, share: 50 };
      const comparing = widgets.update(tenantId, organization, a, { name: 'a', experiment });
      await untilWaiting(db, 'update recommendation_widgets');
      const deleting = widgets.remove(tenantId, organization, b);
      await Promise.race([deleting, untilWaiting(db, 'delete from recommendation_widgets')]);
      return { both: Promise.allSettled([comparing, deleting]) };
    },
  );
  assert.deepEqual(
    (await both).map(({ status }) => status),
    ['fulfilled', 'rejected'],
  );
});

test('an experiment shows a contact the same on every device', async () => {
  const b = await shop.widget({ size: 1 });
  const a = await shop.widget({ size: 2, experiment: { widget: b, share: 50 } });
  const size = async (query: string) => (await shop.pids(`/r/?widgetid=${a}&lang=en&${query}`)).length;
  for (let tpid = 1; tpid <= 8; tpid++) {
    const alone = await size(`tpid=${tpid}`);
    for (const sid of ['phone', 'laptop', 'tablet'])
      assert.equal(await size(`tpid=${tpid}&sid=${sid}`), alone, `${tpid} ${sid}`);
  }
  const strangers = await Promise.all(Array.from({ length: 20 }, (_, i) => size(`tpid=0&sid=v${i}`)));
  assert.deepEqual([...new Set(strangers)].toSorted(), [1, 2]);
});

test('an experiment shows who was merged the same by each of the former numbers', async () => {
  const b = await shop.widget({ size: 1 });
  const a = await shop.widget({ size: 2, experiment: { widget: b, share: 50 } });
  const { modules, tenant } = shop.server;
  const numbers = Array.from({ length: 20 }, (_, index) => 1000 + index);
  const shownTo = (tpid: number) => shop.pids(`/r/?widgetid=${a}&lang=en&tpid=${tpid}`);
  const sizes = async () => new Set((await Promise.all(numbers.map(shownTo))).map(({ length }) => length));
  assert.deepEqual([...(await sizes())].toSorted(), [1, 2]);
  const links = numbers.map((number) => ({ key: contactKey(number), contact: 1000 }));
  await modules.db.transaction((tx) =>
    modules.recommendations.interactions.record(tx, tenant.id, [], links.slice(1)),
  );
  assert.equal((await sizes()).size, 1);
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

test('an experiment gives each visitor one of two widgets, always the same, in the shares that were set', async () => {
  const shares = Array.from({ length: 4000 }, (_, index) =>
    variantOf('w', `c${index}`, { widget: 'other', share: 30 }),
  );
  const other = shares.filter((id) => id === 'other').length / 4000;
  assert.ok(other > 0.26 && other < 0.34, String(other));
  const b = await shop.widget({ size: 1 });
  const a = await shop.widget({ size: 2, experiment: { widget: b, share: 50 } });
  const sizes = new Set<number>();
  for (let tpid = 1; tpid <= 20; tpid++) {
    const path = `/r/?widgetid=${a}&lang=en&tpid=${tpid}`;
    const { length } = await shop.pids(path);
    assert.equal((await shop.pids(path)).length, length);
    sizes.add(length);
  }
  assert.deepEqual([...sizes].toSorted(), [1, 2]);
});

test('a change of the widget that somebody is shown counts at once, whichever of the two it is', async () => {
  const b = await shop.widget({ size: 1 });
  const a = await shop.widget({ size: 2, experiment: { widget: b, share: 100 } });
  const length = async () => (await shop.pids(`/r/?widgetid=${a}&lang=en&tpid=1`)).length;
  assert.equal(await length(), 1);
  await shop.call('PUT', `/widgets/${b}`, { name: 'b', size: 3 });
  assert.equal(await length(), 3);
  await shop.call('PUT', `/widgets/${a}`, { name: 'a', size: 4 });
  assert.equal(await length(), 4);
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
