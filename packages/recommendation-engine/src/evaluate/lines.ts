/** A text file line by line, as a stream. Empty lines are left out, but counted. */
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';

/** Opens a file as text; the caller decides about packed files and character sets. */
export type ReadText = (file: string) => AsyncIterable<string>;

export interface TextSource {
  file: string;
  readText: ReadText;
  signal?: AbortSignal | undefined;
}

export interface Line {
  /** From 1. */
  number: number;
  text: string;
}

/** What is wrong with a file, and where. */
export class FormatError extends Error {
  readonly isExplained = true;
  constructor(file: string, line: number | null, reason: string) {
    super(line === null ? `${file}: ${reason}` : `${file}:${line}: ${reason}`);
    this.name = 'FormatError';
  }
}

export async function* linesOf({ file, readText, signal }: TextSource): AsyncIterable<Line> {
  const input = Readable.from(readText(file));
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
    // A packed file that is cut off, or packed in another way.
    throw new FormatError(file, number + 1, `cannot be read: ${message}`);
  } finally {
    input.destroy();
  }
}

/** The cells of a line; blanks around one are not part of an id. */
export const cellsOf = (text: string): string[] => text.split('\t').map((cell) => cell.trim());
