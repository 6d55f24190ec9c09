import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect } from '../fixtures/connect.ts';
import { query, scratchDirectory, start } from '../fixtures/scratch.ts';
import { ensureDatabase } from './bootstrap.ts';

test('role and database are made again when they are missing, by several at once too', async () => {
  const directory = join(await scratchDirectory(), 'postgres');
  const { url, port } = await start({ directory });
  const secrets = JSON.parse(await readFile(join(directory, 'cluster.json'), 'utf8'));
  const adminUrl = `postgres://postgres:${secrets.adminPassword}@127.0.0.1:${port}/postgres`;
  await query(adminUrl, async (sql) => {
    await sql`DROP DATABASE signalbox`;
    await sql`DROP ROLE signalbox`;
  });
  const reached = await Promise.all(
    Array.from({ length: 5 }, () => ensureDatabase({ ...secrets, port, connect })),
  );
  assert.equal(new Set(reached.map(({ clusterName }) => clusterName)).size, 1);
  const [made] = await query(
    url,
    (sql) => sql`SELECT pg_get_userbyid(datdba) AS owner FROM pg_database WHERE datname = current_database()`,
  );
  assert.equal(made?.owner, 'signalbox');
  await assert.rejects(ensureDatabase({ ...secrets, adminPassword: 'wrong', port, connect }), {
    code: '28P01',
  });
});
