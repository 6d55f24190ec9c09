import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { type Format, formatOf, readTable, type TableOptions } from './index.ts';
import { ITEMS, inPieces, outcomes, rowsOf } from './tables.fixture.ts';

const CAFE = 'id,title\n1,Café\n';
const CAFE_XML = (encoding: string) =>
  `<?xml version="1.0" encoding="${encoding}"?><rss><item><id>1</id><title>Café</title></item></rss>`;
const utf16be = (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le').swap16();

test('a row that cannot be stored is a fault of that row, in every format', async () => {
  const bad = 'holds a NUL or half of a surrogate pair';
  const table: [format: Format, text: string, column: string | null, reason: string][] = [
    ['csv', 'id,title\n1,a\0b\n2,c\n', 'title', bad],
    ['ndjson', '{"id":1,"title":"a\\u0000b"}\n{"id":"2"}\n', 'title', bad],
    ['ndjson', '{"id":1,"fields":{"tags":["\\ud800"]}}\n{"id":"2"}\n', 'fields.tags.0', bad],
    ['json', '[{"id":1,"a\\u0000":"b"},{"id":"2"}]', null, `the name a\uFFFD ${bad}`],
    ['xml', '<rss><item><id>&#0;</id></item><item><id>2</id></item></rss>', 'id', bad],
    ['xml', '<rss><item><t>&#xD800;</t></item><item><id>2</id></item></rss>', 't', bad],
  ];
  for (const [format, text, column, reason] of table) {
    const [first, second] = await rowsOf(text, { format });
    assert.deepEqual(first!.fault, { column, reason });
    assert.equal(second!.values!.id, '2');
  }
  const [quoting] = await rowsOf('{"id": \0}\n', { format: 'ndjson' });
  const { reason } = quoting!.fault!;
  assert.ok(reason.startsWith('is not JSON') && !reason.includes('\0'));
});

test('the format is told by a name or a content type', () => {
  const table: [string, Format | null][] = [
    ['feed.csv', 'csv'],
    ['feed.tsv', 'csv'],
    ['items.jsonl', 'ndjson'],
    ['items.jsonl.gz', 'ndjson'],
    ['application/x-ndjson', 'ndjson'],
    ['application/x-ndjson ; charset=utf-8', 'ndjson'],
    ['application/jsonlines', 'ndjson'],
    ['/data/jsonl/feed.csv', 'csv'],
    ['https://ndjson.example/feed', null],
    ['application/json; charset=utf-8', 'json'],
    ['application/rss+xml', 'xml'],
    ['https://s.example/feed.xml?key=a.json', 'xml'],
    ['application/octet-stream', null],
  ];
  for (const [name, format] of table) assert.equal(formatOf(name)?.promised ?? null, format, name);
});

test('a file is read in the character set that it, or its sender, says it is in', async () => {
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
      const rows = await rowsOf(bytes, { size, charset: () => charset ?? null });
      assert.deepEqual(
        rows.map(({ values }) => values),
        [{ id: '1', title: 'Café' }],
        `${name}, ${size}`,
      );
    }
  await assert.rejects(rowsOf(CAFE, { charset: () => 'klingon' }), /the character set klingon is not known/);
});

test('a row with bytes that are no text is refused; one that was written as U+FFFD is read', async () => {
  const bytes = Buffer.concat([
    Buffer.from('id,title\n1,Boot\n2,'),
    Buffer.from('Café\n', 'latin1'),
    Buffer.from('3,x\n'),
  ]);
  assert.deepEqual(outcomes(await rowsOf(bytes, { size: 4096 })), [
    '1',
    'holds bytes that are not of the character set',
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
    for await (const _ of readTable(broken()));
  }, /other side closed/);
});

test('what does not end is given up after a megabyte, in every format, and not gathered', async () => {
  const table: [format: Format, start: string, piece: string, message: RegExp][] = [
    ['csv', '', 'a,', /line 1: a row that does not end/],
    ['csv', 'id,t\n', '"a",', /line 2: a row that does not end/],
    ['csv', 'id,t\n1,"', 'a', /line 2: a row that does not end/],
    ['json', '[{"a":"', 'a', /line 1: an object that does not end/],
    ['ndjson', '{"a":"', 'a', /line 1: an object that does not end/],
    ['xml', '<rss><item>', '<g:a>x</g:a>', /line 1: a row that does not end/],
    ['xml', '<rss><item>', '<a>', /line 1: a row with more than 100 elements inside each other/],
    ['xml', '<rss><item><a>', 'text<!-- -->', /line 1: a row that does not end/],
    ['xml', '<rss><!--', 'a', /line 1: markup that does not end/],
    ['csv', '', '\n', /the file begins with blanks alone/],
    ['json', '', ' ', /the file begins with blanks alone/],
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
        for await (const _ of readTable(endless(), { format, xml: ITEMS }));
      },
      message,
      `${format} ${start}${piece}`,
    );
  }
});

test('a row that is nested without measure is refused, not the file', async () => {
  const deep = `[{"id": "1", "x": ${'['.repeat(20_000)}${']'.repeat(20_000)}}, {"id": "2"}]`;
  assert.deepEqual(outcomes(await rowsOf(deep, { size: 4096 })), ['is nested deeper than 32 times', '2']);
});

/** Rows, good and bad, of every format, with line breaks of each kind and letters of one to four bytes. */
const TABLES: [format: Format, text: string, rows: [line: number, idOrReason: string][]][] = [
  [
    'csv',
    '\uFEFFid;title\r\n1;"Café ""é""\r\nμ😀"\r\n\r\n2;b;c\r\n3;"open\r\n4;😀',
    [
      [2, '1'],
      [5, 'has 3 cells, the header 2'],
      [6, 'has a quote that is not closed'],
      [7, '4'],
    ],
  ],
  [
    'ndjson',
    '{"id":"1","t":"é😀"}\r\n\r\n{"id":}\r\n["é"]\r\n{"id":"μ"}',
    [
      [1, '1'],
      [3, 'is not JSON'],
      [4, 'is not an object'],
      [5, 'μ'],
    ],
  ],
  [
    'json',
    '{"shop": "é",\n"tags": ["😀"], "items": [\n{"id":"1",\n"t":"]é"}, 5,\n{"id":"é"}]}\n',
    [
      [3, '1'],
      [4, 'is not an object'],
      [5, 'é'],
    ],
  ],
  [
    'xml',
    '<rss>\n<item><id>é</id>\n</item><!-- 😀 --><item>\n<id>2</a></id></item>\n<item><id><![CDATA[😀]]></id></item></rss>',
    [
      [2, 'é'],
      [3, '</a> closes nothing that is open'],
      [5, '😀'],
    ],
  ],
];

test('rows tell the line on which they begin, and do not depend on the borders of chunks', async () => {
  const encodings: ((text: string) => Buffer)[] = [
    Buffer.from,
    (text) => gzipSync(text),
    (text) => Buffer.from(`\uFEFF${text.replace(/^\uFEFF/, '')}`, 'utf16le'),
  ];
  for (const [format, text, expected] of TABLES)
    for (const encode of encodings) {
      const bytes = encode(text);
      const whole = await rowsOf(bytes, { size: bytes.length });
      assert.deepEqual(
        whole.map(({ line, values, fault }) => [line, values?.id ?? fault!.reason.split(':', 1)[0]]),
        expected,
        format,
      );
      const borders = fc.array(fc.nat(bytes.length), { maxLength: 12 });
      await fc.assert(
        fc.asyncProperty(borders, async (places) => {
          assert.deepEqual(await Array.fromAsync(readTable(cutAt(bytes, places), { xml: ITEMS })), whole);
        }),
        { numRuns: 40 },
      );
      assert.deepEqual(await rowsOf(bytes, { size: 1 }), whole, format);
    }
});

async function* cutAt(bytes: Buffer, places: number[]): AsyncGenerator<Uint8Array> {
  let from = 0;
  for (const place of [...places, bytes.length].sort((a, b) => a - b)) {
    yield bytes.subarray(from, place);
    from = place;
  }
}

test('a file that is cut off gives the rows before the cut, and then one error where the cut can be told', async () => {
  const table: [format: Format, text: string, lines: number[], error: RegExp | null][] = [
    ['csv', 'id,t\n1,a\n2,"b', [2, 3], null],
    ['ndjson', '{"id":"1"}\n{"id":', [1, 2], null],
    ['json', '[{"id":"1"},\n{"id":', [1], /^Error: line 2: the file ends inside a row$/],
    ['json', '[{"id":"1"},\n', [1], /^Error: the file ends early$/],
    ['xml', '<rss><item><id>1</id></item>\n<item><id>', [1], /^Error: line 2: the file ends inside a row$/],
    ['xml', '<rss><item><id>1</id></item>\n<it', [1], /^Error: line 2: the file ends early$/],
  ];
  for (const [format, text, lines, error] of table) {
    const given: number[] = [];
    let thrown: unknown = null;
    try {
      for await (const row of readTable(inPieces(text, 7), { format, xml: ITEMS })) given.push(row.line);
    } catch (caught) {
      thrown = caught;
    }
    assert.deepEqual(given, lines, text);
    if (error === null) assert.equal(thrown, null, text);
    else assert.match(String(thrown), error, text);
  }
});

test('progress counts rows, faulty ones too, and bytes as they came', async () => {
  const text = 'id,t\n1,a\n2,b,c\n3,d\n';
  const packed = gzipSync(text);
  for (const bytes of [Buffer.from(text), packed]) {
    const table = readTable(inPieces(bytes, 4));
    assert.deepEqual(table.progress, { rows: 0, bytes: 0 });
    let rows = 0;
    for await (const _ of table) {
      assert.equal(table.progress.rows, ++rows);
      assert.ok(table.progress.bytes > 0 && table.progress.bytes <= bytes.length);
    }
    assert.deepEqual(table.progress, { rows: 3, bytes: bytes.length });
  }
});

test('a source is closed when its reader leaves, and when the file is refused by its start', async () => {
  const sources: [text: string, options: TableOptions, refused: boolean][] = [
    ['id\n1\n2\n3\n', {}, false],
    [' '.repeat(100_000), {}, true],
    ['<rss>', {}, true],
    ['PK\x03\x04', {}, true],
  ];
  for (const [text, options, refused] of sources) {
    let isOpen = true;
    async function* source() {
      try {
        yield* inPieces(text, 4096);
        yield Buffer.from('4\n'.repeat(100));
      } finally {
        isOpen = false;
      }
    }
    const first = async () => {
      for await (const row of readTable(source(), options)) return row.values;
      return null;
    };
    if (refused) await assert.rejects(first());
    else assert.deepEqual(await first(), { id: '1' });
    assert.equal(isOpen, false, text.trim());
  }
});

test('without a key any header is taken, and a line of JSON is a row unless it holds a list of objects', async () => {
  assert.deepEqual(await rowsOf('email,tag\na@s.example,x\n'), [
    { line: 2, values: { email: 'a@s.example', tag: 'x' } },
  ]);
  const line = '{"email":"a@s.example","tags":["x"]}';
  const promised = { promised: 'json' } as const;
  for (const format of [null, promised])
    assert.equal((await rowsOf(`${line}\n`, { format }))[0]!.values!.email, 'a@s.example');
  for (const format of [null, promised])
    assert.deepEqual(outcomes(await rowsOf('{"rows":[{"id":"1"}]}', { format })), ['1']);
  const key = { name: 'email', matches: (name: string) => name === 'email' };
  assert.equal((await rowsOf('{"email":"a","orders":[{"id":"1"}]}', { key }))[0]!.values!.email, 'a');
  await assert.rejects(rowsOf('name\nx\n', { key }), /^Error: line 1: the header names no email$/);
});

test('XML is refused where no elements are named, and error texts have the words of the caller', async () => {
  await assert.rejects(Array.fromAsync(readTable(inPieces('<rss/>', 7))), /XML is not read here/);
  await assert.rejects(rowsOf('<rss></rss>'), /there is no <item>/);
  await assert.rejects(rowsOf('', { mayBeEmpty: false }), /^Error: the file is empty$/);
  const words = { file: 'the feed', row: 'an item', rows: 'items' };
  await assert.rejects(rowsOf(' ', { mayBeEmpty: false, words }), /^Error: the feed is empty$/);
  await assert.rejects(rowsOf('{}', { format: 'json', words }), /there is no array of items/);
});
