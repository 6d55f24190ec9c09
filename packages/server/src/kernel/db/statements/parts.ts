/**
 * Takes SQL apart as far as the rules for statements need it: words, parentheses, queries and their clauses. It is no parser.
 * It reads what our stores write, and takes a syntax that it does not know for a row of words.
 */

/** A word or sign, or the parts within parentheses. Literals are `''`. */
export type Part = string | Part[];

export type Clause =
  | 'insert'
  | 'update'
  | 'set'
  | 'select'
  | 'from'
  | 'where'
  | 'lock'
  | 'conflict'
  | 'returning';

/** A select, insert, update or delete at any depth. The queries of a union are several. */
export interface Query {
  clauses: Partial<Record<Clause | 'rest', Part[]>>;
}

const LITERAL_OR_COMMENT = /'(?:[^']|'')*'|--[^\n]*|\/\*[\s\S]*?\*\//g;
const WORD_OR_SIGN = /"[^"]*"|\$\d+|[a-z_]\w*|\d[\w.]*|''|::|\S/gi;

/** @example partsOf("select f(a) -- why") // ['select', 'f', ['a']] */
export function partsOf(text: string): Part[] {
  const bare = text.replace(LITERAL_OR_COMMENT, (found) => (found.startsWith("'") ? "''" : ' '));
  const open: Part[][] = [[]];
  for (const [token] of bare.matchAll(WORD_OR_SIGN)) {
    if (token === '(') open.push([]);
    else if (token === ')' && open.length > 1) open.at(-2)!.push(open.pop()!);
    else open.at(-1)!.push(token.startsWith('"') ? token.slice(1, -1) : token.toLowerCase());
  }
  return open[0]!;
}

/** The parts with a space between them. `shallow` leaves subqueries out, whose conditions are their own. */
export function textOf(parts: readonly Part[], { shallow = false } = {}): string {
  const text = (part: Part): string => {
    if (typeof part === 'string') return part;
    return shallow && isQuery(part) ? '( )' : `( ${textOf(part, { shallow })} )`;
  };
  return parts.map(text).join(' ');
}

const VERBS = new Set<unknown>(['select', 'insert', 'update', 'delete']);

const isQuery = ([first]: readonly Part[]) => VERBS.has(first) || first === 'with';

/** All queries of a statement, those within others included. DDL has none. */
export function queriesOf(parts: readonly Part[]): Query[] {
  const here = isQuery(parts) ? splitAt(afterWith(parts), 'union', 'intersect', 'except').map(readQuery) : [];
  return [...here, ...parts.flatMap((part) => (typeof part === 'string' ? [] : queriesOf(part)))];
}

/** The query behind its common table expressions, which stand in parentheses. */
const afterWith = (parts: readonly Part[]) => parts.slice(parts.findIndex((part) => VERBS.has(part)));

/** @example splitAt(['a', ',', 'b'], ',') // [['a'], ['b']] */
export function splitAt(parts: readonly Part[], ...words: string[]): Part[][] {
  const pieces: Part[][] = [[]];
  for (const part of parts) {
    if (typeof part === 'string' && words.includes(part)) pieces.push([]);
    else pieces.at(-1)!.push(part);
  }
  return pieces;
}

function readQuery(parts: readonly Part[]): Query {
  const clauses: Query['clauses'] = {};
  let current: Clause | 'rest' = 'rest';
  for (const [index, part] of parts.entries()) {
    const begun = clauseAt(parts, index, current);
    if (begun !== null) current = begun;
    clauses[current] ??= [];
    if (begun === null) clauses[current]!.push(part);
  }
  return { clauses };
}

const CLAUSE_WORDS = new Map<unknown, Clause | 'rest'>([
  ['insert', 'insert'],
  ['update', 'update'],
  ['set', 'set'],
  ['select', 'select'],
  ['from', 'from'],
  ['where', 'where'],
  ['returning', 'returning'],
  ...['delete', 'values', 'group', 'having', 'window', 'order', 'limit', 'offset'].map(
    (word) => [word, 'rest'] as const,
  ),
]);
const LOCK_WORDS = new Set<unknown>(['update', 'share', 'no', 'key']);

/** The clause that begins at a part, null where the current one goes on. */
function clauseAt(parts: readonly Part[], index: number, current: Clause | 'rest'): Clause | 'rest' | null {
  const [before, part, next] = [parts[index - 1], parts[index], parts[index + 1]];
  if (part === 'on' && next === 'conflict') return 'conflict';
  // `on conflict` has an update, a set and a where of its own, `for update` a word of another clause.
  if (current === 'conflict' || current === 'lock') return part === 'returning' ? 'returning' : null;
  if (part === 'for' && LOCK_WORDS.has(next)) return 'lock';
  if (part === 'from' && (before === 'distinct' || before === 'rows')) return null;
  return CLAUSE_WORDS.get(part) ?? null;
}

const BEFORE_TABLES = new Set<Part | undefined>([undefined, ',', 'join', 'using', 'lateral', 'only', 'into']);

/** The tables that a clause names; functions and the names of common table expressions are among them. */
export function tablesIn(clause: readonly Part[] = []): string[] {
  return clause.flatMap((part, index) => {
    if (!BEFORE_TABLES.has(clause[index - 1])) return [];
    if (typeof part === 'string')
      return part === 'lateral' || part === 'only' || part === 'into' ? [] : [part];
    return isQuery(part) ? [] : tablesIn(part);
  });
}
