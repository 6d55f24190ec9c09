/** The home of an installation: a private folder with the embedded database, the generated secret and demo.json. */
import { mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileTrouble } from '@signalbox/embedded-postgres/file-trouble';
import { randomSecret } from '../security/crypto.ts';

/** The home cannot be used. The message is a sentence for the person at the terminal. */
export class HomeError extends Error {
  override name = 'HomeError';
  readonly isExplained = true;
}

/** Gives an error of the file system the words of a `HomeError`. Any other error comes back as it is. */
export function asHomeError(error: unknown, path: string): unknown {
  const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
  const trouble = isMissing ? 'it is not there and cannot be made' : fileTrouble(error);
  if (trouble === undefined) return error;
  return new HomeError(`Cannot use ${path}: ${trouble}. Choose another home with --home or SIGNALBOX_HOME.`, {
    cause: error,
  });
}

/**
 * Makes the folder, readable by its owner alone.
 *
 * @throws HomeError where that is not possible
 */
export async function ensureHome(home: string): Promise<void> {
  await makeFolder(home).catch((error) => {
    throw asHomeError(error, home);
  });
}

/** Not by a recursive mkdir: Node's hides a read-only file system behind ENOENT, and never ends where nothing can be made (/proc). */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if ((await stat(path).catch(() => undefined))?.isDirectory()) return;
    const parent = dirname(path);
    if (code !== 'ENOENT' || parent === path || (await stat(parent).catch(() => undefined))) throw error;
    await makeFolder(parent);
    await makeFolder(path);
  }
}

const READ_AGAIN_MS = 20;
const MAX_READS = 50;

/**
 * The secret of the installation, made at the first call, with the home if there is none: a command on a `DATABASE_URL` has
 * had no use for one until then.
 *
 * @throws HomeError when the file is empty, because everyone could open what is sealed with nothing
 */
export async function installationSecret(home: string): Promise<string> {
  const path = join(home, 'secret');
  await ensureHome(home);
  try {
    await createFile(path, `${randomSecret(48)}\n`);
    return await readSecret(path);
  } catch (error) {
    throw asHomeError(error, path);
  }
}

/**
 * Refuses a secret that is empty or cannot be read. Called before PostgreSQL is started, which takes seconds. Nothing is
 * written: a missing secret or home is fine, and `ensureHome` has the better word on a file in the place of the home.
 */
export async function checkSecret(home: string): Promise<void> {
  const path = join(home, 'secret');
  await readSecret(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw asHomeError(error, path);
  });
}

async function readSecret(path: string): Promise<string> {
  for (let reads = 0; reads < MAX_READS; reads++) {
    const secret = (await readFile(path, 'utf8')).trim();
    if (secret !== '') return secret;
    // The process that creates it has not written it yet.
    await delay(READ_AGAIN_MS);
  }
  throw new HomeError(
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
  try {
    await writeFile(`${path}.new`, text, { mode: 0o600 });
    await rename(`${path}.new`, path);
  } catch (error) {
    throw asHomeError(error, path);
  }
}
