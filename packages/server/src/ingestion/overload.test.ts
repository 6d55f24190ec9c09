/** What clients are told when signals cannot be stored: to come again, and that it is safe to. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { startTestServer } from '../testing/server.ts';
import { until } from '../testing/wait.ts';

const server = await startTestServer({ config: { roles: ['api'] } });
const { sql } = server.modules.db;

const send = (ids: string[]) =>
  fetch(`${server.origin}/signals/v1`, {
    method: 'POST',
    headers: { 'content-type': 'text/plain', origin: 'https://shop.example' },
    body: JSON.stringify({
      key: server.sdkKey,
      events: ids.map((id) => ({ id, signal: 'browse', payload: { sections: [['home']] } })),
    }),
  });

const ids = (count: number) => Array.from({ length: count }, () => randomUUID());

test('when the store does not keep up, the queue is bounded and the rest is told to come again', async () => {
  let refused: Response | undefined;
  const answers: Promise<Response>[] = [];
  await sql.begin(async (tx) => {
    await tx`lock table signals in access exclusive mode`;
    for (let turn = 0; turn < 45; turn++) {
      const answer = send(ids(500));
      answers.push(answer);
      void answer.then(async (response) => {
        if ((await response.clone().text()).includes('Too many signals are waiting.')) refused = response;
      });
    }
    await until(() => refused !== undefined);
  });
  assert.equal(refused!.status, 503);
  assert.equal(refused!.headers.get('retry-after'), '1');
  assert.equal(refused!.headers.get('access-control-allow-origin'), 'https://shop.example');
  assert.equal(((await refused!.json()) as { error: { code: string } }).error.code, 'server');
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  const taken = statuses.filter((status) => status === 200).length;
  assert.ok(
    statuses.every((status) => status === 200 || status === 503),
    statuses.join(),
  );
  const [row] = await sql`select count(*) as count from signals`;
  assert.ok(row!.count >= taken * 500, 'whatever was accepted is there');
});
