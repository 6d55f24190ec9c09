/**
 * Rows of XML, each an element of a given name. Reads elements, attributes, CDATA, comments, entities of characters.
 * Document types are refused, so no entity can be defined.
 */
import { decode } from './entities.ts';
import { faulty, type Row, type Values, type Words } from './row.ts';

const MAX_PENDING = 1_048_576;
/** Characters of one row, and elements inside each other in it. */
const MAX_ROW = 1_048_576;
const MAX_DEPTH = 100;
const MAX_NAMESPACES = 1000;

export interface XmlShape {
  /** Names of the elements that are rows, in lower case, without a prefix. */
  rows: readonly string[];
  /** The values of such an element. */
  valuesOf(row: XmlElement): Values;
}

export interface XmlElement {
  /** In lower case, without its prefix. */
  name: string;
  prefix: string;
  /** The address of its namespace; '' where it has none. */
  namespace: string;
  /** As they stand in the tag; `attributeIn` reads one. */
  attributes: string;
  /** Texts, decoded, and elements, in their order. An element that is not closed is left out. */
  content: (string | XmlElement)[];
  /** Written as `<name/>`. */
  selfClosing: boolean;
}

interface Token {
  kind: 'open' | 'close' | 'text';
  /** Name of the element without its prefix, or the text. */
  value: string;
  prefix?: string;
  attributes?: string;
  selfClosing?: boolean;
  line: number;
}

/** Where the markup that starts at `at` ends, or -1 while it is incomplete. */
function endOf(text: string, at: number): number {
  if (text.startsWith('<!--', at)) return after(text, '-->', at);
  if (text.startsWith('<![CDATA[', at)) return after(text, ']]>', at);
  if (text.startsWith('<?', at)) return after(text, '?>', at);
  if (text.startsWith('<!', at)) return after(text, '>', at);
  return endOfTag(text, at);
}

/** A `>` in the value of an attribute does not end the tag; a `<` cannot be in one, so there the quote is a stray. */
function endOfTag(text: string, at: number): number {
  const first = after(text, '>', at);
  // Not `indexOf`: where no tag has attributes, each would search all that has come.
  if (first >= 0 && !text.slice(at, first).includes('=')) return first;
  let quote = '';
  for (let i = at + 1; i < text.length; i++) {
    const sign = text[i]!;
    if (quote !== '') {
      if (sign === quote) quote = '';
      else if (sign === '<') return after(text, '>', at);
    } else if (sign === '>') return i + 1;
    else if ((sign === '"' || sign === "'") && /=\s*$/.test(text.slice(Math.max(at, i - 8), i))) quote = sign;
  }
  return -1;
}

function after(text: string, sign: string, from: number): number {
  const found = text.indexOf(sign, from);
  return found < 0 ? -1 : found + sign.length;
}

/** Where markup starts. A `<` that no name follows was meant as text. */
function markupIn(text: string, from: number): number {
  let at = text.indexOf('<', from);
  while (at >= 0 && at + 1 < text.length && NO_NAME.test(text[at + 1]!)) at = text.indexOf('<', at + 1);
  return at;
}
const NO_NAME = /[\s\d<>=]/;

async function* tokens(chunks: AsyncIterable<string>, words: Words): AsyncGenerator<Token> {
  let pending = '';
  let line = 1;
  for await (const chunk of chunks) {
    pending += chunk;
    let at = 0;
    while (at < pending.length) {
      const markup = markupIn(pending, at);
      if (markup < 0) break;
      if (markup > at) {
        const text = pending.slice(at, markup);
        yield { kind: 'text', value: decode(text), line };
        line += lineBreaks(text);
        at = markup;
      }
      // `<![CDATA[` and `<!--` must be there whole before they can be told apart.
      if (pending.length - at < 9 && pending.startsWith('<!', at)) break;
      const end = endOf(pending, at);
      if (end < 0) break;
      const text = pending.slice(at, end);
      const token = tokenOf(text, line);
      if (token !== null) yield token;
      line += lineBreaks(text);
      at = end;
    }
    pending = pending.slice(at);
    if (pending.length > MAX_PENDING) throw new Error(`line ${line}: markup that does not end`);
  }
  if (pending.trim() !== '') throw new Error(`line ${line}: ${words.file} ends early`);
}

function tokenOf(text: string, line: number): Token | null {
  if (text.startsWith('<![CDATA[')) return { kind: 'text', value: text.slice(9, -3), line };
  if (text.startsWith('<!DOCTYPE') && text.includes('[')) throw new Error('document types are not read');
  if (text.startsWith('<!') || text.startsWith('<?')) return null;
  if (text.startsWith('</')) return { kind: 'close', value: nameIn(text.slice(2, -1)).value, line };
  const selfClosing = text.endsWith('/>');
  const [, name = '', attributes = ''] = /^<([^\s/>]+)([\s\S]*?)\/?>$/.exec(text) ?? [];
  return { kind: 'open', ...nameIn(name), attributes, selfClosing, line };
}

function nameIn(given: string): { value: string; prefix: string } {
  const name = given.trim().toLowerCase();
  const colon = name.indexOf(':');
  return { value: name.slice(colon + 1), prefix: colon < 0 ? '' : name.slice(0, colon) };
}
const lineBreaks = (text: string) => text.split('\n').length - 1;

/** @example attributeIn(' rel="self" href="https://s.example/"', 'href') // 'https://s.example/' */
export function attributeIn(attributes: string, name: string): string | null {
  const found = new RegExp(`(?:^|\\s)${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(attributes);
  return found === null ? null : decode(found[1] ?? found[2] ?? '');
}

const XMLNS = /\bxmlns(?::([\w.-]+))?\s*=\s*["']([^"']*)["']/gi;

/** The namespaces that attributes declare, by prefix; null where they declare none, as nearly all. */
function namespacesIn(attributes: string): Map<string, string> | null {
  if (!attributes.includes('xmlns')) return null;
  const pairs = [...attributes.matchAll(XMLNS)];
  return new Map(pairs.map(([, prefix = '', address = '']) => [prefix.toLowerCase(), address]));
}

/** An element whose end has not come. */
interface OpenElement extends XmlElement {
  declared: Map<string, string> | null;
}

interface OpenRow {
  element: XmlElement;
  line: number;
  /** Characters so far, about. */
  size: number;
  fault: string | null;
}

/** The characters of an element beside its name and its attributes. */
const BRACKETS = 3;

/** @example for await (const row of parseXml(chunks, { rows: ['item'], valuesOf }, words)) console.log(row.line) */
export async function* parseXml(
  chunks: AsyncIterable<string>,
  shape: XmlShape,
  words: Words,
): AsyncGenerator<Row> {
  const rowNames = new Set(shape.rows);
  let row: OpenRow | null = null;
  /** Open elements inside the row, from the outside in. */
  let open: OpenElement[] = [];
  let found = false;
  /** The element around all rows, until it is closed. A file that breaks off between two rows does not close it. */
  let root: string | null = null;
  /** Of the elements around the rows, and of rows: a feed may declare them in its first row alone. */
  const outer = new Map<string, string>();

  const namespaceOf = (prefix: string) =>
    open.findLast(({ declared }) => declared?.has(prefix))?.declared?.get(prefix) ?? outer.get(prefix) ?? '';

  function elementOf({ value: name, prefix = '', attributes = '', selfClosing = false }: Token): OpenElement {
    const declared = namespacesIn(attributes);
    const namespace = declared?.get(prefix) ?? namespaceOf(prefix);
    return { name, prefix, namespace, attributes, content: [], selfClosing, declared };
  }

  function declare(attributes: string): void {
    for (const [prefix, address] of namespacesIn(attributes) ?? [])
      if (outer.size < MAX_NAMESPACES) outer.set(prefix, address);
  }

  function begin(token: Token): OpenRow {
    open = [];
    found = true;
    return { element: elementOf(token), line: token.line, size: 0, fault: null };
  }

  function finish({ element, line, fault }: OpenRow): Row {
    const values = shape.valuesOf(element);
    return fault === null ? { line, values } : faulty(line, fault, values);
  }

  for await (const token of tokens(chunks, words)) {
    const { kind, value: name, attributes = '', selfClosing = false } = token;
    const isRow = kind === 'open' && rowNames.has(name) && !selfClosing;
    if (row === null) {
      if (attributes !== '') declare(attributes);
      if (isRow) row = begin(token);
      else if (kind === 'open' && root === null && !found && !selfClosing) root = name;
      else if (kind === 'close' && name === root) root = null;
      continue;
    }
    row.size += name.length + attributes.length + BRACKETS;
    if (row.size > MAX_ROW) throw new Error(`line ${row.line}: ${words.row} that does not end`);
    if (kind === 'text') open.at(-1)?.content.push(name);
    else if (isRow && open.length === 0 && name === row.element.name) {
      yield finish({ ...row, fault: `<${name}> is not closed` });
      declare(attributes);
      row = begin(token);
    } else if (kind === 'open') {
      if (open.length === MAX_DEPTH)
        throw new Error(
          `line ${row.line}: ${words.row} with more than ${MAX_DEPTH} elements inside each other`,
        );
      const element = elementOf(token);
      if (selfClosing) (open.at(-1) ?? row.element).content.push(element);
      else open.push(element);
    } else if (name === root) {
      throw new Error(`line ${row.line}: ${words.row} that does not end`);
    } else {
      const at = open.findLastIndex((element) => element.name === name);
      if (at < open.length - 1) row.fault ??= `</${name}> closes nothing that is open`;
      if (at >= 0) {
        const element = open[at]!;
        open.length = at;
        (open.at(-1) ?? row.element).content.push(element);
      } else if (name === row.element.name) {
        yield finish(row);
        row = null;
      }
    }
  }
  if (row !== null) throw new Error(`line ${row.line}: ${words.file} ends inside ${words.row}`);
  if (!found) throw new Error(`there is no ${shape.rows.map((name) => `<${name}>`).join(' or ')}`);
  if (root !== null) throw new Error(`${words.file} ends early`);
}
