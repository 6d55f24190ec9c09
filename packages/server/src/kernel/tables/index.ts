/**
 * Tables as streams: the rows of CSV, JSON, NDJSON and XML files of any size, each with the line on which it begins.
 *
 * A row that cannot be read has a `fault` instead of `values`, and the rows behind it are read. A file that is broken
 * as a whole (cut off, of another format, in an unknown character set) gives the rows before the break, then throws one
 * error. The content tells gzip and the delimiter of CSV. It tells the format and the character set where the caller
 * does not.
 *
 * Limits: memory is that of one row and one chunk, and a row of more than a megabyte ends the file with an error.
 * Values of CSV and XML are texts. XML needs `xml`. JSON has its rows in the first array that holds an object. CSV that
 * is cut off between two cells and NDJSON that is cut off between two lines look whole.
 *
 * @example
 * const key = { name: 'email', matches: (name: string) => name === 'email' };
 * const table = readTable(createReadStream('contacts.csv'), { key });
 * for await (const { line, values, fault } of table) {
 *   if (fault !== undefined) console.error(`${line}, ${fault.column ?? '-'}, ${fault.reason}`);
 *   else await store(values);
 *   show(table.progress); // { rows: 2, bytes: 65536 }
 * }
 */
import { parseCsv } from './csv.ts';
import { type Format, formatIn, type Key, type PromisedFormat, startOf } from './format.ts';
import { parseJson, parseNdjson } from './json.ts';
import { checked, type Row, type Words } from './row.ts';
import { startingWith, textOf } from './text.ts';
import { parseXml, type XmlShape } from './xml.ts';

export { FORMATS, type Format, formatOf, type PromisedFormat } from './format.ts';
export { addValue, type Fault, type Row, type Values } from './row.ts';
export { charsetIn, textOf } from './text.ts';
export { attributeIn, type XmlElement, type XmlShape } from './xml.ts';

export interface TableOptions {
  /** Without one the content decides; `{ promised: 'json' }` lets it decide between JSON and NDJSON alone. */
  format?: Format | PromisedFormat | null;
  /** The character set that the sender names, for content that does not. Asked when the first bytes have come. */
  charset?: (() => string | null) | undefined;
  /** False refuses a file of blanks alone; one of no rows still has a header, or brackets. */
  mayBeEmpty?: boolean;
  /** CSV whose header does not have it is refused. It also tells a row from an object around the rows. */
  key?: Key;
  /** Which elements of XML are rows. Without it XML is refused. */
  xml?: XmlShape;
  words?: Words;
}

export interface Table extends AsyncIterable<Row> {
  /** Rows given so far, faulty ones included, and bytes read of the source, before they are unpacked. */
  readonly progress: Readonly<Progress>;
}

export interface Progress {
  rows: number;
  bytes: number;
}

const WORDS: Words = { file: 'the file', row: 'a row', rows: 'rows' };

/** The rows of a source, which is read once and closed when its reader leaves the loop. */
export function readTable(source: AsyncIterable<Uint8Array>, options: TableOptions = {}): Table {
  const progress: Progress = { rows: 0, bytes: 0 };
  return { progress, [Symbol.asyncIterator]: () => rowsOf(source, options, progress) };
}

async function* rowsOf(
  source: AsyncIterable<Uint8Array>,
  options: TableOptions,
  progress: Progress,
): AsyncGenerator<Row> {
  const { words = WORDS, mayBeEmpty = true } = options;
  const { chunks, isDamaged } = textOf(counted(source, progress), options.charset);
  try {
    const start = await startOf(chunks, words);
    const text = start.trimStart();
    if (text === '' && !mayBeEmpty) throw new Error(`${words.file} is empty`);
    if (start === '') return;
    for await (const row of parse(startingWith(start, chunks), formatIn(text, options), options, words)) {
      progress.rows++;
      yield checked(row, isDamaged());
    }
  } finally {
    await chunks.return(undefined);
  }
}

function parse(
  chunks: AsyncIterable<string>,
  format: Format,
  { key, xml }: TableOptions,
  words: Words,
): AsyncGenerator<Row> {
  if (format === 'csv') return parseCsv(chunks, key);
  if (format === 'ndjson') return parseNdjson(chunks);
  if (format === 'json') return parseJson(chunks, words);
  if (xml === undefined) throw new Error('XML is not read here');
  return parseXml(chunks, xml, words);
}

async function* counted(source: AsyncIterable<Uint8Array>, progress: Progress): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) {
    progress.bytes += chunk.length;
    yield chunk;
  }
}
