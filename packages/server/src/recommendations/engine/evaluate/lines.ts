/** A text file line by line, as a stream; `.gz` is unpacked on the way. Empty lines are left out, but counted. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { createGunzip } from 'node:zlib';

export interface Line {
  /** From 1. */
  number: number;
  text: string;
}

/** What is wrong with a file, and where. */
export class FormatError extends Error {
  constructor(file: string, line: number | null, reason: string) {
    super(line === null ? `${file}: ${reason}` : `${file}:${line}: ${reason}`);
    this.name = 'FormatError';
  }
}

export async function* linesOf(file: string, signal?: AbortSignal): AsyncIterable<Line> {
  const raw = createReadStream(file, { highWaterMark: 1 << 18 });
  const input = file.endsWith('.gz') ? raw.pipe(createGunzip()) : raw;
  raw.on('error', (error) => input.destroy(error));
  let number = 0;
  try {
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      signal?.throwIfAborted();
      const text = number++ === 0 ? line.replace(/^\uFEFF/, '') : line;
      if (text.trim() !== '') yield { number, text };
    }
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    // A packed file that is cut off, or is not packed at all.
    if (code?.startsWith('Z_')) throw new FormatError(file, number + 1, `cannot be unpacked: ${message}`);
    throw cause;
  }
}

/** The cells of a line; blanks around one are not part of an id. */
export const cellsOf = (text: string): string[] => text.split('\t').map((cell) => cell.trim());
