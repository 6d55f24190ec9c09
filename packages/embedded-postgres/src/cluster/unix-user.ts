import { chmod, lstat, mkdir, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PostgresStorageError } from '../errors.ts';
import { type Command, runToEnd } from '../process/child.ts';
import { type Binaries, copyBinaries } from './binaries.ts';

/**
 * PostgreSQL refuses to run as root. The ways around it, best first:
 * - `self`: we are not root; nothing to do.
 * - `namespace`: a user namespace in which root is called by an unprivileged user's id. For PostgreSQL it is not root, for the file system
 *   it is, so files stay root's and a 0700 home is no obstacle. Needs `unshare` of util-linux and a kernel that permits it; a container
 *   usually does not.
 * - `user`: another uid. It owns the data directory, and reads programs that it can reach (copied, if need be).
 */
export type Account = { kind: 'self' } | { kind: 'namespace' | 'user'; uid: number; gid: number };

/** Where root puts programs that an unprivileged user can reach. The second is for systems whose /var cannot be written to. */
export const reachablePlaces = ['/var/lib/signalbox', join(tmpdir(), 'signalbox-programs')];

/**
 * The command that runs `program` under the account.
 *
 * @example
 * commandAs({ account: { kind: 'namespace', uid: 65534, gid: 65534 }, program: '/pg/bin/postgres', args: ['-V'] }).file; // 'unshare'
 */
export function commandAs({
  account,
  program,
  args,
}: {
  account: Account;
  program: string;
  args: string[];
}): Command {
  if (account.kind === 'self') return { file: program, args };
  const { uid, gid } = account;
  if (account.kind === 'user') return { file: program, args, uid, gid };
  // unshare replaces itself with the program, so the pid that we get is the program's.
  return {
    file: 'unshare',
    args: ['--user', `--map-user=${uid}`, `--map-group=${gid}`, '--', program, ...args],
  };
}

/**
 * How the account names the data directory. Another user cannot walk down to it through a 0700 home, but a process may be born in any
 * directory: on Linux it is started there and knows it as its working directory, which PostgreSQL never leaves. So the data stays in
 * the home whoever runs it.
 */
export function dataPathFor({ account, data }: { account: Account; data: string }): string {
  return account.kind === 'user' && process.platform === 'linux' ? '/proc/self/cwd' : data;
}

/**
 * Chooses the account, and programs that it can run. A data directory that belongs to an ordinary user is run as that user, so that who
 * made the cluster can go on with it.
 */
export async function chooseAccount({
  directory,
  dataOwner,
  binaries,
  allowNamespaces,
  places = reachablePlaces,
  onCopy,
}: {
  directory: string;
  dataOwner: { uid: number; gid: number } | undefined;
  binaries: Binaries;
  allowNamespaces: boolean;
  places?: string[];
  onCopy: () => void;
}): Promise<{ account: Account; binaries: Binaries }> {
  if (process.getuid?.() !== 0) return { account: { kind: 'self' }, binaries };
  const unprivileged = await unprivilegedUser();
  const foreignOwner = dataOwner !== undefined && dataOwner.uid !== 0 ? dataOwner : undefined;

  if (foreignOwner === undefined && allowNamespaces && process.platform === 'linux') {
    const account: Account = { kind: 'namespace', ...unprivileged };
    if ((await probe({ account, binaries, directory })).ok) return { account, binaries };
  }

  const account: Account = { kind: 'user', ...(foreignOwner ?? unprivileged) };
  const inPlace = await probe({ account, binaries, directory });
  if (inPlace.ok) return { account, binaries };
  onCopy();
  const failures = [inPlace.output];
  for (const place of places) {
    try {
      const copy = await copyBinaries({ binaries, into: await trustedDirectory(place) });
      const copied = await probe({ account, binaries: copy, directory });
      if (copied.ok) return { account, binaries: copy };
      failures.push(copied.output);
    } catch (error) {
      failures.push((error as Error).message);
    }
  }
  throw new PostgresStorageError(
    `PostgreSQL does not run as root, and could not be run as user id ${account.uid} either. ` +
      'Start Signalbox as an ordinary user, or set DATABASE_URL.\n' +
      failures
        .map((text) => text.trim())
        .filter((text) => text !== '')
        .join('\n'),
  );
}

/** Runs the real program under the account: what the kernel, a security module or a mount option forbids shows here and nowhere else. */
async function probe({
  account,
  binaries,
  directory,
}: {
  account: Account;
  binaries: Binaries;
  directory: string;
}): Promise<{ ok: boolean; output: string }> {
  const needsPath = dataPathFor({ account, data: directory }) === directory;
  const script = `"$1" --version >/dev/null && test -r "$2"${needsPath ? ' && test -x "$3"' : ''}`;
  const args = ['-c', script, 'sh', binaries.postgres, binaries.catalog, directory];
  return runToEnd({ command: commandAs({ account, program: '/bin/sh', args }) });
}

/** Must have an entry in the user database: initdb looks its own user up. */
async function unprivilegedUser(): Promise<{ uid: number; gid: number }> {
  const names =
    process.platform === 'darwin' ? ['_postgres', 'nobody'] : ['nobody', 'postgres', 'daemon', 'www-data'];
  for (const name of names) {
    const [uid, gid] = await Promise.all(
      ['-u', '-g'].map(async (flag) => {
        const { ok, output } = await runToEnd({ command: { file: 'id', args: [flag, name] } });
        return ok ? Number(output) : Number.NaN;
      }),
    );
    if (uid !== undefined && gid !== undefined && uid > 0 && gid >= 0) return { uid, gid };
  }
  throw new PostgresStorageError(
    `PostgreSQL does not run as root, and there is no unprivileged user (${names.join(', ')}) to run it as. ` +
      'Start Signalbox as an ordinary user, or set DATABASE_URL.',
  );
}

/**
 * Makes the directory, readable for all, and makes sure that nobody but root can have put anything into it: in a world-writable /tmp
 * somebody may have made it first.
 */
async function trustedDirectory(path: string): Promise<string> {
  const made = await mkdir(path, { recursive: true, mode: 0o755 });
  if (made !== undefined) await chmod(path, 0o755);
  const real = await realpath(path);
  for (let step = real; ; step = dirname(step)) {
    const { uid, mode } = await lstat(step);
    const othersMayWrite = (mode & 0o022) !== 0;
    const sticky = (mode & 0o1000) !== 0 && step !== real;
    if (uid !== 0 || (othersMayWrite && !sticky)) {
      throw new PostgresStorageError(
        `${step} can be changed by others than root, so no programs are put there.`,
      );
    }
    if (step === dirname(step)) return real;
  }
}
