import assert from 'node:assert/strict';
import { appendFile, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratchDirectory } from '../fixtures/scratch.ts';
import { logSince, logSize, rotateLog } from './log-file.ts';

test('what was logged since a moment is told, at most its last 20 lines', async () => {
  const path = join(await scratchDirectory(), 'postgres.log');
  assert.equal(await logSize(path), 0);
  assert.equal(await logSince({ path, offset: 0 }), '');
  await writeFile(path, 'before\n');
  const offset = await logSize(path);
  assert.equal(await logSince({ path, offset }), '');
  await appendFile(path, 'after\n');
  assert.equal(await logSince({ path, offset }), 'after');
  await appendFile(path, Array.from({ length: 30 }, (_, index) => `line ${index}\n`).join(''));
  const lines = (await logSince({ path, offset })).split('\n');
  assert.deepEqual([lines.length, lines[0], lines.at(-1)], [20, 'line 10', 'line 29']);
});

test('a large log is put aside, a small one goes on', async () => {
  const path = join(await scratchDirectory(), 'postgres.log');
  await rotateLog(path);
  await writeFile(path, 'first\n');
  await rotateLog(path);
  assert.equal(await readFile(path, 'utf8'), 'first\n');
  await truncate(path, 6 * 1024 * 1024);
  await rotateLog(path);
  await assert.rejects(stat(path), { code: 'ENOENT' });
  assert.equal((await stat(`${path}.1`)).size, 6 * 1024 * 1024);
});
