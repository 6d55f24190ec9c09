import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asStorageError, PostgresStorageError } from './errors.ts';
import { fileTrouble } from './file-trouble.ts';

test('a refusal of the file system is said in plain words, with the user where permissions are the reason', () => {
  const table: [code: string, trouble: RegExp][] = [
    ['EACCES', /^permission denied( \(running as user id \d+\))?$/],
    ['EPERM', /^operation not permitted( \(running as user id \d+\))?$/],
    ['EROFS', /^the file system is read-only$/],
    ['EEXIST', /^a file stands where a directory is needed$/],
    ['EISDIR', /^a directory stands where a file is needed$/],
  ];
  for (const [code, trouble] of table) {
    assert.match(fileTrouble({ code })!, trouble, code);
    const error = asStorageError({ error: { code }, path: '/srv/postgres' });
    assert.ok(error instanceof PostgresStorageError);
    assert.equal(error.message, `Cannot use /srv/postgres for PostgreSQL: ${fileTrouble({ code })}.`);
  }
  for (const other of [{ code: 'ENOENT' }, { code: 'toString' }, new Error('x'), null, undefined])
    assert.equal(fileTrouble(other), undefined);
});
