/**
 * Columns of many rows as parameters of one statement. What needs no quotes travels as a ready-made array literal, texts
 * without line breaks by the line, other texts as a JSON array, JSON itself as it is. To insert 1000 jobs took 9 ms so, 16 ms with
 * arrays that the driver quotes element by element, 15 ms with `json_to_recordset`, 60 ms by COPY.
 */

/** Numbers, guids and ids of our own making. */
export function arrayLiteral(values: readonly (string | number | null)[]): string {
  return `{${values.map((value) => value ?? 'null').join(',')}}`;
}

/** Times in milliseconds since the epoch, for `::timestamptz[]`. */
export function timestampArray(values: readonly (number | null)[]): string {
  let known: number | null = null;
  let text: string | null = null;
  const textOf = (value: number | null) => {
    // What was published together has the same time, hundreds of times over.
    if (value !== known) text = value === null ? null : new Date(value).toISOString();
    known = value;
    return text;
  };
  return arrayLiteral(values.map(textOf));
}

/** Texts for `json_array_elements_text`. Those with U+0000 or half a character fail: they cannot be stored. */
export function jsonTextArray(values: readonly (string | null)[]): string {
  return JSON.stringify(values);
}

/**
 * Texts without line breaks, for `string_to_array(..., chr(10))`. For 64 signals with payloads of 230 bytes, beside arrays that the
 * driver quotes and PostgreSQL unquotes: 2.2 instead of 2.7 ms, and a third less work here; as JSON arrays: 3.3 ms. Of a single
 * empty text PostgreSQL makes no element at all.
 */
export function newlineText(values: readonly string[]): string {
  return values.join('\n');
}

/** Texts that are JSON, for `json_array_elements`, which gives them back to the byte. */
export function jsonArray(values: readonly string[]): string {
  return `[${values.join(',')}]`;
}
