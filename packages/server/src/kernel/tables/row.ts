/** What every reader of a table gives: rows with their line, and what is wrong with one. Pure. */
import { isStorable, toStorable } from '../db/storable-text.ts';

export type Values = Record<string, unknown>;

export interface Fault {
  /** The column, or the path of a member (`fields.tags.0`); null where the fault is not of one. */
  column: string | null;
  /** Continues the name of the column: `is nested deeper than 32 times`. */
  reason: string;
}

/** `line` is where the row begins; the first line of a file, which may be a header, is 1. */
export type Row =
  | { line: number; values: Values; fault?: undefined; partial?: undefined }
  | {
      line: number;
      fault: Fault;
      values?: undefined;
      /** The values that could be read, to tell what the row is about. */
      partial: Values;
    };

/** What error texts call the file and its rows. */
export interface Words {
  file: string;
  row: string;
  rows: string;
}

export const faulty = (line: number, reason: string, partial: Values = {}): Row => ({
  line,
  fault: { column: null, reason },
  partial,
});

/** Adds a value: an element or a column that comes several times becomes a list. */
export function addValue(values: Values, name: string, value: unknown): void {
  if (name === '__proto__') return;
  if (!Object.hasOwn(values, name)) values[name] = value;
  else if (Array.isArray(values[name])) values[name].push(value);
  else values[name] = [values[name], value];
}

/** The row, or a faulty one where a value of it cannot be read or stored. The texts of a fault can be stored. */
export function checked(row: Row, isDamaged: boolean): Row {
  const { line, fault, values } = row;
  const found = fault ?? faultIn(values, { path: '', depth: 0, isDamaged });
  if (found === null) return row;
  const column = found.column === null ? null : toStorable(found.column);
  return { line, fault: { column, reason: toStorable(found.reason) }, partial: values ?? row.partial };
}

/** Deeper than a table has reason to be, and far from what the stack of the program or of the database carries. */
const DEEPEST = 32;
const UNSTORABLE = 'holds a NUL or half of a surrogate pair';
const DAMAGED = 'holds bytes that are not of the character set';

function faultIn(value: unknown, at: { path: string; depth: number; isDamaged: boolean }): Fault | null {
  const { path, depth, isDamaged } = at;
  if (typeof value === 'string') {
    if (!isStorable(value)) return { column: path, reason: UNSTORABLE };
    return isDamaged && value.includes('\uFFFD') ? { column: path, reason: DAMAGED } : null;
  }
  if (typeof value !== 'object' || value === null) return null;
  if (depth > DEEPEST)
    return { column: path.split('.', 1)[0]!, reason: `is nested deeper than ${DEEPEST} times` };
  for (const [name, member] of Object.entries(value)) {
    if (!isStorable(name)) return { column: null, reason: `the name ${name} ${UNSTORABLE}` };
    const inside = path === '' ? name : `${path}.${name}`;
    const found = faultIn(member, { path: inside, depth: depth + 1, isDamaged });
    if (found !== null) return found;
  }
  return null;
}
