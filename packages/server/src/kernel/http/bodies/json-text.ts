/** What is said of JSON as text, because it is gone once the text is read: where it breaks off, and names that come twice. */
import { MAX_COUNTED, type Violation } from '../../errors.ts';

const SPACE = /[ \t\n\r]+/y;
const WORD = /t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?/y;
const NUMBER = /-?(?:(?:0|[1-9]\d*)(?:\.(?:\d+(?:[eE][+-]?\d*)?)?|[eE][+-]?\d*)?)?/y;
// Piece by piece: one pattern for a whole text would keep a way back for each escape of a megabyte.
const PIECE = /[^"\\\0-\x1f]+|\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;
const HALF_AN_ESCAPE = /\\(?:u[\da-fA-F]{0,3})?/y;

/**
 * The first position at which a text that is no JSON can no longer become JSON; its length where it just ends too early.
 *
 * @example faultAt('{"a": hello}') // 6
 * faultAt('{"a":') // 5
 */
export function faultAt(text: string): number {
  let at = 0;
  const take = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    const taken = pattern.exec(text)?.[0] ?? '';
    at += taken.length;
    return taken;
  };
  const takeChar = (char: string): boolean => {
    take(SPACE);
    if (text[at] !== char) return false;
    at += 1;
    return true;
  };
  const takeText = (): boolean => {
    if (!takeChar('"')) return false;
    while (take(PIECE) !== '');
    if (text[at] === '\\') take(HALF_AN_ESCAPE);
    else if (text[at] === '"') return takeChar('"');
    return false;
  };
  const takePlain = (): boolean => {
    if (text[at] === '"') return takeText();
    const taken = take(WORD) || take(NUMBER);
    return ['true', 'false', 'null'].includes(taken) || /\d$/.test(taken);
  };
  const takeName = (): boolean => takeText() && takeChar(':');

  const open: ('}' | ']')[] = [];
  for (;;) {
    if (takeChar('{')) {
      open.push('}');
      if (!takeChar('}')) {
        if (!takeName()) return at;
        continue;
      }
      open.pop();
    } else if (takeChar('[')) {
      open.push(']');
      if (!takeChar(']')) continue;
      open.pop();
    } else if (!takePlain()) return at;
    // A value has ended, and with it perhaps what it stands in.
    while (open.length > 0 && takeChar(open.at(-1)!)) open.pop();
    if (open.length === 0) {
      take(SPACE);
      return at;
    }
    if (!takeChar(',')) return at;
    if (open.at(-1) === '}' && !takeName()) return at;
  }
}

const BLANK = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/** Names of one object that the cheap look compares one by one. */
const FEW = 50;

/**
 * Whether an object may have a member twice: two of its names have one hash, are escaped, or are very many. Every signal is looked at,
 * and to gather names in sets takes three times as long.
 */
function mayRepeat(text: string): boolean {
  // Those of all open objects, one behind the other, and where those of each begin.
  const hashes: number[] = [];
  const starts: number[] = [];
  let start = 0;
  let end = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) {
      let hash = 0;
      let isEscaped = false;
      for (at++; at < text.length; at++) {
        const letter = text.charCodeAt(at);
        if (letter === QUOTE) break;
        if (letter === BACKSLASH) {
          at += 1;
          isEscaped = true;
        }
        hash = (Math.imul(hash, 31) + letter) | 0;
      }
      let next = at + 1;
      while (text.charCodeAt(next) <= BLANK) next += 1;
      if (text.charCodeAt(next) !== COLON) continue;
      if (isEscaped || end - start === FEW) return true;
      for (let other = start; other < end; other++) if (hashes[other] === hash) return true;
      hashes[end++] = hash;
    } else if (char === OPENING_BRACE) {
      starts.push(start);
      start = end;
    } else if (char === CLOSING_BRACE) {
      end = start;
      start = starts.pop()!;
    }
  }
  return false;
}

/** Where the walk is within an object or, with an index, an array. */
interface Place {
  index: number | undefined;
  name: string;
  names: Set<string> | undefined;
  awaitsName: boolean;
}

/**
 * The members that an object of a text has twice: readers differ in which of them counts.
 *
 * @param text JSON that can be read
 */
export function repeatedNames(text: string): Violation[] {
  if (!mayRepeat(text)) return [];
  const repeated = new Map<string, Violation>();
  const open: Place[] = [];
  let place: Place | undefined;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const start = at + 1;
        at = endOfText(text, start);
        if (!place?.awaitsName) break;
        const written = text.slice(start, at);
        place.awaitsName = false;
        place.name = written.includes('\\') ? JSON.parse(`"${written}"`) : written;
        place.names ??= new Set();
        const { size } = place.names;
        if (place.names.add(place.name).size > size) break;
        const member = pathOf(open);
        repeated.set(member, { member, message: 'must not be given more than once' });
        if (repeated.size === MAX_COUNTED) return [...repeated.values()];
        break;
      }
      case OPENING_BRACE:
        place = { index: undefined, name: '', names: undefined, awaitsName: true };
        open.push(place);
        break;
      case OPENING_BRACKET:
        place = { index: 0, name: '', names: undefined, awaitsName: false };
        open.push(place);
        break;
      case COMMA:
        if (place!.index === undefined) place!.awaitsName = true;
        else place!.index += 1;
        break;
      case CLOSING_BRACE:
      case CLOSING_BRACKET:
        open.pop();
        place = open.at(-1);
    }
  }
  return [...repeated.values()];
}

function endOfText(text: string, start: number): number {
  let at = start;
  for (; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) break;
    if (char === BACKSLASH) at += 1;
  }
  return at;
}

/** A path may be as long as the body, and stands in the answer up to a hundred times. */
export const MAX_PATH_LENGTH = 500;

function pathOf(open: readonly Place[]): string {
  let path = '';
  for (const { index, name } of open) {
    if (index !== undefined) path += `[${index}]`;
    else path += path === '' ? name : `.${name}`;
    if (path.length > MAX_PATH_LENGTH) break;
  }
  return path.slice(0, MAX_PATH_LENGTH);
}
