/** Feeds as shops really send them: other character sets, packed, cut off, with namespaces and names that collide. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type Format, readFeed } from './index.ts';
import { type FeedRow, toItem } from './row.ts';

async function rowsOf(
  given: string | Buffer,
  { format, size = 7, charset }: { format?: Format; size?: number; charset?: string } = {},
): Promise<FeedRow[]> {
  async function* pieces() {
    const bytes = Buffer.from(given as string);
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }
  const rows: FeedRow[] = [];
  const said = charset === undefined ? undefined : () => charset;
  for await (const row of readFeed(pieces(), { format, charset: said })) rows.push(row);
  return rows;
}
const outcomes = (rows: FeedRow[]) => rows.map(({ values, error }) => error ?? values!.id);

const CAFE = 'id,title\n1,Café\n';
const CAFE_XML = (encoding: string) =>
  `<?xml version="1.0" encoding="${encoding}"?><rss><item><id>1</id><title>Café</title></item></rss>`;
const utf16be = (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le').swap16();

test('a feed is read in the character set that it, or its sender, says it is in', async () => {
  const table: [name: string, bytes: Buffer, charset?: string][] = [
    ['UTF-8', Buffer.from(CAFE)],
    ['UTF-8 with a mark', Buffer.from(`\uFEFF${CAFE}`)],
    ['UTF-16 LE', Buffer.from(`\uFEFF${CAFE}`, 'utf16le')],
    ['UTF-16 BE', utf16be(CAFE)],
    ['Latin-1 in XML', Buffer.from(CAFE_XML('ISO-8859-1'), 'latin1')],
    ['UTF-16 in XML', utf16be(CAFE_XML('UTF-16'))],
    ['UTF-8 in XML that says UTF-16', Buffer.from(CAFE_XML('UTF-16'))],
    ['Latin-1 by header', Buffer.from(CAFE, 'latin1'), 'iso-8859-1'],
    ['a mark over the header', Buffer.from(`\uFEFF${CAFE}`), 'iso-8859-1'],
  ];
  for (const [name, bytes, charset] of table)
    for (const size of [1, 5, 4096]) {
      const rows = await rowsOf(bytes, { size, ...(charset === undefined ? {} : { charset }) });
      assert.deepEqual(
        rows.map(({ values }) => values),
        [{ id: '1', title: 'Café' }],
        `${name}, ${size}`,
      );
    }
  await assert.rejects(rowsOf(CAFE, { charset: 'klingon' }), /the character set klingon is not known/);
});

test('a row with bytes that are no text is refused; what a shop wrote as U+FFFD is its own affair', async () => {
  const bytes = Buffer.concat([
    Buffer.from('id,title\n1,Boot\n2,'),
    Buffer.from('Café\n', 'latin1'),
    Buffer.from('3,x\n'),
  ]);
  assert.deepEqual(outcomes(await rowsOf(bytes, { size: 4096 })), [
    '1',
    'title holds bytes that are not of the character set',
    '3',
  ]);
  assert.deepEqual(outcomes(await rowsOf('id,title\n1,a\uFFFD\n', { size: 4096 })), ['1']);
});

test('gzip is told by its first bytes, one that is cut off fails, and a zip archive is named', async () => {
  const packed = gzipSync(CAFE);
  for (const size of [1, 4096]) assert.deepEqual(outcomes(await rowsOf(packed, { size })), ['1']);
  await assert.rejects(rowsOf(packed.subarray(0, -9)), /unexpected end/);
  await assert.rejects(rowsOf(Buffer.from('PK\x03\x04rest of it', 'latin1')), /zip archives are not read/);
  async function* broken() {
    yield packed.subarray(0, 20);
    throw new Error('other side closed');
  }
  await assert.rejects(async () => {
    for await (const _ of readFeed(broken()));
  }, /other side closed/);
});

test('what does not end is given up after a megabyte, in every format, and not gathered', async () => {
  const table: [format: Format, start: string, piece: string, message: RegExp][] = [
    ['csv', '', 'a,', /line 1: a row that does not end/],
    ['csv', 'id,t\n', '"a",', /line 2: a row that does not end/],
    ['csv', 'id,t\n1,"', 'a', /line 2: a row that does not end/],
    ['json', '[{"a":"', 'a', /line 1: an object that does not end/],
    ['ndjson', '{"a":"', 'a', /line 1: an object that does not end/],
    ['xml', '<rss><item>', '<g:a>x</g:a>', /line 1: an item that does not end/],
    ['xml', '<rss><item>', '<a>', /line 1: an item with more than 100 elements inside each other/],
    ['xml', '<rss><item><a>', 'text<!-- -->', /line 1: an item that does not end/],
    ['xml', '<rss><!--', 'a', /line 1: markup that does not end/],
    ['csv', '', '\n', /the feed begins with blanks alone/],
    ['json', '', ' ', /the feed begins with blanks alone/],
  ];
  for (const [format, start, piece, message] of table) {
    async function* endless() {
      yield Buffer.from(start);
      const pieces = Buffer.from(piece.repeat(65_536 / 4));
      for (let bytes = 0; bytes < 6 * 1_048_576; bytes += pieces.length) yield pieces;
      throw new Error('read on and on');
    }
    await assert.rejects(
      async () => {
        for await (const _ of readFeed(endless(), { format }));
      },
      message,
      `${format} ${start}${piece}`,
    );
  }
});

test('XML or JSON that breaks off between two items is no whole feed', async () => {
  await assert.rejects(rowsOf('<rss><channel><item><id>1</id></item>'), /the feed ends early/);
  await assert.rejects(rowsOf('{"items": [{"id": "1"}]', { format: 'json' }), /the feed ends early/);
  await assert.rejects(rowsOf('{"items": [{"id": "1"}], "x": "a', { format: 'json' }), /ends early/);
});

test('JSON items are in the first array that holds an object', async () => {
  const table: [text: string, rows: unknown[]][] = [
    ['{"errors": [], "items": [{"id": "1"}]}', ['1']],
    ['{"tags": ["a", "b"], "meta": {"x": [1]}, "items": [{"id": "1"}], "more": [{"id": "2"}]}', ['1']],
    ['{"items": ["a", "b"]}', ['is not an object', 'is not an object']],
    ['[]', []],
    ['{"items": [5, {"id": "1"}, 6]}', ['is not an object', '1', 'is not an object']],
  ];
  for (const [text, rows] of table)
    for (const size of [1, 1000])
      assert.deepEqual(outcomes(await rowsOf(text, { format: 'json', size })), rows, text);
  for (const text of ['{"items": [{"id": "1"}]}', '{"total": 1, "ok": true, "products": [{"id": "1"}]}\n'])
    assert.deepEqual(outcomes(await rowsOf(text)), ['1'], text);
  assert.deepEqual(outcomes(await rowsOf('{"items": []}')), []);
  assert.deepEqual(outcomes(await rowsOf('{"id": "1", "tags": ["a"]}\n{"sku": "2"}')), ['1', undefined]);
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

test('XML: signs in attributes, entities with the names of properties, a stray less-than', async () => {
  const text = `<rss><item><id>1</id><title lang="a > b">x &constructor; &amp; 2 < 3</title>
<constructor>c</constructor></item></rss>`;
  for (const size of [1, 4096]) {
    const [first] = await rowsOf(text, { format: 'xml', size });
    assert.deepEqual(first!.values, { id: '1', title: 'x &constructor; & 2 < 3', constructor: 'c' });
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

test('an XML item that is not well-formed costs itself alone, and still tells its id', async () => {
  const good = (id: string) => `<item><id>${id}</id><title>t</title></item>`;
  const table: [text: string, rows: unknown[]][] = [
    ['<item><id>2</id><title>a<b>x</b></item>', ['</item> closes nothing that is open', '2']],
    ['<item><id>2</id><title>a</titel></item>', ['</titel> closes nothing that is open', '2']],
    ['<item><id>2</id>', ['<item> is not closed', '2']],
  ];
  for (const [bad, [error, id]] of table)
    for (const size of [1, 4096]) {
      const rows = await rowsOf(`<rss><channel>${good('1')}${bad}${good('3')}</channel></rss>`, { size });
      assert.deepEqual(outcomes(rows), ['1', error, '3'], bad);
      assert.equal(rows[1]!.error !== undefined && rows[1]!.partial!.id, id);
    }
  await assert.rejects(rowsOf('<rss><item><id>1<t></rss>'), /line 1: an item that does not end/);
});

test('CSV: repeated columns, columns without a name, blank lines before the header', async () => {
  const [first] = await rowsOf('\n\nid;image;;image;title\n1;a.jpg;0;b.jpg;x\n');
  assert.deepEqual(first, { line: 4, values: { id: '1', image: ['a.jpg', 'b.jpg'], title: 'x' } });
  const [wide] = await rowsOf('id,title\n1,a,b\n');
  assert.deepEqual(wide!.error !== undefined && wide!.partial!.id, '1');
});

test('CSV: the delimiter is that of the header, whatever blanks stand before it and whatever its names hold', async () => {
  const table: [text: string, values: Record<string, unknown>][] = [
    ['  \n \t \r\nid;title\n1;x\n', { id: '1', title: 'x' }],
    ['\uFEFF \nid;title', {}],
    ['\n\tid\ttitle\n0\t1\tx\n', { id: '1', title: 'x' }],
    ['id;"size, colour, ""fit"", and, more"\n1;x\n', { id: '1', 'size, colour, "fit", and, more': 'x' }],
    ['"size,\ncolour,";id\nx;1\n', { 'size,\ncolour,': 'x', id: '1' }],
    ['\uFEFF"id,,,";sku\n1;x\n', { 'id,,,': '1', sku: 'x' }],
    ['"id"\n1\n', { id: '1' }],
    ['size 5";id;a\nx;1;y,",,,,\n', { 'size 5"': 'x', id: '1', a: 'y,",,,,' }],
  ];
  for (const [text, values] of table)
    for (const size of [1, 3, 4096]) {
      const [row] = await rowsOf(text, { format: 'csv', size });
      assert.deepEqual(row?.values ?? {}, values, `${JSON.stringify(text)}, ${size}`);
    }
});

test('a row that is nested without measure is refused, not the feed', async () => {
  const deep = `[{"id": "1", "x": ${'['.repeat(20_000)}${']'.repeat(20_000)}}, {"id": "2"}]`;
  assert.deepEqual(outcomes(await rowsOf(deep, { size: 4096 })), ['x is nested deeper than 32 times', '2']);
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

test('an item of XML may be large, and what is nested in it is refused without the rest', async () => {
  const tail = '</item><item><id>2</id></item></rss>';
  for (const [middle, outcome] of [
    [`<a>${'<![CDATA[xxxxxxxx]]>'.repeat(90_000)}</a>`, '1'],
    [`${'<a>'.repeat(100)}x${'</a>'.repeat(100)}`, 'a is nested deeper than 32 times'],
  ] as const) {
    const rows = await rowsOf(`<rss><item><id>1</id>${middle}${tail}`, { format: 'xml', size: 65_536 });
    assert.deepEqual(outcomes(rows), [outcome, '2']);
  }
});
