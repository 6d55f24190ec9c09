/** JSON (an array of objects, or an object that holds one) and NDJSON, object by object. */
import { faulty, type Row, type Values, type Words } from './row.ts';

const MAX_OBJECT = 1_048_576;
const MAX_STRANGERS = 1000;
const NO_OBJECT = 'is not an object';

const endless = (line: number) => `line ${line}: an object that does not end`;

function rowOf(line: number, text: string): Row {
  if (text.length > MAX_OBJECT) throw new Error(endless(line));
  try {
    const values: unknown = JSON.parse(text);
    if (typeof values === 'object' && values !== null && !Array.isArray(values))
      return { line, values: values as Values };
    return faulty(line, NO_OBJECT);
  } catch (error) {
    return faulty(line, `is not JSON: ${(error as Error).message}`);
  }
}

/** One object per line. */
export async function* parseNdjson(chunks: AsyncIterable<string>): AsyncGenerator<Row> {
  let rest = '';
  let line = 0;
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop()!;
    if (rest.length > MAX_OBJECT) throw new Error(endless(line + 1));
    for (const text of lines) {
      line++;
      if (text.trim() !== '') yield rowOf(line, text.replace(/^\uFEFF/, ''));
    }
  }
  if (rest.trim() !== '') yield rowOf(line + 1, rest.replace(/^\uFEFF/, ''));
}

/**
 * The members of the first array of a JSON text that holds an object. Only brackets, commas and strings are followed here;
 * each member is parsed on its own, so that memory is that of one. A text that breaks off throws.
 */
export async function* parseJson(chunks: AsyncIterable<string>, words: Words): AsyncGenerator<Row> {
  let depth = 0;
  /** Depth of the array's members while inside it, otherwise -1. */
  let memberDepth = -1;
  let inString = false;
  let escaped = false;
  /** The text of this member in the chunks before, and whether it has begun. */
  let member = '';
  let inMember = false;
  let line = 1;
  let startedAt = 1;
  let hasArray = false;
  /** Whether an object has come, so that its array is that of the rows, and whether that array has ended. */
  let found = false;
  let over = false;
  /** Members of an array in which no object has come yet: `"tags": ["a"]` may stand before the rows. */
  let strangers: Row[] = [];
  /** Members of earlier arrays. They are the rows, all faulty, where no array holds an object. */
  let earlier: Row[] = [];

  function* take(row: Row): Generator<Row> {
    if (!found && row.fault?.reason === NO_OBJECT) {
      if (strangers.length < MAX_STRANGERS) strangers.push(row);
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
          earlier = [...earlier, ...strangers].slice(0, MAX_STRANGERS);
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
    if (member.length > MAX_OBJECT) throw new Error(endless(startedAt));
  }
  if (!hasArray) throw new Error(`there is no array of ${words.rows}`);
  if (inMember) throw new Error(`line ${startedAt}: ${words.file} ends inside ${words.row}`);
  if (depth > 0 || inString) throw new Error(`${words.file} ends early`);
  if (!found) yield* earlier;
}
