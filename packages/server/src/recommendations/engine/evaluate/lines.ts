/** A text file line by line, as a stream; `.gz` is unpacked on the way. Empty lines are left out, but counted. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { createGunzip } from 'node:zlib';

export interface Line {
  /** From 1. */
  number: number;
  text: string;
}

export async function* linesOf(file: string, signal?: AbortSignal): AsyncIterable<Line> {
  const raw = createReadStream(file, { highWaterMark: 1 << 18 });
  const input = file.endsWith('.gz') ? raw.pipe(createGunzip()) : raw;
  raw.on('error', (error) => input.destroy(error));
  let number = 0;
  for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    signal?.throwIfAborted();
    number++;
    if (text.trim() !== '') yield { number, text };
  }
}
