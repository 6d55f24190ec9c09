/** Tables for the tests of readers: bytes in pieces, rows as a list, a simple shape of XML. */
import { addValue, type Row, readTable, type TableOptions, type XmlElement, type XmlShape } from './index.ts';

/** The bytes of a text, or bytes, `size` at a time. */
export async function* inPieces(content: string | Buffer, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(content as string);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

export async function rowsOf(
  content: string | Buffer,
  { size = 7, ...options }: TableOptions & { size?: number } = {},
): Promise<Row[]> {
  return Array.fromAsync(readTable(inPieces(content, size), { xml: ITEMS, ...options }));
}

/** The id of each row, or the reason why it has none. */
export const outcomes = (rows: Row[]) => rows.map(({ values, fault }) => fault?.reason ?? values!.id);

export const ITEMS: XmlShape = { rows: ['item'], valuesOf };

function valuesOf({ content }: XmlElement): Record<string, unknown> {
  const values = {};
  for (const part of content) if (typeof part !== 'string') addValue(values, part.name, valueIn(part));
  return values;
}

const valueIn = (element: XmlElement): unknown =>
  element.content.some((part) => typeof part !== 'string') ? valuesOf(element) : element.content.join('');
