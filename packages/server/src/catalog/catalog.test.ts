/** Items and imports through the API: full and delta, languages and countries, refused rows, held feeds (D16). */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { csv, row, startTestCatalog } from './catalog.fixture.ts';

const { server, base, call, pids } = await startTestCatalog();

test('an upload tells what it did, and each refused row with its line and reasons', async () => {
  const body = csv([row('a'), ',https://s.example/x,x,1', 'b,nowhere,b,cheap', row('c')]);
  const { status, body: done } = await call('POST', '/imports?mode=full', body, 'text/csv');
  assert.equal(status, 200);
  assert.deepEqual([done.state, done.rows, done.accepted, done.rejected, done.changed], ['done', 4, 2, 2, 2]);
  assert.deepEqual(
    done.errors.map(({ line, reasons }: { line: number; reasons: string[] }) => [line, reasons.length]),
    [
      [3, 1],
      [4, 2],
    ],
  );
  assert.deepEqual(await pids(), ['a', 'c']);
});

test('what is wrong with a request is reported at once, wrong types beside broken rules', async () => {
  const table: [method: string, path: string, body: unknown, members: string[]][] = [
    [
      'PUT',
      '/items/a',
      {
        item_pid: 'b',
        item_url: '/a',
        available: 1,
        fields: { score: 1 },
        languages: { 'no tag': {}, nl: 1 },
      },
      ['available', 'fields.score', 'item_pid', 'item_url', 'languages.nl', 'languages.no'],
    ],
    ['PUT', '/items/a', { countries: { BEL: {} } }, ['countries.BEL', 'item_url']],
    [
      'PUT',
      '/items/a',
      {
        item_url: 'https://s.example/a',
        fields: { price: -1, title: {} },
        languages: { nl: { brand: true } },
      },
      ['fields.price', 'fields.title', 'languages.nl.brand'],
    ],
    ['PATCH', '/items/a', { fields: { categories: 5, sizes: 5 } }, ['fields.categories']],
    [
      'PATCH',
      '/items/a',
      { item_url: '/a', available: 1, colour: 'red' },
      ['available', 'colour', 'item_url'],
    ],
    [
      'POST',
      '/feeds',
      { name: 'f', url: 'ftp://s.example', language: '!', country: 'BEL', every_minutes: 1 },
      ['country', 'every_minutes', 'language', 'url'],
    ],
    ['POST', '/feeds', { url: 'https://s.example/f', language: 'nl', country: 'BE' }, ['country', 'name']],
    ['POST', '/imports?mode=some&language=!&country=BEL', csv([]), ['country', 'language', 'mode']],
  ];
  for (const [method, path, body, members] of table) {
    const answer = await (typeof body === 'string'
      ? call(method, path, body, 'text/csv')
      : call(method, path, JSON.stringify(body)));
    assert.equal(answer.status, 400, path);
    const wrong = answer.body.errors.map(
      ({ description }: { description: string }) => description.split(' ', 1)[0],
    );
    assert.deepEqual(wrong.toSorted(), members, JSON.stringify(answer.body));
  }
});

test('a row that cannot be stored, or whose error would be cut inside a character, does not stop the rest', async () => {
  const known = { id: 'a', link: 'https://s.example/a', title: 'a', price: '5 EUR' };
  const long = `${'x'.repeat(39)}\u{1f45f}`;
  const rows = [{ title: 'a\0' }, { title: '\ud800' }, { price: long }, { id: `${long.repeat(7)}` }, {}];
  const body = rows.map((own) => JSON.stringify({ ...known, ...own })).join('\n');
  const { status, body: done } = await call('POST', '/imports', body, 'application/x-ndjson');
  assert.deepEqual([status, done.state, done.accepted, done.rejected], [200, 'done', 1, 4]);
});

test('an import tells every row that it refused, and the list of imports the first ten of each', async () => {
  const body = '{}\n'.repeat(25);
  const { body: done } = await call('POST', '/imports', body, 'application/x-ndjson');
  assert.deepEqual([done.rejected, done.errors.length], [25, 25]);
  assert.equal((await call('GET', `/imports/${done.id}`)).body.errors.length, 25);
  const [latest] = (await call('GET', '/imports')).body;
  assert.deepEqual(latest, { ...done, errors: done.errors.slice(0, 10) });
});

test('a row with a field of the wrong type is reported with its line, and the rest goes on', async () => {
  const link = 'https://s.example/typed';
  const wrong = [
    { price: {} },
    { price: true },
    { price: -1 },
    { brand: {} },
    { categories: 5 },
    { title: {} },
  ];
  const rows = [{ price: 1 }, ...wrong, { price: 2 }].map((own) =>
    JSON.stringify({ id: 'typed', link, ...own }),
  );
  for (const [body, type] of [
    [rows.join('\n'), 'application/x-ndjson'],
    [`[${rows.join(',\n')}]`, 'application/json'],
  ] as const) {
    const { body: done } = await call('POST', '/imports', body, type);
    assert.deepEqual([done.state, done.accepted, done.rejected], ['done', 2, 6]);
    assert.deepEqual(
      done.errors.map(({ line, reasons }: { line: number; reasons: string[] }) => [line, reasons.length]),
      [2, 3, 4, 5, 6, 7].map((line) => [line, 1]),
    );
    assert.equal((await call('GET', '/items/typed')).body.fields.price, 2);
  }
  assert.equal((await call('DELETE', '/items/typed')).status, 200);
});

test('NDJSON that is sent as JSON is read line by line', async () => {
  const lines = ['n1', 'n2'].map((id) => JSON.stringify({ id, link: `https://s.example/${id}` }));
  const { status, body: done } = await call('POST', '/imports', `${lines[0]}\n{"id": \n${lines[1]}\n`);
  assert.deepEqual([status, done.state, done.accepted, done.errors[0].line], [200, 'done', 2, 2]);
  const said = await call('POST', '/imports?format=json', lines.join('\n'));
  assert.deepEqual([said.status, said.body.result_code], [422, 'ValidationFailed']);
  for (const id of ['n1', 'n2']) assert.equal((await call('DELETE', `/items/${id}`)).status, 200);
});

test('of an id that comes twice in a feed the last row counts, however far they are apart', async () => {
  const between = Array.from({ length: 1500 }, (_, index) => row(`between${index % 3}`, `t${index}`));
  for (const middle of [[], between]) {
    const feed = csv([row('twice', 'first'), ...middle, row('twice', 'last')]);
    assert.equal((await call('POST', '/imports', feed, 'text/csv')).body.state, 'done');
    assert.equal((await call('GET', '/items/twice')).body.fields.title, 'last');
  }
  const ids = ['twice', 'between0', 'between1', 'between2'];
  const goes = [
    ...ids.map((id) => ({ id, deleted: true })),
    { id: 'kept', deleted: true },
    { id: 'kept', link: 'https://s.example/kept' },
  ];
  await call('POST', '/imports?confirmed=true', JSON.stringify(goes));
  assert.deepEqual(await pids(), ['a', 'c', 'kept']);
  assert.equal((await call('DELETE', '/items/kept')).status, 200);
});

test('a delta adds and deletes, a full feed also removes what it does not name, and no change is no change', async () => {
  await call(
    'POST',
    '/imports',
    `${JSON.stringify({ id: 'd', link: 'https://s.example/d' })}\n`,
    'application/x-ndjson',
  );
  assert.deepEqual(await pids(), ['a', 'c', 'd']);
  await call('POST', '/imports', JSON.stringify([{ id: 'd', deleted: true }]));
  assert.deepEqual(await pids(), ['a', 'c']);
  const again = await call('POST', '/imports?mode=full', csv([row('a'), row('c')]), 'text/csv');
  assert.deepEqual([again.body.changed, again.body.removed], [0, 0]);
  const less = await call('POST', '/imports?mode=full', csv([row('a')]), 'text/csv');
  assert.deepEqual([less.body.changed, less.body.removed], [0, 1]);
  assert.deepEqual(await pids(), ['a']);
});

test('an item whose row is refused stays as it is, also when the feed is full', async () => {
  await call('POST', '/imports?mode=full&confirmed=true', csv([row('a'), row('b'), row('c')]), 'text/csv');
  const feed = csv([
    row('a', 'new'),
    'b,https://s.example/b,new,cheap',
    'c,https://s.example/c,x,y',
    row('c', 'new'),
  ]);
  const { body } = await call('POST', '/imports?mode=full', feed, 'text/csv');
  assert.deepEqual([body.state, body.rejected, body.changed, body.removed], ['done', 2, 2, 0]);
  assert.deepEqual(
    body.errors.map(({ item_pid }: { item_pid: string }) => item_pid),
    ['b', 'c'],
  );
  const titles = await Promise.all(['a', 'b', 'c'].map((id) => call('GET', `/items/${id}`)));
  assert.deepEqual(
    titles.map(({ body }) => body.fields.title),
    ['new', 'b', 'new'],
  );
  await call('POST', '/imports?mode=full&confirmed=true', csv([row('a')]), 'text/csv');
});

test('feeds of a language or a country need not tell the addresses of items that are there', async () => {
  await call('POST', '/imports', csv([row('kept', 'Boot')]), 'text/csv');
  const titles = 'id,title\nkept,Laars\nnever,Niets\n';
  const { body: done } = await call('POST', '/imports?language=nl', titles, 'text/csv');
  assert.deepEqual([done.accepted, done.rejected, done.errors[0].item_pid], [1, 1, 'never']);
  assert.match(done.errors[0].reasons[0], /^link is missing/);
  await call('POST', '/imports?country=BE', 'id,price\nkept,7\n', 'text/csv');
  const { body: item } = await call('GET', '/items/kept');
  assert.deepEqual(
    [item.item_url, item.fields.title, item.languages, item.countries],
    ['https://s.example/kept', 'Boot', { nl: { title: 'Laars' } }, { BE: { price: 7, available: true } }],
  );
  assert.equal((await call('POST', '/imports', 'id,title\nkept,x\n', 'text/csv')).body.rejected, 1);
  await call('DELETE', '/items/kept');
});

test('feeds of a language or a country change their part of an item alone', async () => {
  await call('POST', '/imports?language=nl_BE', csv([row('a', 'Laars')]), 'text/csv');
  await call('POST', '/imports?country=be', csv(['a,https://s.example/a,Boot,9 EUR']), 'text/csv');
  const { body: item } = await call('GET', '/items/a');
  assert.equal(item.fields.title, 'a');
  assert.equal(item.languages['nl-be'].title, 'Laars');
  assert.deepEqual([item.countries.BE.price, item.countries.BE.available], [9, true]);
  assert.equal((await call('POST', '/imports?language=nl&country=be', csv([]), 'text/csv')).status, 400);
});

test('a page that only the feed of a country names is the page of the item there', async () => {
  const pagesAfter = async (link: string) => {
    await call('POST', '/imports?country=BE', `id,link,price\na,${link},9\n`, 'text/csv');
    const { body: item } = await call('GET', '/items/a');
    return [item.item_url, item.countries.BE];
  };
  const usual = 'https://s.example/a';
  const offer = { price: 9, available: true };
  assert.deepEqual(await pagesAfter('https://s.be/a'), [usual, { ...offer, item_url: 'https://s.be/a' }]);
  assert.deepEqual(await pagesAfter(usual), [usual, offer]);
});

test('a full feed that would drop more than half waits, and is applied or dropped by a word', async () => {
  const many = Array.from({ length: 10 }, (_, index) => row(`m${index}`));
  await call('POST', '/imports?mode=full&confirmed=true', csv(many), 'text/csv');
  const held = await call('POST', '/imports?mode=full', csv(many.slice(0, 4)), 'text/csv');
  assert.deepEqual([held.status, held.body.state, held.body.removed], [202, 'held', 6]);
  assert.equal((await pids()).length, 10);
  const { state, message } = (await call('POST', `/imports/${held.body.id}/cancel`)).body;
  assert.deepEqual([state, message], ['cancelled', 'Cancelled instead of confirmed.']);
  assert.equal((await call('POST', `/imports/${held.body.id}/confirm`)).status, 409);
  const second = await call('POST', '/imports?mode=full', csv(many.slice(0, 4)), 'text/csv');
  assert.equal((await call('POST', `/imports/${second.body.id}/confirm`)).body.state, 'done');
  assert.equal((await pids()).length, 4);
  const last = await call('POST', '/imports?mode=full', csv(many.slice(0, 1)), 'text/csv');
  assert.deepEqual(
    [last.status, last.body.state, last.body.removed],
    [202, 'held', 3],
    'however few there are',
  );
  assert.equal((await call('POST', '/imports?mode=full', csv(many.slice(0, 2)), 'text/csv')).body.removed, 2);
});

test('a feed that marks more than half as deleted waits too, whether full or delta', async () => {
  const many = Array.from({ length: 10 }, (_, index) => row(`m${index}`));
  await call('POST', '/imports?mode=full&confirmed=true', csv(many), 'text/csv');
  const deleted = (count: number) =>
    JSON.stringify(many.slice(0, count).map((_, index) => ({ id: `m${index}`, deleted: true })));
  for (const [mode, count, state] of [
    ['delta', 6, 'held'],
    ['full', 10, 'held'],
    ['delta', 5, 'done'],
  ] as const) {
    const { body } = await call('POST', `/imports?mode=${mode}`, deleted(count));
    assert.deepEqual([body.state, body.removed], [state, count]);
  }
  assert.equal((await pids()).length, 5);
});

test('a feed that cannot be read changes nothing', async () => {
  const before = await pids();
  const { status, body } = await call('POST', '/imports?mode=full', '[{"id": 1', 'application/json');
  assert.equal(status, 422);
  assert.equal(body.result_code, 'ValidationFailed');
  assert.deepEqual(await pids(), before);
});

test('an empty feed cannot be read; one of no items is held while there are some', async () => {
  const before = await pids();
  for (const [body, type] of [
    ['', 'text/csv'],
    [' \n', 'application/json'],
    ['\n', 'application/x-ndjson'],
    ['', 'application/octet-stream'],
  ] as const) {
    const { status, body: refused } = await call('POST', '/imports?mode=full&confirmed=true', body, type);
    assert.deepEqual([status, refused.result_code], [422, 'ValidationFailed'], JSON.stringify([body, type]));
    assert.match(JSON.stringify(refused), /the feed is empty/);
    assert.equal((await call('GET', '/imports')).body[0].state, 'failed');
  }
  for (const [body, type] of [
    [csv([]), 'text/csv'],
    ['[]', 'application/json'],
  ] as const) {
    const held = await call('POST', '/imports?mode=full', body, type);
    assert.deepEqual([held.status, held.body.state, held.body.rows], [202, 'held', 0]);
    assert.equal((await call('POST', '/imports', body, type)).body.state, 'done');
  }
  assert.deepEqual(await pids(), before);
});

test('a feed that is given up before its end leaves the connection good for the next request', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = async (path: string, headers: object = {}, body?: string | Buffer) => {
    const asked = request(base + path, {
      agent,
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'x-apikey': server.apiKey, ...headers },
      signal: AbortSignal.timeout(20_000),
    });
    asked.end(body);
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    await answer.resume().toArray();
    return { status: answer.statusCode, reused: asked.reusedSocket };
  };
  const long = 'x'.repeat(3_000_000);
  const noise = Buffer.alloc(3_000_000, 7);
  const table: [name: string, type: string, body: string | Buffer, coding?: string][] = [
    ['a row without end', 'text/csv', `id,link\n${long}`],
    ['an archive', 'text/csv', `PK\x03\x04${long}`],
    ['an unknown character set', 'text/csv; charset=klingon', `id,link\n${long}`],
    ['no gzip', 'application/gzip', Buffer.concat([Buffer.from([0x1f, 0x8b]), noise])],
    ['a packed row without end', 'text/csv', Buffer.concat([gzipSync(`id,link\n${long}`), noise])],
    ['packed in another way', 'text/csv', noise, 'br'],
  ];
  await ask('');
  for (const [name, type, body, coding = 'identity'] of table) {
    const headers = { 'content-type': type, 'content-encoding': coding };
    const status = coding === 'identity' ? 422 : 415;
    assert.deepEqual(await ask('/imports', headers, body), { status, reused: true }, name);
    assert.deepEqual(await ask(''), { status: 200, reused: true }, `after ${name}`);
  }
  agent.destroy();
});

test('items are put, read, changed and removed one by one', async () => {
  const item = {
    item_url: 'https://s.example/z',
    fields: { title: 'Z' },
    languages: { NL: { title: 'Zet' } },
  };
  assert.equal((await call('PUT', '/items/z', JSON.stringify(item))).status, 201);
  assert.equal((await call('PUT', '/items/z', JSON.stringify(item))).status, 200);
  assert.equal((await call('DELETE', '/items/z')).status, 200);
  assert.equal(
    (await call('PUT', '/items/z', JSON.stringify(item))).status,
    201,
    'it was not there any more',
  );
  assert.deepEqual((await call('GET', '/items/z')).body.languages, { nl: { title: 'Zet' } });
  assert.equal((await call('PATCH', '/items/z', '{"available":false}')).body.available, false);
  for (const change of ['{"item_url":"https://s.example/z"}', '{"fields":{"price":9}}', '{}'])
    assert.equal((await call('PATCH', '/items/z', change)).body.available, false, change);
  const parts = { languages: { nl_BE: { title: 'Zed' } }, countries: { be: { price: 8 } } };
  const { languages, countries } = (await call('PATCH', '/items/z', JSON.stringify(parts))).body;
  assert.deepEqual([languages, countries], [{ 'nl-be': { title: 'Zed' } }, { BE: { price: 8 } }]);
  assert.equal((await call('DELETE', '/items/z')).status, 200);
  assert.equal((await call('GET', '/items/z')).status, 404);
  const nowhere = { item_url: 'javascript:alert(1)' };
  for (const part of [{ fields: nowhere }, { languages: { nl: nowhere } }, { countries: { BE: nowhere } }]) {
    const { status, body } = await call('PUT', '/items/z', JSON.stringify({ ...item, ...part }));
    assert.equal(status, 400, JSON.stringify(part));
    assert.match(body.errors[0].description, /^\w+\.(\w+\.)?item_url/);
  }
  const bad = await call(
    'PUT',
    '/items/z',
    JSON.stringify({ item_url: '/z', countries: { Belgium: {}, NL: { available: 'no' } } }),
  );
  assert.equal(bad.status, 400);
  assert.equal(bad.body.errors.length, 3);
  assert.equal((await call('PUT', '/items/z', '{"item_url":"https://s.example/","colour":1}')).status, 400);
});

test('a price that is put or patched as a text is answered as the number that it means', async () => {
  const item = { item_url: 'https://s.example/priced', fields: { price: '20.00 EUR' } };
  const { status, body: put } = await call('PUT', '/items/priced', JSON.stringify(item));
  assert.deepEqual([status, put.fields], [201, { price: 20, currency: 'EUR' }]);
  const { body } = await call('PATCH', '/items/priced', '{"fields":{"price":"9,50"}}');
  assert.deepEqual(body.fields, { price: 9.5 });
  assert.equal((await call('PATCH', '/items/priced', '{"fields":{"price":"cheap"}}')).status, 400);
  assert.equal((await call('DELETE', '/items/priced')).status, 200);
});

test('a change that is committed is no failure because somebody could not take note of it', async (t) => {
  const stop = await server.modules.catalog.listen(() => Promise.reject(new Error('busy')));
  t.after(stop);
  const item = JSON.stringify({ item_url: 'https://s.example/noted' });
  assert.equal((await call('PUT', '/items/noted', item)).status, 201);
  assert.equal((await call('POST', '/imports', csv([row('noted')]), 'text/csv')).body.state, 'done');
  assert.equal((await call('DELETE', '/items/noted')).status, 200);
});

test('an item whose row cannot be read whole stays as it is, also when the feed is full', async () => {
  const before = await pids();
  const kept = await call('POST', '/imports?mode=delta', csv([row('k1'), row('k2'), row('k3')]), 'text/csv');
  assert.equal(kept.body.state, 'done');
  const rows = [...before, 'k1'].map((id) => row(id));
  const full = csv([...rows, `${row('k2')},and,more`, row('k3').replace(',k3,', ',"k3,')]);
  const { body } = await call('POST', '/imports?mode=full', full, 'text/csv');
  assert.deepEqual([body.state, body.rejected, body.removed], ['done', 2, 0]);
  assert.deepEqual(
    body.errors.map(({ item_pid }: { item_pid: string }) => item_pid),
    ['k2', 'k3'],
  );
});

test('an unknown organization is 404, a call without a key 401', async () => {
  const headers = { 'x-apikey': server.apiKey };
  const other = await fetch(base.replace('/default/', '/nope/'), { headers });
  assert.equal(other.status, 404);
  assert.equal((await fetch(base)).status, 401);
});
