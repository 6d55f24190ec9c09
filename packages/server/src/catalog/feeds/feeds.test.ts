import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Format, PromisedFormat } from '../../kernel/tables/index.ts';
import { readFeed } from './index.ts';
import { type FeedRow, toItem } from './row.ts';

/** The rows of a text that arrives in pieces of `size` bytes. */
async function rowsOf(text: string, format?: Format | PromisedFormat, size = 7): Promise<FeedRow[]> {
  async function* pieces() {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }
  const rows: FeedRow[] = [];
  for await (const row of readFeed(pieces(), { format })) rows.push(row);
  return rows;
}

const RSS = `<?xml version="1.0"?><rss version="2.0" xmlns:g="http://base.google.com/ns/1.0"><channel>
<title>Shop</title>
<item><g:id>1</g:id><title><![CDATA[Boots <tall> & warm]]></title><link>https://s.example/1?a=1&amp;b=2</link>
<g:price>20.00 EUR</g:price><g:product_type>Shoes &gt; Boots</g:product_type>
<g:additional_image_link>https://s.example/a.jpg</g:additional_image_link>
<g:additional_image_link>https://s.example/b.jpg</g:additional_image_link>
<g:shipping><g:country>BE</g:country><g:price>5 EUR</g:price></g:shipping></item>
<!-- <item>not this</item> -->
<item><g:id>2</g:id><link>https://s.example/2</link><g:availability>out of stock</g:availability></item>
</channel></rss>`;
const ATOM = `<feed xmlns="http://www.w3.org/2005/Atom" xmlns:g="http://base.google.com/ns/1.0">
<entry><g:id>1</g:id><title>Caf&#233;</title><link href="https://s.example/1"/></entry></feed>`;

test('CSV whose header names no id is no feed: a page of an error, or rows without a header', async () => {
  for (const text of [
    '<html><body>404</body></html>',
    'sku-1,https://s.example/1\nsku-2,https://s.example/2\n',
  ])
    await assert.rejects(rowsOf(text, 'csv'), /line 1: the header names no id/);
  for (const name of ['id', 'SKU', 'Product ID', 'g:id', 'item_pid'])
    assert.equal((await rowsOf(`title;${name}\nBoot;1\n`, 'csv')).length, 1, name);
});

test('RSS with the g: namespace is read, comments and nested elements included', async () => {
  for (const size of [1, 11, 4096]) {
    const [first, second, ...rest] = await rowsOf(RSS, undefined, size);
    assert.equal(rest.length, 0);
    assert.equal(first!.line, 3);
    assert.equal(first!.values!.title, 'Boots <tall> & warm');
    assert.equal(first!.values!.link, 'https://s.example/1?a=1&b=2');
    assert.deepEqual(first!.values!.additional_image_link, [
      'https://s.example/a.jpg',
      'https://s.example/b.jpg',
    ]);
    assert.deepEqual(first!.values!.shipping, { country: 'BE', price: '5 EUR' });
    assert.equal(second!.values!.availability, 'out of stock');
  }
});

test('Atom entries carry their address in an attribute', async () => {
  const [entry] = await rowsOf(ATOM);
  assert.deepEqual(entry!.values, { id: '1', title: 'Café', link: 'https://s.example/1' });
});

test('a row that cannot be stored is an error of that row, in every format', async () => {
  const bad = 'holds a NUL or half of a surrogate pair';
  const table: [format: Format, text: string, error: string][] = [
    ['csv', 'id,title\n1,a\0b\n2,c\n', `title ${bad}`],
    ['ndjson', '{"id":1,"title":"a\\u0000b"}\n{"id":"2"}\n', `title ${bad}`],
    ['ndjson', '{"id":1,"fields":{"tags":["\\ud800"]}}\n{"id":"2"}\n', `fields.tags.0 ${bad}`],
    ['json', '[{"id":1,"a\\u0000":"b"},{"id":"2"}]', `the name a\uFFFD ${bad}`],
    ['xml', '<rss><item><id>&#0;</id></item><item><id>2</id></item></rss>', `id ${bad}`],
    ['xml', '<rss><item><t>&#xD800;</t></item><item><id>2</id></item></rss>', `t ${bad}`],
  ];
  for (const [format, text, error] of table) {
    const [first, second] = await rowsOf(text, format);
    assert.equal(first!.error, error);
    assert.equal(second!.values!.id, '2');
  }
  const [quoting] = await rowsOf('{"id": \0}\n', 'ndjson');
  assert.ok(quoting!.error!.startsWith('is not JSON') && !quoting!.error!.includes('\0'));
});

test('a feed that ends inside an item fails as a whole', async () => {
  await assert.rejects(rowsOf('[{"id": 1}, {"id":', 'json'), /ends inside an item/);
  await assert.rejects(rowsOf('<rss><item><id>1</id>', 'xml'), /ends inside an item/);
  await assert.rejects(rowsOf('<rss></rss>', 'xml'), /no <item>/);
  await assert.rejects(rowsOf('<!DOCTYPE a [<!ENTITY b "c">]><rss/>', 'xml'), /document types/);
});

test('what is called JSON may be NDJSON, and is read as what it is unless the format was said', async () => {
  const promised = { promised: 'json' } as const;
  const [one, two] = ['{"id":"1","tags":["a"]}', '{"id":"2","x":[{"a":1}]}'];
  const table: [name: string, text: string, lines: [line: number, id: unknown][] | RegExp][] = [
    ['lines', `${one}\n${two}`, [[1, '1'], [2, '2']]], // biome-ignore format: a table
    ['lines with blanks and a mark', `\uFEFF\n${two} \r\n\r\n ${one}\r\n`, [[2, '2'], [4, '1']]], // biome-ignore format: a table
    ['a bad line among them', `{"id": }\n${two}\n`, [[1, 'error'], [2, '2']]], // biome-ignore format: a table
    ['a first line without an id', `{"a":1}\n${two}\n`, [[1, undefined], [2, '2']]], // biome-ignore format: a table
    ['one line', `${one}\n`, [[1, '1']]],
    ['a long line', `{"id":"1","t":"${'x'.repeat(60_000)}"}\n${two}`, [[1, '1'], [2, '2']]], // biome-ignore format: a table
    ['an array', `[${one},\n${two}]`, [[1, '1'], [2, '2']]], // biome-ignore format: a table
    ['an object around a list', `{"id":"feed","items":[${one}]}\n`, [[1, '1']]],
    ['an object around a list of lines', `{"items":[\n${one},\n${two}]}`, [[2, '1'], [3, '2']]], // biome-ignore format: a table
    ['an error of the shop', '{"error":"not found"}\n', /no array of items/],
  ];
  for (const [name, text, expected] of table)
    for (const size of text.length > 1000 ? [4096] : [1, 7, 4096]) {
      if (expected instanceof RegExp) {
        await assert.rejects(rowsOf(text, promised, size), expected, name);
        continue;
      }
      const rows = await rowsOf(text, promised, size);
      assert.deepEqual(
        rows.map(({ line, values, error }) => [line, error === undefined ? values!.id : 'error']),
        expected,
        `${name}, ${size}`,
      );
    }
  await assert.rejects(rowsOf(`${one.replace('["a"]', '1')}\n{"id":"2"}`, 'json'), /no array of items/);
  assert.equal((await rowsOf(`[${one}]`, { promised: 'ndjson' }))[0]!.error, 'is not an object');
});

test('a feed of nothing at all is none, where one is asked for; a header or brackets are a feed without rows', async () => {
  const read = async (text: string, format?: Format) => {
    const rows: FeedRow[] = [];
    const source = (async function* () {
      if (text !== '') yield Buffer.from(text);
    })();
    for await (const row of readFeed(source, { format, mayBeEmpty: false })) rows.push(row);
    return rows;
  };
  for (const text of ['', ' \n\r\n', '\uFEFF'])
    for (const format of [undefined, 'csv', 'json', 'ndjson', 'xml'] as const)
      await assert.rejects(read(text, format), /^Error: the feed is empty$/);
  for (const text of ['id,link\n', '[]', '{"items": []}']) assert.deepEqual(await read(text), []);
  assert.deepEqual(await rowsOf(''), []);
});

test('a row becomes an item under the names of product feeds', () => {
  const result = toItem({
    'g:id': ' 1 ',
    link: 'https://s.example/1',
    'title:nl': 'Laars',
    name: 'Boot',
    price: '1.234,50 EUR',
    product_type: 'Shoes > Boots',
    availability: 'in_stock',
    color: 'red',
  });
  assert.ok('item' in result);
  assert.deepEqual(result.item, {
    itemPid: '1',
    itemUrl: 'https://s.example/1',
    available: true,
    fields: {
      title: 'Boot',
      price: 1234.5,
      currency: 'EUR',
      category: 'Shoes',
      categories: ['Shoes', 'Shoes > Boots'],
      color: 'red',
    },
    languages: { nl: { title: 'Laars' } },
    countries: {},
  });
});

test('a column names a language only where what follows its colon looks like one', () => {
  const base = { id: '1', link: 'https://s.example/1' };
  const names: [name: string, field: string, tag: string | null][] = [
    ['title:nl', 'title', 'nl'],
    ['g:title:nl_BE', 'title', 'nl-be'],
    ['Title : nl-BE', 'title', 'nl-be'],
    ['title:nds', 'title', 'nds'],
    ['title:x-club', 'title', 'x-club'],
    ['title:i-klingon', 'title', 'i-klingon'],
    ['meta:title', 'meta:title', null],
    ['stock:store', 'stock:store', null],
    ['stock:store-antwerp', 'stock:store_antwerp', null],
    ['meta:og:description', 'meta:og:description', null],
    ['custom_label:0', 'custom_label:0', null],
    ['title:nl be', 'title:nl_be', null],
  ];
  for (const [name, field, tag] of names) {
    const result = toItem({ ...base, [name]: 'x' });
    assert.ok('item' in result, name);
    const { fields, languages } = result.item;
    const own = { [field]: 'x' };
    assert.deepEqual(
      { fields, languages },
      tag === null ? { fields: own, languages: {} } : { fields: {}, languages: { [tag]: own } },
      name,
    );
  }
});

test('a field may have a name that every object knows', async () => {
  const fields = { constructor: 'Ferrari &constructor;' };
  const csv = 'id,link,constructor\n1,https://s.example/1,Ferrari &constructor;\n';
  const xml = `<rss><item><id>1</id><link>https://s.example/1</link><constructor>${fields.constructor}</constructor></item></rss>`;
  for (const text of [csv, xml]) {
    const [row] = await rowsOf(text);
    const result = toItem(row!.values!);
    assert.ok('item' in result, text);
    assert.deepEqual(result.item.fields, fields, text);
  }
});

test('a bad row says everything that is wrong with it', () => {
  const table: [Record<string, unknown>, RegExp[]][] = [
    [{ title: 'x' }, [/id is missing/, /link is missing/]],
    [{ id: '1', link: '/relative' }, [/item_url must be an absolute/]],
    [{ id: '1', link: 'https://s.example', price: 'cheap' }, [/price is not an amount/]],
    [{ id: '1', link: 'https://s.example', price: '1.2.3 EUR' }, [/price is not an amount: 1\.2\.3 EUR/]],
    [
      { id: '1', link: 'https://s.example', price: {}, title: {} },
      [/fields\.price must/, /fields\.title must/],
    ],
    [{ id: 'x'.repeat(300), link: 'https://s.example' }, [/item_pid must be 1 to 255/]],
    [{ id: '1', link: 'https://s.example', countries: { Belgium: {} } }, [/countries.Belgium/]],
    [{ id: '1', link: 'https://s.example', languages: { nl: {}, NL: {} } }, [/languages.NL is there twice/]],
  ];
  for (const [row, patterns] of table) {
    const result = toItem(row);
    assert.ok('reasons' in result, JSON.stringify(row));
    for (const pattern of patterns) assert.match(result.reasons.join('; '), pattern);
  }
});
