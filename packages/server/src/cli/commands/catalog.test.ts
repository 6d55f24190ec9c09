/** `signalbox catalog`, run as a user runs it. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { openDatabase } from '../../kernel/db/database.ts';
import { atEnd } from '../../testing/at-end.ts';
import { createTestDatabaseUrl } from '../../testing/database.ts';
import { createHome, run, start, TO_START } from '../../testing/signalbox.ts';
import { until } from '../../testing/wait.ts';

test('an import that is cut off while it reads has failed, and says so at once', async () => {
  const home = await createHome();
  const url = await createTestDatabaseUrl();
  const env = { DATABASE_URL: url, SIGNALBOX_HOME: home };
  assert.equal((await run(['tenant', 'create', 'acme'], env)).code, 0);
  const db = openDatabase({ url, connections: 1 });
  atEnd(() => db.close());
  const feed = join(home, 'feed.csv');
  execFileSync('mkfifo', [feed]);
  const command = start(['catalog', 'import', feed], env);
  const written = writeFile(feed, endlessFeed()).catch(({ code }) => code);
  await until(
    async () => (await db.sql`select from catalog_imports where accepted > 0`).count === 1,
    TO_START,
  );
  assert.equal(await command.end('SIGINT'), 130);
  assert.deepEqual(command.output(), { stdout: '', stderr: '' });
  const [left] = await db.sql`select state, message from catalog_imports`;
  assert.deepEqual({ ...left }, { state: 'failed', message: 'The import was interrupted.' });
  assert.equal(await written, 'EPIPE');
});

/** However late it is cut off, there is more to read. */
function* endlessFeed() {
  yield 'id,link\n';
  for (let row = 0; ; row += 1) yield `p${row},https://s.example/${row}\n`;
}

test('an import is told as it is, without what only the store makes something of', async () => {
  const home = await createHome();
  const env = { DATABASE_URL: await createTestDatabaseUrl(), SIGNALBOX_HOME: home };
  assert.equal((await run(['tenant', 'create', 'acme'], env)).code, 0);
  const feed = join(home, 'feed.csv');
  await writeFile(feed, 'id,link\np,https://s.example/p\nq,nowhere\n');
  const told = JSON.parse((await run(['catalog', 'import', feed, '--json'], env)).stdout);
  const shown = JSON.parse((await run(['catalog', 'show', '--json'], env)).stdout);
  assert.deepEqual([told.rows, told.accepted, told.rejected], [2, 1, 1]);
  const { errors, ...listed } = shown.imports[0];
  assert.deepEqual(listed, told);
  assert.equal(errors[0].line, 3);
  for (const member of ['tenantId', 'began']) assert.equal(member in told, false, member);
});

test('a report that would overwrite the feed is refused, by whatever name, and the feed stays as it is', async () => {
  const home = await createHome();
  const env = { DATABASE_URL: await createTestDatabaseUrl(), SIGNALBOX_HOME: home };
  assert.equal((await run(['tenant', 'create', 'acme'], env)).code, 0);
  const [feed, link] = [join(home, 'feed.ndjson'), join(home, 'refused.ndjson')];
  const content = '{"id":"p","link":"https://s.example/p"}\n';
  await writeFile(feed, content);
  await symlink(feed, link);
  for (const report of [feed, link]) {
    const { code, stderr } = await run(['catalog', 'import', feed, '--report', report], env);
    assert.deepEqual([code, await readFile(feed, 'utf8')], [1, content]);
    assert.match(stderr, /^Error: \S+ is the file that is read: choose another one to write to\.\n$/);
  }
});
