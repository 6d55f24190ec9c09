import { createHash, randomBytes } from 'node:crypto';
import {
  appendFile,
  chown,
  lchown,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  stat,
  statfs,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import {
  asStorageError,
  errorCode,
  PostgresStartError,
  PostgresStorageError,
  PostgresVersionError,
} from '../errors.ts';
import { runToEnd } from '../process/child.ts';
import type { Binaries } from './binaries.ts';
import { syncDirectory } from './cluster-file.ts';
import { type Account, commandAs, dataPathFor } from './unix-user.ts';

const draftPrefix = 'data.new-';

/** A new cluster takes 39 MB, its first WAL segments included; below this it is not worth trying. */
const smallestFreeBytes = 128 * 1024 * 1024;

export type Owner = { uid: number; gid: number };

/** Who owns the data directory; `undefined` when there is none yet. Throws when something else stands in its place. */
export async function ownerOfData({
  data,
  major,
}: {
  data: string;
  major: string;
}): Promise<Owner | undefined> {
  let version: string;
  try {
    version = (await readFile(join(data, 'PG_VERSION'), 'utf8')).trim();
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw asStorageError({ error, path: data });
    await rmdir(data).catch((reason) => {
      if (errorCode(reason) === 'ENOENT') return;
      throw new PostgresStorageError(`${data} is not a PostgreSQL data directory. Move it away.`, {
        cause: reason,
      });
    });
    return undefined;
  }
  if (version !== major) throw new PostgresVersionError({ data, found: version, expected: major });
  const { uid, gid } = await stat(data);
  if (process.getuid !== undefined && process.getuid() !== 0 && uid !== process.getuid()) {
    throw new PostgresStorageError(
      `${data} belongs to user id ${uid}, but this server runs as user id ${process.getuid()}. ` +
        `Start it as that user, or give the directory over as root: chown -R ${process.getuid()} ${data}`,
    );
  }
  return { uid, gid };
}

/**
 * The name that the cluster's processes carry. The inode is in it, so that a copy of a home is not mistaken for its original, and the
 * random id, so that a new home is not mistaken for a deleted one whose inode it got.
 */
export async function clusterNameOf({ id, data }: { id: string; data: string }): Promise<string> {
  const { dev, ino } = await stat(data, { bigint: true });
  return `signalbox_${id}_${createHash('sha256').update(`${dev}:${ino}`).digest('hex').slice(0, 12)}`;
}

/** Makes the cluster beside and renames it, so that a data directory that is there is a whole one. */
export async function createData({
  directory,
  data,
  account,
  binaries,
  adminPassword,
  durable,
}: {
  directory: string;
  data: string;
  account: Account;
  binaries: Binaries;
  adminPassword: string;
  durable: boolean;
}): Promise<void> {
  await removeDrafts(directory);
  const { bavail, bsize } = await statfs(directory);
  if (bavail * bsize < smallestFreeBytes) {
    throw new PostgresStorageError(
      `Too little space for a database in ${directory}: ${Math.floor((bavail * bsize) / 1e6)} MB are free, ` +
        `${Math.ceil(smallestFreeBytes / 1e6)} MB are needed.`,
    );
  }
  const draft = await mkdtemp(join(directory, draftPrefix));
  try {
    if (account.kind === 'user') await chown(draft, account.uid, account.gid);
    await initialise({ directory, draft, account, binaries, adminPassword, durable });
    // initdb's own choices (what kind of shared memory works here...) stay; ours come after them.
    await appendFile(join(draft, 'postgresql.conf'), `\ninclude_if_exists '${settingsFileName}'\n`, {
      flush: durable,
    });
    await rename(draft, data);
    await syncDirectory(directory);
  } catch (error) {
    await rm(draft, { recursive: true, force: true, maxRetries: 5 }).catch(() => {});
    throw asStorageError({ error, path: directory });
  }
}

/** In the data directory, because that is all that the account can surely read. */
export const settingsFileName = 'signalbox.conf';

async function initialise({
  directory,
  draft,
  account,
  binaries,
  adminPassword,
  durable,
}: {
  directory: string;
  draft: string;
  account: Account;
  binaries: Binaries;
  adminPassword: string;
  durable: boolean;
}): Promise<void> {
  const windows = process.platform === 'win32';
  // The password goes in by standard input, a file that has no name any more when initdb starts: a path could be out of the account's
  // reach, an argument would be seen by everybody.
  const passwordFile = join(directory, `${draftPrefix}${randomBytes(4).toString('hex')}`);
  await writeFile(passwordFile, `${adminPassword}\n`, { mode: 0o600, flag: 'wx' });
  if (account.kind === 'user') await chown(passwordFile, account.uid, account.gid);
  const input = await open(passwordFile, 'r');
  try {
    if (!windows) await unlink(passwordFile);
    const args = [
      `--pgdata=${dataPathFor({ account, data: draft })}`,
      '--username=postgres',
      `--pwfile=${windows ? passwordFile : '/dev/stdin'}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      // PostgreSQL's own collation: the same order on every system, and no index broken by an upgrade of the C library.
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--text-search-config=simple',
      '--no-instructions',
      // Otherwise initdb forces everything to disk once, at its end (measured: 0.07 s of 0.75 s).
      ...(durable ? [] : ['--no-sync']),
    ];
    const command = commandAs({ account, program: binaries.initdb, args });
    const { ok, output } = await runToEnd({ command, cwd: draft, stdin: input.fd });
    if (!ok) throw initialisationError({ output, directory });
  } finally {
    await input.close();
    if (windows) await rm(passwordFile, { force: true });
  }
}

function initialisationError({ output, directory }: { output: string; directory: string }): Error {
  if (/no space left|disk quota/i.test(output)) {
    return new PostgresStorageError(`No space is left in ${directory} for a database.`);
  }
  const hint = /ENOENT|cannot open shared object|GLIBC/.test(output)
    ? ' The programs need glibc and libstdc++; on a system without them (Alpine, for one) set DATABASE_URL.'
    : '';
  const logTail = output.trimEnd().split('\n').slice(-20).join('\n');
  return new PostgresStartError({ reason: `PostgreSQL could not make its database.${hint}`, logTail });
}

/** What an interrupted first start left. An initdb that still works in there fails, which is what it should do. */
async function removeDrafts(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (name.startsWith(draftPrefix)) {
      await rm(join(directory, name), { recursive: true, force: true, maxRetries: 5 }).catch(() => {});
    }
  }
}

/**
 * Gives the data to the account that runs it from now on: to another user where root made it in a user namespace, and namespaces are
 * forbidden today. A note in the directory tells the next start when this was interrupted.
 */
export async function giveDataTo({
  directory,
  data,
  owner,
  account,
}: {
  directory: string;
  data: string;
  owner: Owner;
  account: Account;
}): Promise<void> {
  if (account.kind === 'self') return;
  const { uid, gid } = account.kind === 'user' ? account : { uid: 0, gid: 0 };
  const note = join(directory, 'owner.changing');
  const interrupted = await stat(note).catch(() => undefined);
  if (owner.uid === uid && interrupted === undefined) return;
  try {
    await writeFile(note, `${uid}\n`, { flush: true });
    for (const entry of await readdir(data, { recursive: true, withFileTypes: true })) {
      await lchown(join(entry.parentPath, entry.name), uid, gid);
    }
    await chown(data, uid, gid);
    await rm(note);
  } catch (error) {
    throw asStorageError({ error, path: data });
  }
}
