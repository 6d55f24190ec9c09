/** A text file line by line, as a stream: packed or not, in UTF-16 too, as feeds are. Empty lines are left out, but counted. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { textOf } from '../../../catalog/feeds/index.ts';

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
  const { chunks } = textOf(createReadStream(file, { highWaterMark: 1 << 18 }));
  const input = Readable.from(chunks);
  let number = 0;
  try {
    for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      signal?.throwIfAborted();
      number++;
      if (text.trim() !== '') yield { number, text };
    }
  } catch (cause) {
    const { syscall, message } = cause as NodeJS.ErrnoException;
    if (signal?.aborted || syscall !== undefined) throw cause;
    // A packed file that is cut off, or packed as nobody reads it.
    throw new FormatError(file, number + 1, `cannot be read: ${message}`);
  } finally {
    input.destroy();
  }
}

/** The cells of a line; blanks around one are not part of an id. */
export const cellsOf = (text: string): string[] => text.split('\t').map((cell) => cell.trim());
