/** Feeds in every format that is read (D16), as rows. Memory is that of one row. */
import { isStorable, toStorable } from '../../kernel/db/storable-text.ts';
import { parseCsv } from './csv.ts';
import { parseJson, parseNdjson } from './json.ts';
import { type FeedRow, namesItem } from './row.ts';
import { textOf } from './text.ts';
import { parseXml } from './xml.ts';

export type { FeedRow } from './row.ts';
export { textOf } from './text.ts';

export const FORMATS = ['csv', 'json', 'ndjson', 'xml'] as const;
export type Format = (typeof FORMATS)[number];

const PARSERS: Record<Format, (chunks: AsyncIterable<string>) => AsyncGenerator<FeedRow>> = {
  csv: parseCsv,
  json: parseJson,
  ndjson: parseNdjson,
  xml: parseXml,
};

/** The format that a name or a content type promises. */
export function formatOf(name: string): Format | null {
  const text = name.split(/[?#]/, 1)[0]!.toLowerCase();
  if (/(ndjson|jsonl|jsonlines|json-seq)(\.gz)?\s*(;|$)/.test(text)) return 'ndjson';
  if (/json$|[/+.]json(;|$)/.test(text)) return 'json';
  if (/(xml|rss|atom)(;|$)/.test(text)) return 'xml';
  if (/(csv|tsv|txt|tab-separated-values)(;|$)/.test(text)) return 'csv';
  return null;
}

/** The format that the first characters betray. */
function sniff(start: string): Format {
  const text = start.replace(/^\uFEFF/, '').trimStart();
  if (text.startsWith('<')) return 'xml';
  if (text.startsWith('[')) return 'json';
  if (text.startsWith('{')) {
    const line = text.split('\n', 1)[0]!.trimEnd();
    return line.endsWith('}') && !isEnvelope(line) ? 'ndjson' : 'json';
  }
  return 'csv';
}

/** Whether a line is an object around a list of items, and not an item, which tells who it is. */
function isEnvelope(line: string): boolean {
  try {
    return line.includes('[') && !Object.keys(JSON.parse(line)).some(namesItem);
  } catch {
    return /^\{\s*"\w+"\s*:\s*\[\s*\{/.test(line);
  }
}

const SNIFFED = 4096;
const MOST_BLANKS = 65_536;

async function* startingWith(first: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  yield first;
  yield* rest;
}

/**
 * The rows of a feed. An unreadable or unstorable row is a row with an `error`; a feed that is broken as a whole throws.
 *
 * @example for await (const row of readFeed(createReadStream('feed.xml'))) ...
 */
export async function* readFeed(
  source: AsyncIterable<Uint8Array>,
  format?: Format | null,
  charset?: () => string | null,
): AsyncGenerator<FeedRow> {
  const { chunks, isDamaged } = textOf(source, charset);
  let start = '';
  // A line is enough to tell the format by.
  while (start.trim() === '' || (!start.includes('\n') && start.length < SNIFFED)) {
    const next = await chunks.next();
    if (next.done) break;
    start += next.value;
    if (start.length > MOST_BLANKS && start.trim() === '')
      throw new Error('the feed begins with blanks alone');
  }
  if (start === '') return;
  for await (const row of PARSERS[format ?? sniff(start)](startingWith(start, chunks))) {
    const error = row.error ?? faultOf(row.values, { name: '', depth: 0, damaged: isDamaged() });
    yield error === null
      ? row
      : { line: row.line, error: toStorable(error), partial: row.values ?? row.partial ?? {} };
  }
}

/** Deeper than a feed has reason to be, and far from what the stack of the program or of the database carries. */
const DEEPEST = 32;

/** Where a row holds what cannot be read or stored, in the words of an error. */
function faultOf(value: unknown, at: { name: string; depth: number; damaged: boolean }): string | null {
  const { name, depth, damaged } = at;
  if (typeof value === 'string') {
    if (!isStorable(value)) return `${name} holds a NUL or half of a surrogate pair`;
    return damaged && value.includes('\uFFFD')
      ? `${name} holds bytes that are not of the character set`
      : null;
  }
  if (typeof value !== 'object' || value === null) return null;
  if (depth > DEEPEST) return `${name.split('.', 1)[0]} is nested deeper than ${DEEPEST} times`;
  for (const [key, member] of Object.entries(value)) {
    if (!isStorable(key)) return `the name ${key} holds a NUL or half of a surrogate pair`;
    const found = faultOf(member, { name: name === '' ? key : `${name}.${key}`, depth: depth + 1, damaged });
    if (found !== null) return found;
  }
  return null;
}
