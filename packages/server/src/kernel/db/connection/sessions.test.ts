import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabaseUrl } from '../../../testing/database.ts';
import { openDatabase } from '../database.ts';
import { type Habit, startPooler } from './pooler.fixture.ts';
import { checkSessions, SessionError } from './sessions.ts';

const url = await createTestDatabaseUrl();
const settings = { jit: 'off', statement_timeout: '10s', enable_seqscan: 'off' };
// A setting that the database has anyway is not missed by whoever drops it.
const owner = openDatabase({ url, connections: 1 });
await owner.sql.unsafe(`alter database ${new URL(url).pathname.slice(1)} set jit = off`);
await owner.close();

test('sessions of their own are taken, with and without settings', async () => {
  await checkSessions({ url, settings });
  await checkSessions({ url, settings: {} });
});

const poolers: [Habit, RegExp][] = [
  ['refuses settings', /refuses the setting jit .* Let DATABASE_URL lead to PostgreSQL itself/],
  ['drops settings', /drops settings of sessions \(statement_timeout, enable_seqscan\)/],
  ['shares a session', /shares sessions \(PgBouncer in transaction mode/],
];
for (const [habit, sentence] of poolers) {
  test(`a pooler that ${habit} is refused with a sentence`, async () => {
    const pooled = await startPooler(url, habit);
    await assert.rejects(checkSessions({ url: pooled, settings }), (error) => {
      assert.ok(error instanceof SessionError, String(error));
      assert.match(error.message, sentence);
      return true;
    });
  });
}
