import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { asHomeError, checkSecret, ensureHome, installationSecret, writePrivateFile } from './home.ts';

async function newHome(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'signalbox-home-'));
  after(() => rm(home, { recursive: true }));
  return home;
}

test('starts that come together agree on one secret, which the owner alone can read', async () => {
  const home = await newHome();
  const secrets = await Promise.all(Array.from({ length: 20 }, () => installationSecret(home)));
  assert.equal(new Set(secrets).size, 1);
  assert.ok(secrets[0]!.length >= 64);
  assert.equal(await installationSecret(home), secrets[0]);
  if (process.platform !== 'win32') assert.equal((await stat(join(home, 'secret'))).mode & 0o777, 0o600);
});

test('a secret that is being written is waited for', async () => {
  const home = await newHome();
  const path = join(home, 'secret');
  await writeFile(path, '');
  const [secret] = await Promise.all([installationSecret(home), writeFile(path, 'written at last\n')]);
  assert.equal(secret, 'written at last');
});

test('an empty secret is refused, not used', async () => {
  const home = await newHome();
  await writeFile(join(home, 'secret'), '\n');
  for (const use of [installationSecret, checkSecret])
    await assert.rejects(use(home), { name: 'HomeError', message: /secret is empty: restore it/ });
});

test('a missing secret passes the check, and the check makes none', async () => {
  const home = await newHome();
  await checkSecret(home);
  await checkSecret(join(home, 'not', 'there'));
  assert.deepEqual(await readdir(home), []);
});

test('a home that cannot be used is refused in one sentence that names it', async () => {
  const home = await newHome();
  const file = join(home, 'file');
  await writeFile(file, '');
  await mkdir(join(home, 'secret'));
  await mkdir(join(home, 'demo.json'));
  const table: [use: () => Promise<unknown>, message: RegExp][] = [
    [
      () => ensureHome(file),
      /^Cannot use .*\/file: a file stands where a directory is needed\. Choose another/,
    ],
    [() => ensureHome(join(file, 'home')), /^Cannot use .*\/file\/home: a file stands where/],
    [() => installationSecret(file), /^Cannot use .*\/file: a file stands where/],
    [() => installationSecret(home), /^Cannot use .*\/secret: a directory stands where a file is needed\./],
    [() => checkSecret(home), /^Cannot use .*\/secret: a directory stands where a file is needed\./],
    [() => writePrivateFile(join(home, 'demo.json'), '{}'), /^Cannot use .*\/demo\.json: a directory stands/],
  ];
  for (const [use, message] of table) await assert.rejects(use, { name: 'HomeError', message });
  const codes: [code: string, message: RegExp][] = [
    [
      'EACCES',
      /^Cannot use \/srv\/home: permission denied[^.]*\. Choose another home with --home or SIGNALBOX_HOME\.$/,
    ],
    ['EPERM', /^Cannot use \/srv\/home: operation not permitted/],
    ['EROFS', /^Cannot use \/srv\/home: the file system is read-only\. /],
    ['ENOSPC', /^Cannot use \/srv\/home: no space is left on the device\. /],
    ['ENOENT', /^Cannot use \/srv\/home: it is not there and cannot be made\. /],
  ];
  for (const [code, message] of codes) {
    const cause = Object.assign(new Error(`${code}: raw`), { code });
    const error = asHomeError(cause, '/srv/home') as Error & { isExplained: boolean };
    assert.deepEqual([error.name, error.isExplained, error.cause], ['HomeError', true, cause]);
    assert.match(error.message, message);
  }
  const other = new Error('something else');
  assert.equal(asHomeError(other, '/srv/home'), other);
});

test('a secret that there was no room for is made by the next start', {
  skip: process.platform === 'win32',
}, async () => {
  const home = await newHome();
  const script = `import { installationSecret } from ${JSON.stringify(new URL('./home.ts', import.meta.url).href)};
    await installationSecret(${JSON.stringify(home)});`;
  // A file may be made and not be written to, as on a full disk.
  const limited = [
    '-c',
    'trap "" XFSZ; ulimit -f 0; exec "$0" --input-type=module -e "$1"',
    process.execPath,
    script,
  ];
  const { status, stderr } = spawnSync('/bin/sh', limited, { encoding: 'utf8' });
  assert.notEqual(status, 0);
  assert.match(stderr, /EFBIG/);
  assert.deepEqual(await readdir(home), []);
  assert.ok((await installationSecret(home)).length >= 64);
});
