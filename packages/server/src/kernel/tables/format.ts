/** Which format a table is in: what was said, what a name or content type promises, what the first characters show. */
import type { Words } from './row.ts';

export const FORMATS = ['csv', 'json', 'ndjson', 'xml'] as const;
export type Format = (typeof FORMATS)[number];

/** A format that only a name or a content type speaks for. NDJSON is often called JSON, so the content has a say. */
export interface PromisedFormat {
  promised: Format;
}

/** The column that every row has. */
export interface Key {
  /** For error texts: `the header names no id`. */
  name: string;
  matches(name: string): boolean;
}

/**
 * The format that a name or a content type promises.
 *
 * @example formatOf('application/x-ndjson; charset=utf-8') // { promised: 'ndjson' }
 */
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

/** The format of a text that begins so. */
export function formatIn(
  text: string,
  { format = null, key }: { format?: Format | PromisedFormat | null; key?: Key },
): Format {
  if (format === null) return sniff(text, key);
  if (typeof format === 'string') return format;
  return format.promised === 'json' && isLines(text, key) ? 'ndjson' : format.promised;
}

function sniff(text: string, key: Key | undefined): Format {
  if (text.startsWith('<')) return 'xml';
  if (text.startsWith('[')) return 'json';
  if (!text.startsWith('{')) return 'csv';
  const line = firstLine(text);
  if (line.length > MAX_LINE) return 'json';
  return line.endsWith('}') && !isEnvelope(line, key) ? 'ndjson' : 'json';
}

const firstLine = (text: string) => text.split('\n', 1)[0]!.trimEnd();
const LIST_OF_OBJECTS = /\[\s*\{/;
const hasKey = (object: object, key: Key) => Object.keys(object).some((name) => key.matches(name));

/** Whether what is called JSON is NDJSON: another object follows the first line, or the only line is a row. */
function isLines(text: string, key: Key | undefined): boolean {
  const line = firstLine(text);
  if (!line.startsWith('{') || !line.endsWith('}')) return false;
  const rest = text.slice(line.length).trimStart();
  return rest === '' ? isLoneRow(line, key) : rest.startsWith('{');
}

function isLoneRow(line: string, key: Key | undefined): boolean {
  try {
    const object = JSON.parse(line);
    return !LIST_OF_OBJECTS.test(line) && (key === undefined || hasKey(object, key));
  } catch {
    return false;
  }
}

/** Whether a line is an object around a list of rows. A row has the key. */
function isEnvelope(line: string, key: Key | undefined): boolean {
  try {
    const object = JSON.parse(line);
    return key === undefined ? LIST_OF_OBJECTS.test(line) : line.includes('[') && !hasKey(object, key);
  } catch {
    return /^\{\s*"\w+"\s*:\s*\[\s*\{/.test(line);
  }
}

const SNIFFED = 4096;
/** A longer object on one line is an envelope, because no row is as long. */
const MAX_LINE = 1_048_576;
const MAX_BLANKS = 65_536;

/** Reads as much as `formatIn` needs: the first line and a sign behind it, or more than a row has. */
export async function startOf(chunks: AsyncGenerator<string>, words: Words): Promise<string> {
  let start = '';
  let first = '';
  let hasLine = false;
  for (;;) {
    const next = await chunks.next();
    if (next.done) return start;
    start += next.value;
    // Each chunk is looked at once, however small the chunks are.
    let rest = next.value;
    if (first === '') {
      rest = rest.trimStart(); // the byte order mark as well
      first = rest.charAt(0);
    }
    if (first === '') {
      if (start.length > MAX_BLANKS) throw new Error(`${words.file} begins with blanks alone`);
      continue;
    }
    if (!hasLine) {
      const end = rest.indexOf('\n');
      hasLine = end >= 0;
      rest = hasLine ? rest.slice(end) : '';
    }
    if (rest.trimStart() !== '' || start.length > (first === '{' ? MAX_LINE + MAX_BLANKS : SNIFFED))
      return start;
  }
}
