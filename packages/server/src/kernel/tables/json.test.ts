import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outcomes, rowsOf } from './tables.fixture.ts';

test('a JSON member that is no object is reported in its place', async () => {
  const text =
    '{"a": {}, "items": [\n5, {"id": "1"},\n"a, ]", null, [{"id": 9}], {"id": "2"} x, {"id": "3"}, ]}';
  for (const size of [1, 1000]) {
    const rows = await rowsOf(text, { format: 'json', size });
    assert.deepEqual(
      rows.map(({ line, values, fault }) => [line, values?.id ?? fault!.reason.slice(0, 16)]),
      [
        [2, 'is not an object'],
        [2, '1'],
        [3, 'is not an object'],
        [3, 'is not an object'],
        [3, 'is not an object'],
        [3, 'is not JSON: Une'],
        [3, '3'],
      ],
    );
  }
});

test('JSON is an array, or an object that holds one; NDJSON goes on after a bad line', async () => {
  const item = { id: '1', link: 'https://s.example/1', note: 'a ] } " \\ b', nested: { a: [1] } };
  assert.deepEqual(await rowsOf(JSON.stringify([item, item], null, 1)), [
    { line: 2, values: item },
    { line: 12, values: item },
  ]);
  assert.deepEqual((await rowsOf(`{\n"items": ${JSON.stringify([item])} }`))[0]!.values, item);
  const rows = await rowsOf(`${JSON.stringify(item)}\n{"id": \n\n${JSON.stringify(item)}`);
  assert.deepEqual(
    rows.map(({ line, fault }) => [line, fault === undefined]),
    [
      [1, true],
      [2, false],
      [4, true],
    ],
  );
});

test('JSON rows are in the first array that holds an object', async () => {
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
  const key = { name: 'id', matches: (name: string) => name === 'id' };
  for (const text of ['{"items": [{"id": "1"}]}', '{"total": 1, "ok": true, "products": [{"id": "1"}]}\n'])
    assert.deepEqual(outcomes(await rowsOf(text, { key })), ['1'], text);
  assert.deepEqual(outcomes(await rowsOf('{"items": []}', { key })), []);
  assert.deepEqual(outcomes(await rowsOf('{"id": "1", "tags": ["a"]}\n{"sku": "2"}', { key })), [
    '1',
    undefined,
  ]);
});

test('an object of more than a megabyte ends the file, wherever its pieces are cut', async () => {
  const text = `{"id":"${'x'.repeat(1_048_580)}"}`;
  for (const size of [65_536, 10_000_000])
    for (const [format, whole] of [
      ['ndjson', `${text}\n{"id":"2"}\n`],
      ['json', `[${text},{"id":"2"}]`],
    ] as const)
      await assert.rejects(rowsOf(whole, { format, size }), /^Error: line 1: an object that does not end$/);
});
