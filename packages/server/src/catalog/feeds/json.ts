/** JSON (an array of objects, or an object that holds one) and NDJSON, object by object. */
import type { FeedRow } from './row.ts';

const MOST_OBJECT = 1_048_576;

function rowOf(line: number, text: string): FeedRow {
  try {
    const values: unknown = JSON.parse(text);
    if (typeof values === 'object' && values !== null && !Array.isArray(values))
      return { line, values: values as Record<string, unknown> };
    return { line, error: 'is not an object' };
  } catch (error) {
    return { line, error: `is not JSON: ${(error as Error).message}` };
  }
}

/** One object per line. */
export async function* parseNdjson(chunks: AsyncIterable<string>): AsyncGenerator<FeedRow> {
  let rest = '';
  let line = 0;
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop()!;
    if (rest.length > MOST_OBJECT) throw new Error(`line ${line + 1}: an object that does not end`);
    for (const text of lines) {
      line++;
      if (text.trim() !== '') yield rowOf(line, text.replace(/^\uFEFF/, ''));
    }
  }
  if (rest.trim() !== '') yield rowOf(line + 1, rest.replace(/^\uFEFF/, ''));
}

/**
 * The members of the first array of a JSON text. Only brackets, commas and strings are followed here; each member is
 * parsed on its own, so that memory is that of one.
 */
export async function* parseJson(chunks: AsyncIterable<string>): AsyncGenerator<FeedRow> {
  let depth = 0;
  /** Depth of the array's members, once it has begun. */
  let memberDepth = -1;
  let inString = false;
  let escaped = false;
  /** What came of the member in the chunks before, and whether anything but blanks did. */
  let member = '';
  let inMember = false;
  let line = 1;
  let startedAt = 1;
  for await (const chunk of chunks) {
    let from = 0;
    for (let i = 0; i < chunk.length; i++) {
      const sign = chunk[i]!;
      if (sign === '\n') line++;
      if (inString) {
        if (escaped) escaped = false;
        else if (sign === '\\') escaped = true;
        else if (sign === '"') inString = false;
        continue;
      }
      const isClosing = sign === ']' || sign === '}';
      if (depth === memberDepth && (sign === ',' || isClosing)) {
        if (inMember) yield rowOf(startedAt, member + chunk.slice(from, i));
        if (isClosing) return;
        inMember = false;
        member = '';
      } else if (depth === memberDepth && !inMember && sign.trim() !== '') {
        inMember = true;
        startedAt = line;
        from = i;
      }
      if (sign === '"') inString = true;
      else if (sign === '[' || sign === '{') {
        depth++;
        if (sign === '[' && memberDepth < 0) memberDepth = depth;
      } else if (isClosing) depth--;
    }
    if (inMember) member += chunk.slice(from);
    if (member.length > MOST_OBJECT) throw new Error(`line ${startedAt}: an object that does not end`);
  }
  if (memberDepth < 0) throw new Error('there is no array of items');
  throw new Error(inMember ? `line ${startedAt}: the feed ends inside an item` : 'the feed ends early');
}
