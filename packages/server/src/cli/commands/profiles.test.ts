import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabaseUrl } from '../../testing/database.ts';
import { startTestServer } from '../../testing/server.ts';
import { createHome, run } from '../../testing/signalbox.ts';

const DATABASE_URL = await createTestDatabaseUrl();
const SIGNALBOX_SECRET = 'a secret for this test, long enough';
const env = { DATABASE_URL, SIGNALBOX_SECRET, SIGNALBOX_HOME: await createHome() };
const server = await startTestServer({ databaseUrl: DATABASE_URL, config: { secret: SIGNALBOX_SECRET } });

const send = (payload: object) =>
  fetch(`${server.origin}/signals/v1/browse`, {
    method: 'POST',
    headers: { 'x-api-key': server.sdkKey, 'content-type': 'application/json' },
    body: JSON.stringify({ sections: [['home']], ...payload }),
  });

test('a person is shown, tracked or not, and forgotten from the command line', async () => {
  await send({ email: 'ada@example.com', profileAttributes: { profileCity: 'Gent' } });
  await send({ email: 'ada@example.com' });
  await send({ idType: 'external', customerId: '42' });
  const shown = await run(['profile', 'show', 'Ada@example.com', '--json'], env);
  assert.equal(shown.code, 0, shown.stderr);
  const { profileId, systemId, email, attributes } = JSON.parse(shown.stdout);
  assert.deepEqual([email, attributes], ['ada@example.com', { profileCity: 'Gent' }]);
  assert.match((await run(['profile', 'show', '42'], env)).stdout, /externalId +42\n/);
  for (const [command, doNotTrack] of [
    ['do-not-track', true],
    ['track', false],
  ] as const) {
    assert.match(
      (await run(['profile', command, '42'], env)).stdout,
      new RegExp(`doNotTrack +${doNotTrack}`),
    );
    const person = await server.modules.profiles.find(server.tenant.id, { externalId: '42' });
    assert.equal(person?.doNotTrack, doNotTrack);
  }

  const wrong = await run(['profile', 'forget', String(systemId), '--type', 'external'], env);
  assert.deepEqual([wrong.code, wrong.stdout], [1, '']);
  const gone = await run(['profile', 'forget', String(systemId), '--type', 'system', '--json'], env);
  assert.equal(gone.code, 0, gone.stderr);
  const { forgotten, removed } = JSON.parse(gone.stdout);
  assert.equal(forgotten, profileId);
  assert.equal(removed.signals, 2);
  const again = await run(['profile', 'forget', 'ada@example.com'], env);
  assert.deepEqual([again.code, again.stderr], [1, 'Error: There is no profile ada@example.com.\n']);
});
