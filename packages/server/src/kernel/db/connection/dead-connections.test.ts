import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atEnd } from '../../../testing/at-end.ts';
import { createTestDatabaseUrl } from '../../../testing/database.ts';
import { untilWaiting, whileLocked } from '../../../testing/locks.ts';
import { until } from '../../../testing/wait.ts';
import { startWay } from '../../../testing/way.ts';
import { openDatabase, type TransactionSql } from '../database.ts';
import { classifySilence, type Finding } from './dead-connections.ts';

const CONNECTIONS = 2;
const LIMIT = { timeout: 60_000 };
const url = await createTestDatabaseUrl({ empty: true });
const way = await startWay(url);
const db = openDatabase({
  url: way.url,
  connections: CONNECTIONS,
  timings: { lookMs: 20, silentMs: 200, answerMs: 1000 },
});
const direct = openDatabase({ url, connections: 1 });
const observer = openDatabase({ url, connections: 1 });
atEnd(() => Promise.all([db.close(), direct.close(), observer.close()]));

/** Until every connection of the pool is there and has answered. */
const warm = () =>
  until(async () => {
    const answers = await Promise.allSettled(
      Array.from({ length: CONNECTIONS }, () => db.sql`select pg_sleep(0.05)`),
    );
    return answers.every(({ status }) => status === 'fulfilled');
  });

/** What a statement answers that takes as long as `meanwhile` does. */
async function stateAfter(meanwhile: () => Promise<void>): Promise<string> {
  const lock = (sql: TransactionSql) => sql`select pg_advisory_xact_lock(7)`;
  const { long } = await whileLocked(direct, lock, async () => {
    const long = db.sql`select 'done' as state from pg_advisory_xact_lock(7)`.execute();
    await meanwhile();
    return { long };
  });
  return (await long)[0]!.state;
}

test(
  'a database that does not answer any more is given up, for those who wait for a connection too',
  LIMIT,
  async () => {
    await warm();
    way.freeze();
    const statements = Array.from({ length: 50 }, () =>
      assert.rejects(db.sql`select 1`, { code: /^CONNECT_TIMEOUT$|^CONNECTION_CLOSED$/ }),
    );
    await Promise.all(statements);
    way.open();
    await warm();
  },
);

test('a transaction whose database does not answer any more is given up', LIMIT, async () => {
  const frozen = db.transaction(async ({ sql }) => {
    await sql`select 1`;
    way.freeze();
    await sql`select 2`;
  });
  await assert.rejects(frozen, { code: 'CONNECTION_CLOSED' });
  way.open();
  await warm();
});

test('a connection that was forgotten on the way is given up, while the others serve', LIMIT, async () => {
  await warm();
  way.forget();
  const statements = Array.from({ length: CONNECTIONS }, () =>
    assert.rejects(db.sql`select 1`, { code: 'CONNECTION_CLOSED' }),
  );
  await Promise.all(statements);
  assert.deepEqual([...(await db.sql`select 1 as n`)], [{ n: 1 }]);
});

test(
  'whoever listens over a connection that was forgotten on the way is soon told, and hears again',
  LIMIT,
  async () => {
    const events: string[] = [];
    const stop = await db.listen(
      'news',
      (message) => events.push(message),
      () => events.push('connected'),
    );
    assert.deepEqual(events.splice(0), ['connected']);
    way.forget();
    await direct.notify('news', 'missed');
    await until(() => events.length > 0);
    await direct.notify('news', 'heard');
    await until(() => events.length > 1);
    assert.deepEqual(events, ['connected', 'heard']);
    await stop();
    await warm();
  },
);

test(
  'a statement that takes long is waited for, however often the database has to be asked',
  LIMIT,
  async () => {
    await warm();
    const asked = way.asked();
    const state = await stateAfter(() =>
      until(() => way.asked() > asked + 2, { what: 'one question after the other' }),
    );
    assert.equal(state, 'done');
  },
);

test(
  'what a database was seen working on is not given up because it is too busy to answer',
  LIMIT,
  async () => {
    await warm();
    const asked = way.asked();
    const state = await stateAfter(async () => {
      await until(() => way.asked() > asked + 1, {
        what: 'a second question, after the answer to the first',
      });
      way.freeze();
      const frozenAt = way.asked();
      await until(() => way.asked() > frozenAt + 1, { what: 'questions without an answer' });
      way.open();
    });
    assert.equal(state, 'done');
  },
);

test('a process that stood still itself does not blame the database', LIMIT, async () => {
  await warm();
  const state = await stateAfter(async () => {
    // Had it not arrived, it would come together with the question, and the database might tell of a process that is idle.
    await untilWaiting(observer, 'pg_advisory_xact_lock');
    way.freeze();
    const asked = way.asked();
    await until(() => way.asked() > asked, { what: 'a question' });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
    way.open();
    await until(() => way.asked() > asked + 1, { what: 'another question, after the answer' });
  });
  assert.equal(state, 'done');
});

const silence = { pid: 7, received: 100, looks: 0 };
const table: [what: string, working: boolean, finding: Finding, verdict: string][] = [
  ['nobody is there', false, 'nobody', 'lost'],
  ['nobody is there now', true, 'nobody', 'unclear'],
  ['no connection is to be had', false, 'refused', 'unclear'],
  ['its process works', false, new Map([[7, 'working']]), 'working'],
  ['its process waits for us as we do for it', false, new Map([[7, 'idle']]), 'lost'],
  ['its process is unknown, as behind a pooler', false, new Map(), 'unclear'],
  ['its process is not there any more', true, new Map(), 'lost'],
];
for (const [what, working, finding, verdict] of table)
  test(`a connection is silent and ${what}: ${verdict}`, () => {
    assert.equal(classifySilence({ ...silence, working }, finding), verdict);
  });
