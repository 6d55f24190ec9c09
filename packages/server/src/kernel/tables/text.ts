/** The text of a file: unpacked where it is gzipped, decoded from its character set. Memory is that of a chunk. */
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

export interface Text {
  chunks: AsyncGenerator<string>;
  /** Whether bytes came that are no text in its character set: they stand as U+FFFD. */
  isDamaged(): boolean;
}

/** Enough for a signature, a byte order mark and an XML declaration. */
const START = 256;

/** Reads on until so many bytes are there, or no more come. */
async function startOf(source: AsyncIterator<Uint8Array>, length: number): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for (let size = 0; size < length; ) {
    const next = await source.next();
    if (next.done) break;
    parts.push(next.value);
    size += next.value.length;
  }
  return Buffer.concat(parts);
}

/** The start that was read to look at it, and the rest, which the caller closes. */
export async function* startingWith<T extends Uint8Array | string>(
  start: T,
  rest: AsyncIterator<T>,
): AsyncGenerator<T> {
  if (start.length > 0) yield start;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}

/** The bytes as they were before gzip, which is found by its signature: names and headers are often wrong about it. */
async function* unpacked(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const bytes = source[Symbol.asyncIterator]();
  try {
    const start = await startOf(bytes, 4);
    const all = startingWith(start, bytes);
    if (start[0] === 0x50 && start[1] === 0x4b && start[2]! <= 8)
      throw new Error('zip archives are not read; gzip is');
    if (start[0] !== 0x1f || start[1] !== 0x8b) return yield* all;
    // `pipeline` ends the unpacked stream when the source fails. After `pipe` its reader would wait for ever.
    yield* pipeline(Readable.from(all), createGunzip(), () => undefined);
  } finally {
    // A source that is left open keeps its connection.
    await bytes.return?.();
  }
}

/** The character set: a byte order mark counts before an XML declaration, and that before the sender's headers. */
function charsetOf(start: Buffer, declared: string | null | undefined): string {
  if (start[0] === 0xff && start[1] === 0xfe) return 'utf-16le';
  if (start[0] === 0xfe && start[1] === 0xff) return 'utf-16be';
  if (start[0] === 0xef && start[1] === 0xbb && start[2] === 0xbf) return 'utf-8';
  const declaration = /^\s*<\?xml[^>]*\sencoding\s*=\s*["']([\w.:-]+)["']/.exec(start.toString('latin1'));
  const own = declaration?.[1];
  // The declaration could be read, so the text is not UTF-16: it was converted and the declaration was left.
  return (own !== undefined && /^utf-?16/i.test(own) ? 'utf-8' : own) ?? declared ?? 'utf-8';
}

function decoderOf(charset: string): TextDecoder {
  try {
    return new TextDecoder(charset);
  } catch {
    throw new Error(`the character set ${charset} is not known`);
  }
}

const REPLACEMENT = Buffer.from('\uFFFD');

/**
 * @example const { chunks } = textOf(createReadStream('table.csv.gz'), () => 'iso-8859-1')
 */
export function textOf(source: AsyncIterable<Uint8Array>, charset?: () => string | null): Text {
  let damaged = false;
  async function* decoded(): AsyncGenerator<string> {
    const bytes = unpacked(source);
    try {
      const start = await startOf(bytes, START);
      const decoder = decoderOf(charsetOf(start, charset?.()));
      for await (const part of startingWith(start, bytes)) {
        const text = decoder.decode(part, { stream: true });
        if (text === '') continue;
        if (!damaged && text.includes('\uFFFD')) damaged = Buffer.from(part).indexOf(REPLACEMENT) < 0;
        yield text;
      }
      const rest = decoder.decode();
      if (rest === '') return;
      damaged = true;
      yield rest;
    } finally {
      await bytes.return(undefined);
    }
  }
  return { chunks: decoded(), isDamaged: () => damaged };
}

/** @example charsetIn('text/csv; charset=ISO-8859-1') // 'ISO-8859-1' */
export function charsetIn(contentType: unknown): string | null {
  return /;\s*charset\s*=\s*"?([\w.:-]+)/i.exec(String(contentType ?? ''))?.[1] ?? null;
}
