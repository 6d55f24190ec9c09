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
 * The objects of the first array of a JSON text. Only brackets and strings are followed here; each object is parsed on
 * its own, so that memory is that of one object.
 */
export async function* parseJson(chunks: AsyncIterable<string>): AsyncGenerator<FeedRow> {
  let depth = 0;
  let arrayDepth = -1;
  let inString = false;
  let escaped = false;
  let object = '';
  let objectDepth = -1;
  let line = 1;
  let startedAt = 1;
  for await (const chunk of chunks) {
    let from = objectDepth >= 0 ? 0 : -1;
    for (let i = 0; i < chunk.length; i++) {
      const sign = chunk[i]!;
      if (sign === '\n') line++;
      if (inString) {
        if (escaped) escaped = false;
        else if (sign === '\\') escaped = true;
        else if (sign === '"') inString = false;
        continue;
      }
      if (sign === '"') inString = true;
      else if (sign === '[' || sign === '{') {
        if (sign === '[' && arrayDepth < 0) arrayDepth = depth;
        else if (sign === '{' && objectDepth < 0 && arrayDepth >= 0 && depth === arrayDepth + 1) {
          objectDepth = depth;
          startedAt = line;
          from = i;
        }
        depth++;
      } else if (sign === ']' || sign === '}') {
        depth--;
        if (objectDepth === depth) {
          yield rowOf(startedAt, object + chunk.slice(from, i + 1));
          object = '';
          objectDepth = -1;
          from = -1;
        }
        if (sign === ']' && depth === arrayDepth) return;
      }
    }
    if (from >= 0) object += chunk.slice(from);
    if (object.length > MOST_OBJECT) throw new Error(`line ${startedAt}: an object that does not end`);
  }
  if (arrayDepth < 0) throw new Error('there is no array of items');
  throw new Error(
    objectDepth >= 0 ? `line ${startedAt}: the feed ends inside an item` : 'the feed ends early',
  );
}
