import { stat } from 'node:fs/promises';
import { refuse } from '../kernel/errors.ts';

/** The size of a file that a command is about to read; a pipe has none. */
export async function sizeOfFile(file: string): Promise<number> {
  const found = await stat(file).catch(() => {
    throw refuse('notFound', `There is no file ${file}.`);
  });
  if (found.isDirectory()) throw refuse('invalid', `${file} is a folder, not a file.`);
  return found.size;
}
