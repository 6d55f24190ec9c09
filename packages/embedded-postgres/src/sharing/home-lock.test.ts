import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { atEnd } from '../../../server/src/testing/at-end.ts';
import { HomeInUseError } from '../errors.ts';
import { scratchDirectory } from '../fixtures/scratch.ts';
import { lockHome } from './home-lock.ts';

test('a home has one holder at a time, and the other is told who it is', async () => {
  const directory = await scratchDirectory();
  const lock = await lockHome({ directory });
  atEnd(() => lock.release());
  await assert.rejects(lockHome({ directory }), (error) => {
    assert.ok(error instanceof HomeInUseError);
    assert.equal(error.pid, process.pid);
    assert.equal(error.home, dirname(directory));
    assert.match(
      error.message,
      new RegExp(`process ${process.pid}\\) is already running on ${dirname(directory)}\\.`),
    );
    return true;
  });
  lock.release();
  lock.release();
  (await lockHome({ directory })).release();
});

test('whether a command holds the home is told', async () => {
  const directory = await scratchDirectory();
  const lock = await lockHome({ directory, forCommand: true });
  atEnd(() => lock.release());
  await assert.rejects(lockHome({ directory }), {
    byCommand: true,
    pid: process.pid,
    message: /^A Signalbox command /,
  });
});

test('what a killed server left does not lock, whoever has its pid today', async () => {
  const directory = await scratchDirectory();
  await writeFile(join(directory, 'server.lock'), '');
  await writeFile(join(directory, 'server.pid'), `${process.ppid}\n`);
  const lock = await lockHome({ directory });
  atEnd(() => lock.release());
  assert.equal(await readFile(join(directory, 'server.pid'), 'utf8'), `${process.pid}\n`);
});

test('a home on a full disk is refused in a sentence, and is free when there is room', {
  skip: !existsSync('/dev/full') && 'needs a device that is always full',
}, async () => {
  const directory = await scratchDirectory();
  const pidFile = join(directory, 'server.pid');
  await symlink('/dev/full', pidFile);
  await assert.rejects(lockHome({ directory }), {
    name: 'PostgresStorageError',
    message: /^Cannot use .* for PostgreSQL: no space is left on the device/,
  });
  await rm(pidFile);
  (await lockHome({ directory })).release();
});
