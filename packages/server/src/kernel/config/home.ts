/** The home of an installation: a private folder with the embedded database, the generated secret and demo.json. */
import { mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { randomSecret } from '../security/crypto.ts';

/** Makes the folder, readable by its owner alone. */
export async function ensureHome(home: string): Promise<void> {
  await mkdir(home, { recursive: true, mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    // Node says so of a file system that is read-only as well; asked for this folder alone, it says what is wrong.
    if (error.code === 'ENOENT') return mkdir(home, { mode: 0o700 });
    throw error;
  });
}

const READ_AGAIN_MS = 20;
const MAX_READS = 50;

/**
 * The secret of the installation, made at the first call, with the home if there is none: a command on a `DATABASE_URL` has
 * had no use for one until then.
 *
 * @throws when the file is empty: whatever were sealed with nothing would be open to everyone
 */
export async function installationSecret(home: string): Promise<string> {
  const path = join(home, 'secret');
  await ensureHome(home);
  await createFile(path, `${randomSecret(48)}\n`);
  for (let reads = 0; reads < MAX_READS; reads++) {
    const secret = (await readFile(path, 'utf8')).trim();
    if (secret !== '') return secret;
    // Whoever creates it has not written it yet.
    await delay(READ_AGAIN_MS);
  }
  throw new Error(
    `${path} is empty: restore it from a backup, or remove it if nothing was sealed with it yet.`,
  );
}

/**
 * `wx` decides the race of two first starts: one creates, the other reads. What cannot be written is not left behind empty: the
 * start that follows, once the disk has room, makes it anew.
 */
async function createFile(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  if (file === undefined) return;
  try {
    await file.writeFile(text);
    // Whatever is sealed with it is on disk at its commit.
    await file.sync();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

/** Writes a private file in one step, so that a reader never sees half of it. */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600 });
  await rename(`${path}.new`, path);
}
