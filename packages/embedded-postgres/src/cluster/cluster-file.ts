import { randomBytes } from 'node:crypto';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { asStorageError, errorCode, PostgresStartError } from '../errors.ts';

/** What has to be known about a cluster beside its data: `<directory>/cluster.json`, mode 0600. */
export type ClusterFile = {
  /** Random, part of the cluster's name. */
  id: string;
  /** Of the role `postgres`, which makes the application's role and database and is used for nothing else. */
  adminPassword: string;
  /** Of the role `signalbox`, the one in the URL. */
  password: string;
  /** The port of the last start, to be used again so that the URL remains the same. */
  port?: number;
};

/**
 * Reads the file, or makes one for a cluster that does not exist yet. It is on disk before the cluster is made and its passwords never
 * change, so the two always fit.
 */
export async function openClusterFile({
  directory,
  clusterExists,
}: {
  directory: string;
  clusterExists: boolean;
}): Promise<ClusterFile> {
  const path = join(directory, 'cluster.json');
  try {
    return checked(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    const missing = errorCode(error) === 'ENOENT';
    if (clusterExists || !(missing || error instanceof SyntaxError)) {
      const storage = asStorageError({ error, path });
      if (storage !== error) throw storage;
      throw new PostgresStartError({
        reason: `${path}, which holds the passwords of the database, is ${missing ? 'missing' : 'not readable'}. Restore it.`,
        cause: error,
      });
    }
  }
  const fresh: ClusterFile = {
    id: randomBytes(4).toString('hex'),
    adminPassword: randomBytes(24).toString('hex'),
    password: randomBytes(24).toString('hex'),
  };
  await saveClusterFile({ directory, file: fresh });
  return fresh;
}

/** Replaces the file; a crash leaves the old one or the new one. */
export async function saveClusterFile({
  directory,
  file,
}: {
  directory: string;
  file: ClusterFile;
}): Promise<void> {
  await replaceFile({
    path: join(directory, 'cluster.json'),
    text: `${JSON.stringify(file, undefined, 2)}\n`,
    owner: undefined,
  });
}

/** Writes beside and renames: readers see the old file or the new one, also after a crash of the machine. Mode 0600. */
export async function replaceFile({
  path,
  text,
  owner,
}: {
  path: string;
  text: string;
  owner: { uid: number; gid: number } | undefined;
}): Promise<void> {
  const draft = `${path}.${randomBytes(4).toString('hex')}.new`;
  try {
    // 'wx' never follows a link, which matters where root writes into another user's directory.
    const file = await open(draft, 'wx', 0o600);
    try {
      if (owner !== undefined) await file.chown(owner.uid, owner.gid);
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
    await syncDirectory(dirname(path));
  } catch (error) {
    await rm(draft, { force: true });
    throw asStorageError({ error, path });
  }
}

/** Makes a rename last through a crash of the machine. Windows has no such call and needs none. */
export async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

function checked(content: unknown): ClusterFile {
  const file = content as Partial<ClusterFile> | null;
  // The passwords stand in SQL text and in a URL, so their alphabet is checked and not assumed.
  for (const secret of [file?.id, file?.adminPassword, file?.password]) {
    if (typeof secret !== 'string' || !/^[0-9a-f]{8,}$/.test(secret))
      throw new SyntaxError('not a cluster file');
  }
  const { id, adminPassword, password, port } = file as ClusterFile;
  return { id, adminPassword, password, ...(Number.isInteger(port) ? { port } : {}) };
}
