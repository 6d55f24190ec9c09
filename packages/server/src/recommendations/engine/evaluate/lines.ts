/** A text file line by line, as a stream; `.gz` is unpacked on the way. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { createGunzip } from 'node:zlib';

export async function* linesOf(file: string, signal?: AbortSignal): AsyncIterable<string> {
  const raw = createReadStream(file, { highWaterMark: 1 << 18 });
  const input = file.endsWith('.gz') ? raw.pipe(createGunzip()) : raw;
  raw.on('error', (error) => input.destroy(error));
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    signal?.throwIfAborted();
    if (line !== '') yield line;
  }
}
