/**
 * Product feeds in XML: RSS 2.0 `<item>` and Atom `<entry>`, with or without the `g:` namespace. Reads what feeds use of
 * XML: elements, attributes, CDATA, comments, entities of characters. No document types, so no entity can be defined.
 */
import type { FeedRow } from './row.ts';

const MOST_PENDING = 1_048_576;
const ENTITIES = new Map(
  Object.entries({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0' }),
);

function decode(text: string): string {
  return text.replace(/&(#x[0-9a-f]+|#\d+|\w+);/gi, (whole, name: string) => {
    if (name[0] !== '#') return ENTITIES.get(name) ?? whole;
    const code =
      name[1] === 'x' || name[1] === 'X' ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

interface Token {
  kind: 'open' | 'close' | 'text';
  /** Name of the element without its prefix, or the text. */
  value: string;
  attributes?: string;
  selfClosing?: boolean;
  line: number;
}

/** Where the markup that starts at `at` ends, or -1 while it is incomplete. */
function endOf(text: string, at: number): number {
  if (text.startsWith('<!--', at)) return after(text, '-->', at);
  if (text.startsWith('<![CDATA[', at)) return after(text, ']]>', at);
  if (text.startsWith('<?', at)) return after(text, '?>', at);
  return after(text, '>', at);
}

function after(text: string, sign: string, from: number): number {
  const found = text.indexOf(sign, from);
  return found < 0 ? -1 : found + sign.length;
}

async function* tokens(chunks: AsyncIterable<string>): AsyncGenerator<Token> {
  let pending = '';
  let line = 1;
  for await (const chunk of chunks) {
    pending += chunk;
    let at = 0;
    while (at < pending.length) {
      const markup = pending.indexOf('<', at);
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
  if (text.startsWith('</')) return { kind: 'close', value: localName(text.slice(2, -1)), line };
  const selfClosing = text.endsWith('/>');
  const [, name = '', attributes = ''] = /^<([^\s/>]+)([\s\S]*?)\/?>$/.exec(text) ?? [];
  return { kind: 'open', value: localName(name), attributes, selfClosing, line };
}

const localName = (name: string) =>
  name
    .trim()
    .replace(/^[^:]*:/, '')
    .toLowerCase();
const lineBreaks = (text: string) => text.split('\n').length - 1;

/** A value that comes several times becomes a list. */
function put(values: Record<string, unknown>, name: string, value: unknown): void {
  const there = Object.hasOwn(values, name) ? values[name] : undefined;
  if (there === undefined) values[name] = value;
  else if (Array.isArray(there)) there.push(value);
  else values[name] = [there, value];
}

/** @example for await (const row of parseXml(chunks)) console.log(row.values?.title) */
export async function* parseXml(chunks: AsyncIterable<string>): AsyncGenerator<FeedRow> {
  let row: { line: number; values: Record<string, unknown> } | null = null;
  /** Open elements inside the row, with the text and children of each. */
  let open: { name: string; text: string; children: Record<string, unknown> | null }[] = [];
  let found = false;
  for await (const token of tokens(chunks)) {
    if (row === null) {
      if (
        token.kind === 'open' &&
        (token.value === 'item' || token.value === 'entry') &&
        !token.selfClosing
      ) {
        row = { line: token.line, values: {} };
        open = [];
        found = true;
      }
      continue;
    }
    if (token.kind === 'text') {
      const last = open.at(-1);
      if (last !== undefined) last.text += token.value;
    } else if (token.kind === 'open') {
      // Atom: <link href="..."/>
      const href = /\bhref\s*=\s*(?:"([^"]*)"|'([^']*)')/.exec(token.attributes ?? '');
      const text = token.value === 'link' && href !== null ? decode(href[1] ?? href[2] ?? '') : '';
      if (token.selfClosing) {
        if (text !== '' && open.length === 0) put(row.values, token.value, text);
      } else open.push({ name: token.value, text, children: null });
    } else if (open.length === 0) {
      yield row;
      row = null;
    } else {
      const { name, text, children } = open.pop()!;
      const parent = open.at(-1);
      const value = children ?? text.trim();
      if (parent === undefined) {
        if (value !== '') put(row.values, name, value);
      } else {
        parent.children ??= {};
        put(parent.children, name, value);
      }
    }
  }
  if (row !== null) throw new Error(`line ${row.line}: the feed ends inside an item`);
  if (!found) throw new Error('there is no <item> or <entry>');
}
