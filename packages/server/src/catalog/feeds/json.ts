/** JSON (an array of objects, or an object that holds one) and NDJSON, object by object. */
import type { FeedRow } from './row.ts';

const MOST_OBJECT = 1_048_576;
const MOST_STRANGERS = 1000;
const NO_OBJECT = 'is not an object';

function rowOf(line: number, text: string): FeedRow {
  try {
    const values: unknown = JSON.parse(text);
    if (typeof values === 'object' && values !== null && !Array.isArray(values))
      return { line, values: values as Record<string, unknown> };
    return { line, error: NO_OBJECT };
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
 * The members of the first array of a JSON text that holds an object. Only brackets, commas and strings are followed here;
 * each member is parsed on its own, so that memory is that of one. Read to the end: a text that breaks off is no feed.
 */
export async function* parseJson(chunks: AsyncIterable<string>): AsyncGenerator<FeedRow> {
  let depth = 0;
  /** Depth of the array's members, while inside it. */
  let memberDepth = -1;
  let inString = false;
  let escaped = false;
  /** What came of the member in the chunks before, and whether anything but blanks did. */
  let member = '';
  let inMember = false;
  let line = 1;
  let startedAt = 1;
  let hasArray = false;
  /** Whether the array of items is known by its first object, and whether it has ended. */
  let found = false;
  let over = false;
  /** Members of arrays in which no object has come yet: `"tags": ["a"]` before the items is no feed of bad rows. */
  let strangers: FeedRow[] = [];
  /** Those of arrays that have ended, in case that there is nothing else. */
  let earlier: FeedRow[] = [];

  function* take(row: FeedRow): Generator<FeedRow> {
    if (!found && row.error === NO_OBJECT) {
      if (strangers.length < MOST_STRANGERS) strangers.push(row);
      return;
    }
    if (!found) yield* strangers;
    found = true;
    yield row;
  }

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
        if (inMember) yield* take(rowOf(startedAt, member + chunk.slice(from, i)));
        inMember = false;
        member = '';
        if (isClosing) {
          memberDepth = -1;
          over = found;
          earlier = [...earlier, ...strangers].slice(0, MOST_STRANGERS);
          strangers = [];
        }
      } else if (depth === memberDepth && !inMember && sign.trim() !== '') {
        inMember = true;
        startedAt = line;
        from = i;
      }
      if (sign === '"') inString = true;
      else if (sign === '[' || sign === '{') {
        depth++;
        if (sign === '[' && memberDepth < 0 && !over) {
          memberDepth = depth;
          hasArray = true;
        }
      } else if (isClosing) depth--;
    }
    if (inMember) member += chunk.slice(from);
    if (member.length > MOST_OBJECT) throw new Error(`line ${startedAt}: an object that does not end`);
  }
  if (!hasArray) throw new Error('there is no array of items');
  if (inMember) throw new Error(`line ${startedAt}: the feed ends inside an item`);
  if (depth > 0 || inString) throw new Error('the feed ends early');
  if (!found) yield* earlier;
}
