/** Clients that retry, and a server that is killed under them; a fuller load before every kill. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { freePort } from '@signalbox/embedded-postgres/free-port';
import { randomSecret } from '../kernel/security/crypto.ts';
import { FOLLOW_QUEUE } from '../profiles/index.ts';
import { createTestDatabaseUrl } from '../testing/database.ts';
import { startTestServer } from '../testing/server.ts';
import { start } from '../testing/signalbox.ts';
import { until } from '../testing/wait.ts';
import type { Verdict } from './index.ts';
import { event } from './process.fixture.ts';

export const testKills = ({ kills }: { kills: number }): Promise<void> =>
  test('a server that is killed again and again while clients retry loses nothing, and stores and follows nothing twice', () =>
    killWhileClientsRetry(kills));

async function killWhileClientsRetry(kills: number): Promise<void> {
  const url = await createTestDatabaseUrl();
  const seed = await startTestServer({ databaseUrl: url, config: { roles: ['scheduler'] } });
  const port = await freePort();
  const environment = {
    DATABASE_URL: url,
    SIGNALBOX_SECRET: randomSecret(),
    HOST: '127.0.0.1',
    PORT: String(port),
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    SIGNALBOX_ROLES: 'api,worker',
    LOG_LEVEL: 'silent',
  };
  const address = `http://127.0.0.1:${port}/signals/v1`;
  const acknowledged = new Map<string, number>();
  const sent = new Set<string>();
  let stop = false;

  /** The verdicts, or nothing when the server was not there or died meanwhile. */
  async function trySend(events: unknown[]): Promise<Verdict[] | undefined> {
    try {
      const answer = await fetch(address, {
        method: 'POST',
        body: JSON.stringify({ key: seed.sdkKey, events }),
      });
      return answer.status === 200 ? ((await answer.json()) as { results: Verdict[] }).results : undefined;
    } catch {
      return undefined;
    }
  }

  async function client(number: number): Promise<void> {
    for (let turn = 0; !stop; turn++) {
      const email = `p${(number + turn) % 10}@example.com`;
      const events = Array.from({ length: 5 }, () => event(randomUUID(), { email }));
      for (const { id } of events) sent.add(id);
      let results: Verdict[] | undefined;
      const isAnswered = async () => {
        results = await trySend(events);
        return results !== undefined;
      };
      await until(isAnswered, { timeoutMs: 60_000, what: 'an answer' });
      assert.ok(results!.every(({ success }) => success));
      for (const { id } of events) acknowledged.set(id, (acknowledged.get(id) ?? 0) + 1);
    }
  }

  let server = start(['serve'], environment);
  const clients = Array.from({ length: 8 }, (_, number) => client(number));
  for (let kill = 1; kill <= kills; kill++) {
    const goal = acknowledged.size + 150 * kill;
    await until(() => acknowledged.size >= goal, { timeoutMs: 60_000, what: `${goal} acknowledged signals` });
    assert.equal(await server.end('SIGKILL'), null);
    server = start(['serve'], environment);
  }
  const goal = acknowledged.size + 100;
  await until(() => acknowledged.size >= goal, { timeoutMs: 60_000 });
  stop = true;
  await Promise.all(clients);

  const { sql } = seed.modules.db;
  const rows = await sql<{ id: string; times: number }[]>`
    select id, count(*) as times from signals where tenant_id = ${seed.tenant.id} group by id`;
  assert.equal(acknowledged.size, sent.size);
  assert.equal(rows.length, sent.size, 'every signal is there');
  assert.ok(
    rows.every(({ id, times }) => times === 1 && sent.has(id)),
    'and once',
  );
  const [people] = await sql`select count(*) as count from profiles where tenant_id = ${seed.tenant.id}`;
  assert.equal(people?.count, 10);
  await seed.modules.lanes.idle(FOLLOW_QUEUE);
  const [followed] = await sql`
    select sum(signals)::int as signals from activity_days where tenant_id = ${seed.tenant.id}`;
  assert.equal(followed?.signals, sent.size, 'every signal is followed once');
}
