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

/** A format of which nobody has said more than a name or a content type does. */
export interface PromisedFormat {
  promised: Format;
}

/** The format that a name or a content type promises. */
export function formatOf(name: string): PromisedFormat | null {
  const promised = promisedBy(name.split(/[?#]/, 1)[0]!.toLowerCase());
  return promised === null ? null : { promised };
}

function promisedBy(text: string): Format | null {
  if (/(ndjson|jsonl|jsonlines|json-seq)(\.gz)?\s*(;|$)/.test(text)) return 'ndjson';
  if (/json$|[/+.]json(;|$)/.test(text)) return 'json';
  if (/(xml|rss|atom)(;|$)/.test(text)) return 'xml';
  if (/(csv|tsv|txt|tab-separated-values)(;|$)/.test(text)) return 'csv';
  return null;
}

/** The format that was said, else the one that name and content agree on: NDJSON is often called JSON. */
function formatIn(text: string, format: Format | PromisedFormat | null): Format {
  if (format === null) return sniff(text);
  if (typeof format === 'string') return format;
  return format.promised === 'json' && isLines(text) ? 'ndjson' : format.promised;
}

/** The format that the first characters betray. */
function sniff(text: string): Format {
  if (text.startsWith('<')) return 'xml';
  if (text.startsWith('[')) return 'json';
  if (text.startsWith('{')) {
    const line = firstLine(text);
    if (line.length > MOST_LINE) return 'json';
    return line.endsWith('}') && !isEnvelope(line) ? 'ndjson' : 'json';
  }
  return 'csv';
}

const firstLine = (text: string) => text.split('\n', 1)[0]!.trimEnd();

/** Whether what is called JSON is none: an object is followed by another one, or is alone and an item without a list of objects. */
function isLines(text: string): boolean {
  const line = firstLine(text);
  if (!line.startsWith('{') || !line.endsWith('}')) return false;
  const rest = text.slice(line.length).trimStart();
  return rest === '' ? isLoneItem(line) : rest.startsWith('{');
}

function isLoneItem(line: string): boolean {
  try {
    return !/\[\s*\{/.test(line) && Object.keys(JSON.parse(line)).some(namesItem);
  } catch {
    return false;
  }
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
/** An object on one line is an item, and has no more; what goes on is a list of them. */
const MOST_LINE = 1_048_576;
const MOST_BLANKS = 65_536;

/** As much as the format can be told by: a line and what follows it, or more than such a line has. */
async function startOf(chunks: AsyncGenerator<string>): Promise<string> {
  let start = '';
  let first = '';
  let hasLine = false;
  for (;;) {
    const next = await chunks.next();
    if (next.done) return start;
    start += next.value;
    // Each piece is looked at once, however small they are.
    let rest = next.value;
    if (first === '') {
      rest = rest.trimStart(); // the byte order mark as well
      first = rest.charAt(0);
    }
    if (first === '') {
      if (start.length > MOST_BLANKS) throw new Error('the feed begins with blanks alone');
      continue;
    }
    if (!hasLine) {
      const end = rest.indexOf('\n');
      hasLine = end >= 0;
      rest = hasLine ? rest.slice(end) : '';
    }
    if (rest.trimStart() !== '' || start.length > (first === '{' ? MOST_LINE + MOST_BLANKS : SNIFFED))
      return start;
  }
}

async function* startingWith(first: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  yield first;
  yield* rest;
}

/**
 * The rows of a feed. An unreadable or unstorable row is a row with an `error`; a feed that is broken as a whole throws.
 *
 * @param options.mayBeEmpty false where nothing at all is no feed; one of no rows still has a header, or brackets
 * @example for await (const row of readFeed(createReadStream('feed.xml'))) ...
 */
export async function* readFeed(
  source: AsyncIterable<Uint8Array>,
  options: {
    format?: Format | PromisedFormat | null | undefined;
    charset?: (() => string | null) | undefined;
    mayBeEmpty?: boolean;
  } = {},
): AsyncGenerator<FeedRow> {
  const { format = null, charset, mayBeEmpty = true } = options;
  const { chunks, isDamaged } = textOf(source, charset);
  const start = await startOf(chunks);
  const text = start.trimStart();
  if (text === '' && !mayBeEmpty) throw new Error('the feed is empty');
  if (start === '') return;
  for await (const row of PARSERS[formatIn(text, format)](startingWith(start, chunks))) {
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
