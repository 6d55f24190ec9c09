import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { apiError } from '../../kernel/errors.ts';
import { textOf } from '../../kernel/tables/index.ts';

/** The size of a file that a command is about to read; a pipe has none. */
export async function sizeOfFile(file: string): Promise<number> {
  const found = await stat(file).catch(() => {
    throw apiError('notFound', `There is no file ${file}.`);
  });
  if (found.isDirectory()) throw apiError('invalid', `${file} is a folder, not a file.`);
  return found.size;
}

/** The text of a file, unpacked where it is gzipped, in UTF-8 or, with a byte order mark, UTF-16. */
export const textOfFile = (file: string): AsyncGenerator<string> =>
  textOf(createReadStream(file, { highWaterMark: 1 << 18 })).chunks;

/** Before a file is written: the one that is read would be empty by then. Devices and pipes are not emptied. */
export async function requireOtherFile(read: string, written: string): Promise<void> {
  const [one, other] = await Promise.all([read, written].map((path) => stat(path).catch(() => null)));
  if (one?.isFile() && other && one.dev === other.dev && one.ino === other.ino)
    throw apiError('invalid', `${written} is the file that is read: choose another one to write to.`);
}
