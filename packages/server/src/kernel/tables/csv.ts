/** CSV as it comes (RFC 4180 and its relatives): comma, semicolon or tab, quoted line breaks, a byte order mark. */
import type { Key } from './format.ts';
import { addValue, faulty, type Row, type Values } from './row.ts';

/** Characters of a record, and of a cell. */
const MAX_RECORD = 1_048_576;

const BLANK_LINES = /^(?:[^\S\r\n]*[\r\n])+/;
/** A quoted name may hold line breaks and delimiters, so it is left out where they are counted. */
const QUOTED = /(^|[,;\t|\n])"[^"]*(?:""[^"]*)*"/g;
const OPEN_QUOTE = /(?:^|[,;\t|])"(?!")/;

/** The header line with its quoted names emptied, and whether all of the line is there. */
function headerIn(text: string): { line: string; isWhole: boolean } {
  const plain = text.replace(QUOTED, '$1""').replace(BLANK_LINES, '');
  const line = plain.split('\n', 1)[0]!;
  return { line, isWhole: line.length < plain.length && !OPEN_QUOTE.test(line) };
}

/** The delimiter that occurs most often in the header line. */
function delimiterOf(header: string): string {
  const counts = [',', ';', '\t', '|'].map((sign) => ({ sign, count: header.split(sign).length }));
  return counts.sort((a, b) => b.count - a.count)[0]!.sign;
}

type CsvRecord = { line: number; cells: string[]; error?: string };

/**
 * Records of a text stream with the line on which each begins. A quote that is not closed swallows the lines behind it:
 * its own line is an error, and the others are read again.
 */
async function* records(chunks: AsyncIterable<string>): AsyncGenerator<CsvRecord> {
  let delimiter: string | null = null;
  let pending = '';
  let cells: string[] = [];
  let cell = '';
  let quoted = false;
  /** Behind a quote inside a quoted cell, which ends the cell or is the first of two. */
  let closing = false;
  /** Behind the end of a quoted cell, where only blanks and a delimiter may follow. */
  let closed = false;
  let line = 1;
  let startedAt = 1;
  /** The text of this record in the chunks before. */
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
        if (cell.length <= MAX_RECORD) continue;
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
      if (swallowed || before.length + i - from > MAX_RECORD) {
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

  /** Gives the record up. Reading goes on with the line behind the one on which it began. */
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
      if (!isWhole && pending.length < MAX_RECORD) continue;
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

/** Every CR becomes LF where the header line ends by CR alone, as old spreadsheets write it. */
async function* withLineFeeds(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let held = '';
  let alone: boolean | null = null;
  for await (const chunk of chunks) {
    if (alone === null) {
      held += chunk;
      const [end] = /\r\n|\n|\r(?=.)/.exec(held) ?? [];
      if (end === undefined && held.length < MAX_RECORD) continue;
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
export async function* parseCsv(chunks: AsyncIterable<string>, key?: Key): AsyncGenerator<Row> {
  let header: string[] | null = null;
  for await (const { line, cells, error } of records(withLineFeeds(chunks))) {
    if (header === null) {
      if (error !== undefined) throw new Error(`line ${line}: the header ${error}`);
      header = cells.map((name) => name.trim());
      // A file without a header, or a page of an error, would give a fault for every row.
      if (key !== undefined && !header.some((name) => key.matches(name)))
        throw new Error(`line ${line}: the header names no ${key.name}`);
      continue;
    }
    const values = valuesOf(header, cells);
    // Spreadsheets end rows with separators that the header lacks. Empty cells there are no fault.
    const filled = cells.findLastIndex((cell) => cell.trim() !== '') + 1;
    const isWide = filled > header.length;
    const reason = error ?? (isWide ? `has ${cells.length} cells, the header ${header.length}` : undefined);
    yield reason === undefined ? { line, values } : faulty(line, reason, values);
  }
}

function valuesOf(header: readonly string[], cells: readonly string[]): Values {
  const values: Values = {};
  for (let index = 0; index < cells.length; index++) {
    const name = header[index] ?? '';
    const cell = cells[index]!;
    if (cell !== '' && name !== '') addValue(values, name, cell);
  }
  return values;
}
