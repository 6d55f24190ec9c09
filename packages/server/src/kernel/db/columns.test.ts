import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabase } from '../../testing/database.ts';
import { arrayLiteral, jsonArray, jsonTextArray, newlineText, timestampArray } from './columns.ts';

const { sql } = await createTestDatabase();

test('columns of all kinds come back as they were sent', async () => {
  const strange = ['a"b', "c'd", '{e,f}', 'g\\h', 'null', '', ' ', 'i\nj', '\\u0000', '👍', null];
  const bodies = strange.map((value) => `{"a": ${JSON.stringify(value)} }`);
  const numbers = strange.map((_, index) => (index % 2 === 0 ? index : null));
  const moments = numbers.map((number) => (number === null ? null : number * 1001));
  const rows = await sql`
    select text, body::text, number, time from rows from (
      json_array_elements_text(${jsonTextArray(strange)}::text::json),
      json_array_elements(${jsonArray(bodies)}::text::json),
      unnest(${arrayLiteral(numbers)}::int[]),
      unnest(${timestampArray(moments)}::timestamptz[])) as row (text, body, number, time)`;
  assert.deepEqual(
    rows.map(({ text, body, number, time }) => [text, body, number, time?.getTime() ?? null]),
    strange.map((value, index) => [value, bodies[index], numbers[index], moments[index]]),
  );
});

test('texts without line breaks come back as they were sent', async () => {
  const strange = ['a"b', "c'd", '{e,f}', 'g\\h', 'null', '', ' ', '\t', '👍', ''];
  const [row] = await sql`select string_to_array(${newlineText(strange)}, chr(10)) as texts`;
  assert.deepEqual(row!.texts, strange);
});

for (const text of ['a\0b', 'c\ud800d'])
  test(`a text that cannot be stored fails, and is not changed in silence: ${JSON.stringify(text)}`, async () => {
    await assert.rejects(
      async () => sql`select json_array_elements_text(${jsonTextArray([text])}::text::json)`,
    );
  });
