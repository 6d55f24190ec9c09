import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { atEnd } from '../../../server/src/testing/at-end.ts';
import { copyCheckout, isRoot, query, scratchDirectory, spawnHolder } from '../fixtures/scratch.ts';
import { findBinaries } from './binaries.ts';
import { type Account, chooseAccount, commandAs } from './unix-user.ts';

const onLinuxAsRoot = process.platform === 'linux' && isRoot;
const namespacesWork =
  onLinuxAsRoot &&
  spawnSync('unshare', ['--user', '--map-user=65534', '--map-group=65534', 'true']).status === 0;
const needsRoot = !onLinuxAsRoot && 'needs root on Linux';
const needsNamespaces = !namespacesWork && 'needs root on Linux with user namespaces';

/** A directory that everybody can walk through, below the system's one for temporary files. */
async function openDirectory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'signalbox-open-'));
  atEnd(() => rm(path, { recursive: true, force: true }));
  await chmod(path, 0o755);
  return path;
}

const idOf = (flag: string, name: string) => Number(execFileSync('id', [flag, name], { encoding: 'utf8' }));
const realUid = async (pid: number) =>
  Number(/^Uid:\t(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]);

const commands: [Account, ReturnType<typeof commandAs>][] = [
  [{ kind: 'self' }, { file: '/pg/postgres', args: ['-V'] }],
  [
    { kind: 'user', uid: 7, gid: 8 },
    { file: '/pg/postgres', args: ['-V'], uid: 7, gid: 8 },
  ],
  [
    { kind: 'namespace', uid: 7, gid: 8 },
    { file: 'unshare', args: ['--user', '--map-user=7', '--map-group=8', '--', '/pg/postgres', '-V'] },
  ],
];
for (const [account, command] of commands) {
  test(`the command of the account "${account.kind}"`, () =>
    assert.deepEqual(commandAs({ account, program: '/pg/postgres', args: ['-V'] }), command));
}

test('as root below a 0700 directory, without links: in a namespace, without one, and in a namespace again', {
  skip: needsNamespaces,
}, async () => {
  const home = await scratchDirectory();
  const place = await openDirectory();
  const { script } = await copyCheckout({ into: join(home, 'checkout') });
  const directory = join(home, 'postgres');
  const seen: { uid: number; owner: number; ids: number[] }[] = [];
  for (const [id, allowNamespaces] of [true, false, true].entries()) {
    const server = spawnHolder({ directory, allowNamespaces, programPlaces: [place] }, { script });
    server.go();
    const { url, pid } = await server.says('started');
    const ids = await query(url, async (sql) => {
      await sql`CREATE TABLE IF NOT EXISTS kept (id int PRIMARY KEY)`;
      await sql`INSERT INTO kept VALUES (${id})`;
      return (await sql`SELECT id FROM kept ORDER BY id`).map((row) => row.id as number);
    });
    seen.push({ uid: await realUid(pid), owner: (await stat(join(directory, 'data'))).uid, ids });
    await server.finish();
  }
  const nobody = idOf('-u', 'nobody');
  assert.deepEqual(seen, [
    { uid: 0, owner: 0, ids: [0] },
    { uid: nobody, owner: nobody, ids: [0, 1] },
    // Who owns the data goes on: giving it back would gain nothing.
    { uid: nobody, owner: nobody, ids: [0, 1, 2] },
  ]);
  const [copy] = await readdir(place);
  assert.match(copy ?? '', /^postgresql-18\./);
});

test('as root without namespaces, below a 0700 directory: a first start, and a take-over after a kill -9', {
  skip: needsRoot,
}, async () => {
  const home = await scratchDirectory();
  const { script } = await copyCheckout({ into: join(home, 'checkout') });
  const place = await openDirectory();
  const options = { directory: join(home, 'postgres'), allowNamespaces: false, programPlaces: [place] };
  const server = spawnHolder(options, { script });
  server.go();
  const left = await server.says('started');
  assert.equal(await realUid(left.pid), idOf('-u', 'nobody'));
  assert.match((await readdir(place))[0] ?? '', /^postgresql-18\./);
  await server.killGroup();
  const heir = spawnHolder(options, { script });
  heir.go();
  assert.deepEqual(await heir.says('started'), { ...left, reused: true });
  await heir.finish();
});

test('programs are not copied to a place that others can write to', { skip: needsRoot }, async () => {
  const [taken, shared, good] = [await openDirectory(), await openDirectory(), await openDirectory()];
  await chown(taken, idOf('-u', 'nobody'), idOf('-g', 'nobody'));
  await mkdir(join(shared, 'below'));
  await chmod(shared, 0o777);
  // Below a 0700 directory, so that the unprivileged user cannot use them where they are.
  const { platform: root } = await copyCheckout({ into: await scratchDirectory() });
  const packaged = await findBinaries();
  const postgres = join(root, 'native', 'bin', 'postgres');
  const chosen = await chooseAccount({
    directory: await scratchDirectory(),
    dataOwner: undefined,
    binaries: { ...packaged, root, postgres },
    allowNamespaces: false,
    places: [taken, join(shared, 'below'), good],
    onCopy: () => {},
  });
  assert.ok(chosen.binaries.root.startsWith(good));
  assert.deepEqual(await readdir(taken), []);
  assert.deepEqual(await readdir(join(shared, 'below')), []);
});

test('as an ordinary user, with a package that is not its own and has no links', {
  skip: needsRoot,
}, async () => {
  const user = { uid: idOf('-u', 'nobody'), gid: idOf('-g', 'nobody') };
  const checkout = await openDirectory();
  const { script, node } = await copyCheckout({ into: checkout, withNode: true });
  const home = await scratchDirectory();
  await chown(home, user.uid, user.gid);
  const directory = join(home, 'postgres');

  const server = spawnHolder({ directory }, { script, node, ...user });
  server.go();
  const { url, pid } = await server.says('started');
  assert.equal(await realUid(pid), user.uid);
  assert.equal(await query(url, async (sql) => (await sql`SELECT 7 AS n`)[0]?.n), 7);
  await server.finish();

  const rootHome = await openDirectory();
  await mkdir(join(rootHome, 'postgres'), { mode: 0o700 });
  await writeFile(join(rootHome, 'postgres', 'cluster.json'), '{}');
  const refused = spawnHolder({ directory: join(rootHome, 'postgres') }, { script, node, ...user });
  refused.go();
  const { name, message } = await refused.says('refused');
  assert.equal(name, 'PostgresStorageError');
  assert.match(message, new RegExp(`permission denied \\(running as user id ${user.uid}\\)`));
});
