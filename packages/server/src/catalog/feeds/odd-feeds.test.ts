/** Feeds as shops really send them: cut off, with namespaces and names that collide, with markup in their texts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Format } from '../../kernel/tables/index.ts';
import { readFeed } from './index.ts';
import { type FeedRow, toItem } from './row.ts';

async function rowsOf(
  text: string,
  { format, size = 7 }: { format?: Format; size?: number } = {},
): Promise<FeedRow[]> {
  async function* pieces() {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }
  const rows: FeedRow[] = [];
  for await (const row of readFeed(pieces(), { format })) rows.push(row);
  return rows;
}
test('XML or JSON that breaks off between two items is no whole feed', async () => {
  await assert.rejects(rowsOf('<rss><channel><item><id>1</id></item>'), /the feed ends early/);
  await assert.rejects(rowsOf('{"items": [{"id": "1"}]', { format: 'json' }), /the feed ends early/);
  await assert.rejects(rowsOf('{"items": [{"id": "1"}], "x": "a', { format: 'json' }), /ends early/);
});

test('a value of the product namespace counts before others of the same name, whatever its prefix', async () => {
  const ns = 'http://base.google.com/ns/1.0';
  const entry = (p: string) =>
    `<entry><id>tag:s.example,2026:1</id><title>Entry</title><link rel="self" href="https://s.example/self"/>
<link href="https://s.example/1?a=1&amp;b=2"/><link rel="enclosure" href="https://s.example/1.jpg"></link>
<${p}:id>sku-1</${p}:id><dc:title>Other</dc:title><${p}:title>Product</${p}:title></entry>`;
  for (const p of ['g', 'goog'])
    for (const size of [3, 4096]) {
      const text = `<feed xmlns="http://www.w3.org/2005/Atom" xmlns:${p}="${ns}"><id>feed</id>${entry(p)}</feed>`;
      const [first] = await rowsOf(text, { size });
      assert.deepEqual(first!.values, {
        id: 'sku-1',
        title: 'Product',
        link: 'https://s.example/1?a=1&b=2',
      });
    }
});

test('XML: characters by their names in HTML are read, and other names left as they are', async () => {
  const table: [text: string, title: string][] = [
    ['&eacute;&euml;&uuml;&ouml;&auml;&agrave;&egrave;&ccedil;&ntilde;&szlig;', 'éëüöäàèçñß'],
    ['&Eacute;&Uuml;&AElig;&yuml;&iexcl;&thorn;&frac12;&times;&divide;', 'ÉÜÆÿ¡þ½×÷'],
    ['&copy;&reg;&trade;&euro;&pound;&deg;', '©®™€£°'],
    ['a&nbsp;&ndash;&mdash;&hellip;&bull;b', 'a\u00a0–—…•b'],
    ['&lsquo;&rsquo;&ldquo;&rdquo;&sbquo;&bdquo;&laquo;&raquo;', '‘’“”‚„«»'],
    ['&amp;eacute; &EACUTE; &unknown; &#233;', '&eacute; &EACUTE; &unknown; é'],
  ];
  for (const [text, title] of table) {
    const [row] = await rowsOf(`<rss><item><id>1</id><title>${text}</title></item></rss>`);
    assert.equal(row!.values!.title, title);
  }
  const [entry] = await rowsOf(
    '<feed><entry><id>1</id><link href="https://s.example/caf&eacute;"/></entry></feed>',
  );
  assert.equal(entry!.values!.link, 'https://s.example/café');
});

test('XML: markup in a title or a description is that of the text, and elsewhere a value of its own', async () => {
  const [row] = await rowsOf(`<rss><item><id>1</id><title>Boots, <b>warm</b></title>
<description><div><p>One <i>two</i></p>
<p>three</p></div></description><brand><name>Acme</name></brand></item></rss>`);
  assert.deepEqual(row!.values, {
    id: '1',
    title: 'Boots, warm',
    description: 'One two three',
    brand: { name: 'Acme' },
  });
});

test('XML: markup that is escaped or in CDATA is that of the text as well, and elsewhere a text as it is', async () => {
  for (const size of [1, 4096]) {
    const [row] = await rowsOf(
      `<rss><item><id>1</id><title>&lt;b&gt;Shoe&lt;/b&gt; &amp;amp; more</title>
<description><![CDATA[<p>Caf&eacute; <b>brown</b></p>]]><i>true</i></description><note>&lt;b&gt;x&lt;/b&gt;</note></item></rss>`,
      { size },
    );
    assert.deepEqual(row!.values, {
      id: '1',
      title: 'Shoe & more',
      description: 'Café brown true',
      note: '<b>x</b>',
    });
  }
});

test('what a row says about id, parts, availability and price is taken as it is meant, or refused', () => {
  const link = 'https://s.example/1';
  const base = { id: '1', link };
  const item = (own: Record<string, unknown>) => {
    const result = toItem({ ...base, ...own });
    assert.ok('item' in result, JSON.stringify(own));
    return result.item;
  };
  for (const word of ['out-of-stock', 'OutOfStock', 'https://schema.org/OutOfStock', 'Sold Out', false, 0])
    assert.equal(item({ availability: word }).available, false, String(word));
  for (const word of ['in_stock', 'In Stock', 'preorder', 'backorder', 'https://schema.org/InStock', null])
    assert.equal(item({ availability: word }).available, true, String(word));
  const prices: [string, number][] = [
    ['1.299,00 EUR', 1299],
    ['EUR 12', 12],
    ['12.00 EUR', 12],
    ['€ 12,50', 12.5],
    ['$1,299.00', 1299],
    ["1'299.50 CHF", 1299.5],
    ['1 299,00 €', 1299],
    ['1.299.000 EUR', 1299000],
    [`${' '.repeat(100_000)}12 EUR${' '.repeat(100_000)}`, 12],
  ];
  for (const [text, price] of prices) assert.equal(item({ price: text }).fields.price, price, text);
  for (const [text, currency] of [
    ['€ 20,00', 'EUR'],
    ['£20', 'GBP'],
    ['$20', '$'],
    ['20 chf', 'CHF'],
  ] as const)
    assert.equal(item({ price: text }).fields.currency, currency);
  assert.deepEqual(item({ price: 5, sale_price: ' ', availability: '' }).fields, { price: 5 });
  for (const name of ['title', 'description', 'brand'])
    assert.equal(item({ [name]: ['a', 'b'] }).fields[name], 'a');
  assert.deepEqual(item({ title: 1984, brand: null, sizes: { eu: 42 }, material: ['wool'] }).fields, {
    title: 1984,
    brand: null,
    sizes: { eu: 42 },
    material: ['wool'],
  });
  const categories: [own: Record<string, unknown>, expected: unknown][] = [
    [{ categories: 'a; b|c' }, ['a', 'b', 'c']],
    [{ categories: ['a', 166, null] }, ['a', '166']],
    [{ google_product_category: 166 }, ['166']],
    [{ product_type: ['a > b', null, 'c'] }, ['a', 'a > b', 'c']],
  ];
  for (const [own, expected] of categories) assert.deepEqual(item(own).fields.categories, expected);
  assert.deepEqual(
    item({ countries: { NL: { price: '9,99 EUR', availability: 'sold out' }, BE: { available: 1 } } })
      .countries,
    { NL: { price: 9.99, currency: 'EUR', available: false }, BE: { available: true } },
  );
  const named = item({
    name: 'n',
    title: 't',
    sku: 's',
    url: 'u',
    google_product_category: 'g',
    product_type: 'p > q',
  });
  assert.deepEqual(named.fields, {
    title: 't',
    name: 'n',
    sku: 's',
    url: 'u',
    category: 'p',
    categories: ['p', 'p > q'],
    google_product_category: 'g',
  });
  assert.deepEqual(
    item({ product_type: 'p > q', category: 'c', google_product_category: 'g' }).fields,
    { category: 'c', categories: ['c'], product_type: 'p > q', google_product_category: 'g' },
    'nothing is lost',
  );
  const columns = { fields: 'a', languages: 'nl, fr', countries: 'BE' };
  const { fields, languages, countries } = item({ ...columns, 'title:nl': 'L' });
  assert.deepEqual(
    { fields, languages, countries },
    { fields: columns, languages: { nl: { title: 'L' } }, countries: {} },
  );
  assert.deepEqual(item({ fields: { a: 1 }, languages: null, countries: 'BE' }).fields, {
    a: 1,
    countries: 'BE',
  });
  assert.deepEqual(item({ constructor: 'x', toString: 'y' }).fields, { constructor: 'x', tostring: 'y' });
  const refused: [Record<string, unknown>, RegExp][] = [
    [{ id: { a: 1 } }, /^id must be a string$/],
    [{ id: 2 ** 60 }, /too great to be exact/],
    [JSON.parse('{"id":1e400}'), /too great to be exact/],
    [{ languages: { nl: null } }, /^languages\.nl must be an object$/],
    [{ countries: { BE: true } }, /^countries\.BE must be an object$/],
    [{ countries: ['BE'] }, /^countries must be an object$/],
    ...[{ amount: 5 }, true, -1, '-5 EUR', JSON.parse('1e400')].map(
      (price): [Record<string, unknown>, RegExp] => [
        { price },
        /^fields\.price must be a number of at least 0, or a text that is an amount$/,
      ],
    ),
    [{ countries: { BE: { sale_price: false } } }, /^countries\.BE\.sale_price must be a number/],
    [{ title: { nl: 'Laars' } }, /^fields\.title must be a text$/],
    [{ 'title:nl': true }, /^languages\.nl\.title must be a text$/],
    [{ name: [{}] }, /^fields\.title must be a text$/],
    [{ description: false }, /^fields\.description must be a text$/],
    [{ brand: { name: 'Acme' } }, /^fields\.brand must be a text$/],
    [{ image: { url: link } }, /^fields\.image_url must be a text$/],
    [{ category: { id: 1 } }, /^fields\.category must be a text or a list of texts$/],
    [{ product_type: ['a', {}] }, /^fields\.category must be a text or a list of texts$/],
    [{ categories: 5 }, /^fields\.categories must be a text or a list of texts$/],
    [{ categories: [{ name: 'Shoes' }] }, /^fields\.categories must be a text or a list of texts$/],
    [{ availability: { state: 'sold out' } }, /^availability must be a text or a boolean$/],
    // These took minutes, and seconds.
    [{ price: `1${' '.repeat(50_000)}x y` }, /^price is not an amount: 1 +$/],
    [{ category: 'a > '.repeat(50_000) }, /^category has more than 50 steps$/],
  ];
  for (const [own, reason] of refused) {
    const result = toItem({ ...base, ...own });
    assert.ok('reasons' in result, JSON.stringify(own));
    assert.equal(result.reasons.length, 1);
    assert.match(result.reasons[0]!, reason);
  }
});

test('null says nothing: the next name of the same field counts, and a row without any id is refused', () => {
  const link = 'https://s.example/1';
  const told: [Record<string, unknown>, { itemPid?: string; itemUrl?: string; title?: unknown }][] = [
    [{ id: null, sku: '1', link }, { itemPid: '1' }],
    [{ id: [null], sku: '1', link }, { itemPid: '1' }],
    [{ id: [null, '1'], sku: '2', link }, { itemPid: '1' }],
    [{ id: '1', item_pid: null, link }, { itemPid: '1' }],
    [{ id: '1', link: null, url: link }, { itemUrl: link }],
    [{ id: '1', link, title: null, name: 'N' }, { title: 'N' }],
  ];
  for (const [values, expected] of told) {
    const result = toItem(values);
    assert.ok('item' in result, JSON.stringify(values));
    const { itemPid, itemUrl, fields } = result.item;
    assert.deepEqual(
      { itemPid, itemUrl, title: fields.title, ...expected },
      { itemPid, itemUrl, title: fields.title },
    );
  }
  const refused: [id: unknown, reason: string][] = [
    [null, 'id is missing'],
    [[null], 'id is missing'],
    [[], 'id is missing'],
    [true, 'id must be a string'],
    [[false], 'id must be a string'],
  ];
  for (const [id, reason] of refused)
    assert.deepEqual(toItem({ id, link }), { reasons: [reason], itemPid: '' }, JSON.stringify(id));
});
