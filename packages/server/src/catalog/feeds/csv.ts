/** CSV as it comes (RFC 4180 and its relatives): comma, semicolon or tab, quoted line breaks, a byte order mark. */
import { addValue, type FeedRow, namesItem } from './row.ts';

/** Of a record, however many cells it has, and of a cell. */
const MOST_RECORD = 1_048_576;

const BLANK_LINES = /^(?:[^\S\r\n]*[\r\n])+/;
/** A quoted name: it may hold line breaks, and more of a sign than there are delimiters. */
const QUOTED = /(^|[,;\t|\n])"[^"]*(?:""[^"]*)*"/g;
const OPEN_QUOTE = /(?:^|[,;\t|])"(?!")/;

/** The header line, its quoted names without what is in them, and whether all of it is there. */
function headerIn(text: string): { line: string; isWhole: boolean } {
  const plain = text.replace(QUOTED, '$1""').replace(BLANK_LINES, '');
  const line = plain.split('\n', 1)[0]!;
  return { line, isWhole: line.length < plain.length && !OPEN_QUOTE.test(line) };
}

/** The delimiter that the header line has most of. */
function delimiterOf(header: string): string {
  const counts = [',', ';', '\t', '|'].map((sign) => ({ sign, count: header.split(sign).length }));
  return counts.sort((a, b) => b.count - a.count)[0]!.sign;
}

type CsvRecord = { line: number; cells: string[]; error?: string };

/**
 * Records of a text stream with the line on which each begins; memory is that of one record. A quote that is not closed
 * swallows the lines behind it: its own line is an error, and those are read again.
 */
async function* records(chunks: AsyncIterable<string>): AsyncGenerator<CsvRecord> {
  let delimiter: string | null = null;
  let pending = '';
  let cells: string[] = [];
  let cell = '';
  let quoted = false;
  /** Just behind a quote inside a quoted cell: its end, or the first of two. */
  let closing = false;
  /** Behind the end of a quoted cell, in which only blanks are expected. */
  let closed = false;
  let line = 1;
  let startedAt = 1;
  /** The text of the record so far, of the chunks before this one. */
  let before = '';

  function* feed(given: string): Generator<CsvRecord> {
    let text = given;
    let from = 0;
    for (let i = 0; i < text.length; i++) {
      const sign = text[i]!;
      if (quoted && !closing) {
        if (sign === '"') closing = true;
        else cell += sign;
        if (sign === '\n') line++;
        if (cell.length <= MOST_RECORD) continue;
      }
      if (closing) {
        closing = false;
        if (sign === '"') {
          cell += '"';
          continue;
        }
        quoted = false;
        closed = true;
      }
      const swallowed = closed && line > startedAt && !ENDS.has(sign) && sign !== delimiter;
      if (swallowed || before.length + i - from > MOST_RECORD) {
        if (line === startedAt) throw new Error(`line ${line}: a row that does not end`);
        text = afterFirstLine(before + text.slice(from));
        yield reject();
        from = 0;
        i = -1;
      } else if (sign === '"' && cell === '' && !closed) quoted = true;
      else if (sign === delimiter) {
        cells.push(cell);
        cell = '';
        closed = false;
      } else if (sign === '\n') {
        line++;
        yield* finish();
        from = i + 1;
      } else if (sign !== '\r') cell += sign;
    }
    before += text.slice(from);
  }

  function start(): void {
    cells = [];
    cell = '';
    quoted = false;
    closing = false;
    closed = false;
    startedAt = line;
    before = '';
  }

  function* finish(): Generator<CsvRecord> {
    if (cells.length > 0 || cell.trim() !== '') yield { line: startedAt, cells: [...cells, cell] };
    start();
  }

  /** Gives the record up; the line behind the one on which it began is the next. */
  function reject(): CsvRecord {
    const rejected = { line: startedAt, cells, error: 'has a quote that is not closed' };
    line = startedAt + 1;
    start();
    return rejected;
  }

  for await (const chunk of chunks) {
    if (delimiter === null) {
      pending = (pending + chunk).replace(/^\uFEFF/, '');
      const { line, isWhole } = headerIn(pending);
      if (!isWhole && pending.length < MOST_RECORD) continue;
      delimiter = delimiterOf(line);
      yield* feed(pending);
      pending = '';
    } else yield* feed(chunk);
  }
  if (delimiter === null && pending !== '') {
    delimiter = delimiterOf(headerIn(pending).line);
    yield* feed(pending);
  }
  while (quoted && !closing) {
    const rest = afterFirstLine(before);
    yield reject();
    yield* feed(rest);
  }
  yield* finish();
}

const ENDS = new Set(['\n', '\r', ' ']);

function afterFirstLine(text: string): string {
  const end = text.indexOf('\n');
  return end < 0 ? '' : text.slice(end + 1);
}

/** Where the header line ends by CR alone, as spreadsheets of old write it, every CR becomes the LF that it stands for. */
async function* withLineFeeds(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let held = '';
  let alone: boolean | null = null;
  for await (const chunk of chunks) {
    if (alone === null) {
      held += chunk;
      const [end] = /\r\n|\n|\r(?=.)/.exec(held) ?? [];
      if (end === undefined && held.length < MOST_RECORD) continue;
      alone = end === '\r';
    }
    const text = held || chunk;
    held = '';
    yield alone ? text.replaceAll('\r', '\n') : text;
  }
  yield held;
}

/**
 * Rows by the names of the header line.
 *
 * @example for await (const row of parseCsv(chunks)) console.log(row.line, row.values?.title)
 */
export async function* parseCsv(chunks: AsyncIterable<string>): AsyncGenerator<FeedRow> {
  let header: string[] | null = null;
  for await (const record of records(withLineFeeds(chunks))) {
    const { line, cells, error } = record;
    if (header === null) {
      if (error !== undefined) throw new Error(`line ${line}: the header ${error}`);
      header = cells.map((name) => name.trim());
      // Without one every row would be refused, and the first be taken for names: it is no feed, or its header is missing.
      if (!header.some(namesItem)) throw new Error(`line ${line}: the header names no id`);
      continue;
    }
    const values = valuesOf(header, cells);
    // Spreadsheets end rows with separators that the header lacks: what is empty says nothing.
    const told = cells.findLastIndex((cell) => cell.trim() !== '') + 1;
    const fault =
      error ?? (told > header.length ? `has ${cells.length} cells, the header ${header.length}` : undefined);
    yield fault === undefined ? { line, values } : { line, error: fault, partial: values };
  }
}

function valuesOf(header: readonly string[], cells: readonly string[]): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (let index = 0; index < cells.length; index++) {
    const name = header[index] ?? '';
    const cell = cells[index]!;
    if (cell !== '' && name !== '') addValue(values, name, cell);
  }
  return values;
}
