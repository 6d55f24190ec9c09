/** The text of a feed: unpacked when it is gzipped, in whatever character set it says it is in. Memory is that of a chunk. */
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

export interface FeedText {
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

async function* startingWith(start: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (start.length > 0) yield start;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}

/**
 * The bytes as they were before they were packed. Told by the signature: names and headers say `gzip` of what is plain, and
 * nothing of what is packed.
 */
async function* unpacked(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const bytes = source[Symbol.asyncIterator]();
  try {
    const start = await startOf(bytes, 4);
    const all = startingWith(start, bytes);
    if (start[0] === 0x50 && start[1] === 0x4b && start[2]! <= 8)
      throw new Error('zip archives are not read; gzip is');
    if (start[0] !== 0x1f || start[1] !== 0x8b) return yield* all;
    // A source that breaks off must break the unpacked stream too, which `pipe` does not do: it would wait for ever.
    yield* pipeline(Readable.from(all), createGunzip(), () => undefined);
  } finally {
    // Also of a feed that is given up by its first bytes: a source that is left open keeps its connection.
    await bytes.return?.();
  }
}

/** The character set: a byte order mark before an XML declaration, that before what the sender's headers say. */
function charsetOf(start: Buffer, declared: string | null | undefined): string {
  if (start[0] === 0xff && start[1] === 0xfe) return 'utf-16le';
  if (start[0] === 0xfe && start[1] === 0xff) return 'utf-16be';
  if (start[0] === 0xef && start[1] === 0xbb && start[2] === 0xbf) return 'utf-8';
  const declaration = /^\s*<\?xml[^>]*\sencoding\s*=\s*["']([\w.:-]+)["']/.exec(start.toString('latin1'));
  const own = declaration?.[1];
  // It could be read, so it is not UTF-16: somebody has converted the feed and left the declaration.
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
 * @example const { chunks } = textOf(createReadStream('feed.csv.gz'), () => 'iso-8859-1')
 */
export function textOf(source: AsyncIterable<Uint8Array>, charset?: () => string | null): FeedText {
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
