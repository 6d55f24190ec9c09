/** The home of an installation: a private folder with the embedded database, the generated secret and demo.json. */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { randomSecret } from './crypto.ts';

/** Makes the folder, readable by its owner alone. */
export async function ensureHome(home: string): Promise<void> {
  await mkdir(home, { recursive: true, mode: 0o700 });
}

/** The secret of the installation, made at the first call. */
export async function installationSecret(home: string): Promise<string> {
  const path = join(home, 'secret');
  try {
    // `wx` decides the race of two first starts: one creates, the other reads.
    await writeFile(path, `${randomSecret(48)}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error;
  }
  return (await readFile(path, 'utf8')).trim();
}

/** Writes a private file in one step, so that a reader never sees half of it. */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600 });
  await rename(`${path}.new`, path);
}
