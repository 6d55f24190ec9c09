import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { installationSecret } from './home.ts';

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
  await assert.rejects(installationSecret(home), /secret is empty: restore it/);
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
