/** CSV as it comes (RFC 4180 and its relatives): comma, semicolon or tab, quoted line breaks, a byte order mark. */
import type { FeedRow } from './row.ts';

const MOST_RECORD = 1_048_576;

/** The delimiter that the header line has most of. */
function delimiterOf(header: string): string {
  const counts = [',', ';', '\t', '|'].map((sign) => ({ sign, count: header.split(sign).length }));
  return counts.sort((a, b) => b.count - a.count)[0]!.sign;
}

/** Records of a text stream with the line on which each begins; memory is that of one record. */
async function* records(chunks: AsyncIterable<string>): AsyncGenerator<{ line: number; cells: string[] }> {
  let delimiter: string | null = null;
  let pending = '';
  let cells: string[] = [];
  let cell = '';
  let quoted = false;
  /** Just behind a quote inside a quoted cell: its end, or the first of two. */
  let closing = false;
  let line = 1;
  let startedAt = 1;

  function* feed(text: string): Generator<{ line: number; cells: string[] }> {
    for (let i = 0; i < text.length; i++) {
      const sign = text[i]!;
      if (quoted && !closing) {
        if (sign === '"') closing = true;
        else cell += sign;
        if (sign === '\n') line++;
        continue;
      }
      if (closing) {
        closing = false;
        if (sign === '"') {
          cell += '"';
          continue;
        }
        quoted = false;
      }
      if (sign === '"' && cell === '') quoted = true;
      else if (sign === delimiter) {
        cells.push(cell);
        cell = '';
      } else if (sign === '\n') {
        line++;
        yield* finish();
      } else if (sign !== '\r') cell += sign;
      if (cell.length > MOST_RECORD) throw new Error(`line ${startedAt}: a cell that does not end`);
    }
  }

  function* finish(): Generator<{ line: number; cells: string[] }> {
    if (cells.length > 0 || cell.trim() !== '') yield { line: startedAt, cells: [...cells, cell] };
    cells = [];
    cell = '';
    startedAt = line;
  }

  for await (const chunk of chunks) {
    if (delimiter === null) {
      pending += chunk;
      if (!pending.includes('\n') && pending.length < MOST_RECORD) continue;
      pending = pending.replace(/^\uFEFF/, '');
      delimiter = delimiterOf(pending.split('\n', 1)[0]!);
      yield* feed(pending);
      pending = '';
    } else yield* feed(chunk);
  }
  if (delimiter === null && pending !== '') {
    pending = pending.replace(/^\uFEFF/, '');
    delimiter = delimiterOf(pending);
    yield* feed(pending);
  }
  yield* finish();
}

/**
 * Rows by the names of the header line.
 *
 * @example for await (const row of parseCsv(chunks)) console.log(row.line, row.values?.title)
 */
export async function* parseCsv(chunks: AsyncIterable<string>): AsyncGenerator<FeedRow> {
  let header: string[] | null = null;
  for await (const { line, cells } of records(chunks)) {
    if (header === null) {
      header = cells.map((name) => name.trim());
      continue;
    }
    if (cells.length > header.length) {
      yield { line, error: `has ${cells.length} cells, the header ${header.length}` };
      continue;
    }
    const values: Record<string, unknown> = {};
    for (const [index, cell] of cells.entries()) if (cell !== '') values[header[index]!] = cell;
    yield { line, values };
  }
}
