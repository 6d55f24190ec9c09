import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { rowsOf } from './tables.fixture.ts';

const CSV =
  '\uFEFFid;link;title\n1;https://s.example/1;"Boots; ""tall""\nand warm"\n2;https://s.example/2;Café\n';

test('a CSV may quote delimiters, quotes and line breaks, and tells the line of each row', async () => {
  for (const size of [1, 3, 1000]) {
    const rows = await rowsOf(CSV, { size });
    assert.deepEqual(rows, [
      { line: 2, values: { id: '1', link: 'https://s.example/1', title: 'Boots; "tall"\nand warm' } },
      { line: 4, values: { id: '2', link: 'https://s.example/2', title: 'Café' } },
    ]);
  }
});

test('the lines of a CSV end by LF, CRLF or CR', async () => {
  for (const end of ['\n', '\r\n', '\r'])
    for (const size of [1, 3, 1000]) {
      const rows = await rowsOf(['id,link', '1,a', '', '2,b'].join(end), { format: 'csv', size });
      assert.deepEqual(
        rows.map(({ line, values }) => [line, values]),
        [
          [2, { id: '1', link: 'a' }],
          [4, { id: '2', link: 'b' }],
        ],
        JSON.stringify(end),
      );
    }
});

test('a CSV row with too many cells is reported and the next one is read', async () => {
  const rows = await rowsOf('id,link\n1,a,b,c\n2,b\n');
  assert.match(rows[0]!.fault!.reason, /has 4 cells/);
  assert.equal(rows[1]!.values!.id, '2');
});

test('empty cells of a CSV row behind the last name of the header say nothing', async () => {
  const rows = await rowsOf('id,link\n1,a,,\n2,,, \n3,c,,x,\n');
  assert.deepEqual(
    rows.map(({ values, fault }) => fault?.reason ?? values),
    [{ id: '1', link: 'a' }, { id: '2' }, 'has 5 cells, the header 2'],
  );
});

test('a CSV quote that is not closed costs its own line alone', async () => {
  const long = 'x'.repeat(1_100_000);
  const table: [text: string, lines: [line: number, id: unknown][]][] = [
    [
      'id,t\n1,"a\n2,b\n3,c\n',
      [
        [2, 'error'],
        [3, '2'],
        [4, '3'],
      ],
    ],
    [
      'id,t\n1,"a\n2,"b\n3,c',
      [
        [2, 'error'],
        [3, 'error'],
        [4, '3'],
      ],
    ],
    [
      'id,t\n1,"a\n2,"b"\n3,c\n',
      [
        [2, 'error'],
        [3, '2'],
        [4, '3'],
      ],
    ],
    [
      'id,t\n1,"a"\n2,"',
      [
        [2, '1'],
        [3, 'error'],
      ],
    ],
    [
      `id,t\n1,"a\n2,b\n3,${long.slice(100_000)}\n4,d\n`,
      [
        [2, 'error'],
        [3, '2'],
        [4, '3'],
        [5, '4'],
      ],
    ],
    [
      'id,t\n1,"a\nb" \r\n2,c',
      [
        [2, '1'],
        [4, '2'],
      ],
    ],
  ];
  for (const [text, lines] of table)
    for (const size of [1, 4096]) {
      const rows = await rowsOf(text, { format: 'csv', size: text.length > 1000 ? 4096 : size });
      assert.deepEqual(
        rows.map(({ line, values, fault }) => [line, fault === undefined ? values.id : 'error']),
        lines,
      );
      for (const { fault } of rows)
        assert.ok(fault === undefined || fault.reason === 'has a quote that is not closed');
    }
  await assert.rejects(
    rowsOf('"id,t\n1,a\n', { format: 'csv' }),
    /line 1: the header has a quote that is not closed/,
  );
  await assert.rejects(
    rowsOf(`id,t\n1,"${long}`, { format: 'csv', size: 65_536 }),
    /line 2: a row that does not end/,
  );
});

test('a CSV row of more than a megabyte ends the file, wherever its pieces are cut', async () => {
  const long = 'x'.repeat(1_048_580);
  for (const cell of [long, `"${long}"`])
    for (const size of [65_536, 10_000_000])
      await assert.rejects(
        rowsOf(`id,t\n1,${cell}\n2,b\n`, { format: 'csv', size }),
        /^Error: line 2: a row that does not end$/,
      );
});

test('every CSV that is written is read back the same', async () => {
  const cell = fc.string({ minLength: 1, maxLength: 12 }).filter((text) => !text.includes('\r'));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 8 }), async (table) => {
      const quoted = table.map((row) => row.map((text) => `"${text.replaceAll('"', '""')}"`).join(','));
      const rows = await rowsOf(`"id","b"\n${quoted.join('\n')}\n`, { format: 'csv', size: 5 });
      assert.deepEqual(
        rows.map(({ values }) => [values?.id, values?.b]),
        table,
      );
    }),
    { numRuns: 100 },
  );
});

test('CSV: repeated columns, columns without a name, blank lines before the header', async () => {
  const [first] = await rowsOf('\n\nid;image;;image;title\n1;a.jpg;0;b.jpg;x\n');
  assert.deepEqual(first, { line: 4, values: { id: '1', image: ['a.jpg', 'b.jpg'], title: 'x' } });
  const [wide] = await rowsOf('id,title\n1,a,b\n');
  assert.deepEqual(wide!.partial!.id, '1');
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

test('the last line of a CSV may lack its line break, and lines are counted with the header', async () => {
  for (const end of ['', '\n', '\r\n'])
    for (const size of [1, 4096]) {
      const rows = await rowsOf(`id,t\r\n1,"a\r\nb\r\n\r\nc"\r\n2,d,e\r\n3,f${end}`, { size });
      assert.deepEqual(
        rows.map(({ line, values, fault }) => [line, values?.id ?? fault!.reason]),
        [
          [2, '1'],
          [6, 'has 3 cells, the header 2'],
          [7, '3'],
        ],
      );
      assert.equal(rows[0]!.values!.t, 'a\r\nb\r\n\r\nc');
    }
});
