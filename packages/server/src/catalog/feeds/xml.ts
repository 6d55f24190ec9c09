/**
 * Product feeds in XML: RSS 2.0 `<item>` and Atom `<entry>`, with or without the `g:` namespace. Reads what feeds use of
 * XML: elements, attributes, CDATA, comments, entities of characters. No document types, so no entity can be defined.
 */
import { decode } from './entities.ts';
import { withoutMarkup } from './markup.ts';
import { addValue, type FeedRow } from './row.ts';

const MOST_PENDING = 1_048_576;
/** Characters of one item, and elements inside each other in it: what goes on beyond that is no product. */
const MOST_ITEM = 1_048_576;
const MOST_DEPTH = 100;
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

async function* tokens(chunks: AsyncIterable<string>): AsyncGenerator<Token> {
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
    if (pending.length > MOST_PENDING) throw new Error(`line ${line}: markup that does not end`);
  }
  if (pending.trim() !== '') throw new Error(`line ${line}: the feed ends early`);
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

const GOOGLE = /\bxmlns(?::([\w.-]+))?\s*=\s*["']https?:\/\/base\.google\.com\/ns\/1\.0["']/gi;

interface Row {
  name: string;
  line: number;
  /** Characters so far, about. */
  size: number;
  values: Record<string, unknown>;
  /** How good the namespace is that a value came from. */
  ranks: Map<string, number>;
  fault: string | null;
}

/** A value of the row itself: `g:id` is the product's, and `id` beside it that of the Atom entry. */
function putRanked(row: Row, name: string, value: unknown, rank: number): void {
  const before = row.ranks.get(name);
  if (before !== undefined && before < rank) return;
  if (before !== undefined && before > rank) delete row.values[name];
  row.ranks.set(name, rank);
  addValue(row.values, name, value);
}

const attributeIn = (attributes: string, name: string): string | null => {
  const found = new RegExp(`(?:^|\\s)${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(attributes);
  return found === null ? null : decode(found[1] ?? found[2] ?? '');
};

const rowOf = ({ value: name, line }: Token): Row => ({
  name,
  line,
  size: 0,
  values: {},
  ranks: new Map(),
  fault: null,
});
const feedRow = ({ line, values, fault }: Row): FeedRow =>
  fault === null ? { line, values } : { line, error: fault, partial: values };

/**
 * Elements of text, in which markup is that of the text, as it is or written as text itself (escaped, or in CDATA):
 * `<description>Boots, <b>warm</b></description>`.
 */
const PROSE = new Set(['title', 'description']);

/** What every element costs, however short its name is. */
const BRACKETS = 3;

/** @example for await (const row of parseXml(chunks)) console.log(row.values?.title) */
export async function* parseXml(chunks: AsyncIterable<string>): AsyncGenerator<FeedRow> {
  let row: Row | null = null;
  /** Open elements inside the row, with the text and children of each. */
  let open: { name: string; prefix: string; text: string; children: Record<string, unknown> | null }[] = [];
  let found = false;
  /** The element around all rows, until it is closed: a feed that breaks off between two rows does not close it. */
  let root: string | null = null;
  const googles = new Set(['g']);
  const rankOf = (prefix: string) => (googles.has(prefix) ? 0 : prefix === '' ? 1 : 2);
  for await (const token of tokens(chunks)) {
    const { kind, value: name, prefix = '', attributes = '', selfClosing = false } = token;
    if (attributes !== '')
      for (const [, own = ''] of attributes.matchAll(GOOGLE)) googles.add(own.toLowerCase());
    const isRow = kind === 'open' && (name === 'item' || name === 'entry') && !selfClosing;
    if (row === null) {
      if (isRow) {
        row = rowOf(token);
        open = [];
        found = true;
      } else if (kind === 'open' && root === null && !found && !selfClosing) root = name;
      else if (kind === 'close' && name === root) root = null;
      continue;
    }
    row.size += name.length + attributes.length + BRACKETS;
    if (row.size > MOST_ITEM) throw new Error(`line ${row.line}: an item that does not end`);
    if (kind === 'text') {
      const last = open.at(-1);
      if (last !== undefined) last.text += name;
    } else if (isRow && open.length === 0 && name === row.name) {
      yield feedRow({ ...row, fault: `<${name}> is not closed` });
      row = rowOf(token);
    } else if (kind === 'open') {
      if (open.length === MOST_DEPTH)
        throw new Error(`line ${row.line}: an item with more than ${MOST_DEPTH} elements inside each other`);
      // Atom: <link href="..."/>; one with another relation leads elsewhere
      const relation = name === 'link' ? attributeIn(attributes, 'rel') : null;
      if (relation !== null && relation !== 'alternate') {
        if (!selfClosing) open.push({ name, prefix, text: '', children: null });
        continue;
      }
      const text = name === 'link' ? (attributeIn(attributes, 'href') ?? '') : '';
      if (!selfClosing) open.push({ name, prefix, text, children: null });
      else if (text !== '' && open.length === 0) putRanked(row, name, text, rankOf(prefix));
    } else if (name === root) {
      throw new Error(`line ${row.line}: an item that does not end`);
    } else {
      const at = open.findLastIndex((element) => element.name === name);
      if (at < open.length - 1) row.fault ??= `</${name}> closes nothing that is open`;
      if (at >= 0) {
        open.length = at + 1;
        const { prefix: own, text, children } = open.pop()!;
        const parent = open.at(-1);
        const isProse = PROSE.has(open[0]?.name ?? name);
        const value =
          children !== null && isProse ? text.replace(/\s+/g, ' ').trim() : (children ?? text.trim());
        if (parent !== undefined) {
          parent.children ??= {};
          if (isProse) parent.text += ` ${text} `;
          else addValue(parent.children, name, value);
        } else {
          const said = isProse && typeof value === 'string' ? withoutMarkup(value) : value;
          if (said !== '') putRanked(row, name, said, rankOf(own));
        }
      } else if (name === row.name) {
        yield feedRow(row);
        row = null;
      }
    }
  }
  if (row !== null) throw new Error(`line ${row.line}: the feed ends inside an item`);
  if (!found) throw new Error('there is no <item> or <entry>');
  if (root !== null) throw new Error('the feed ends early');
}
