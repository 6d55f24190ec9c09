import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabaseUrl } from '../../testing/database.ts';
import { startTestServer } from '../../testing/server.ts';
import { createHome, run } from '../../testing/signalbox.ts';

const DATABASE_URL = await createTestDatabaseUrl();
const SIGNALBOX_SECRET = 'a secret for this test, long enough';
const env = { DATABASE_URL, SIGNALBOX_SECRET, SIGNALBOX_HOME: await createHome() };
const server = await startTestServer({
  databaseUrl: DATABASE_URL,
  config: { secret: SIGNALBOX_SECRET, roles: ['api'] },
});
const list = (...args: string[]) => run(['signals', 'list', ...args], env);

test('the signals of a person are listed newest first, a page at a time', async () => {
  const answer = await fetch(`${server.origin}/signals/v1`, {
    method: 'POST',
    headers: { 'x-api-key': server.sdkKey, 'content-type': 'application/json' },
    body: JSON.stringify({
      events: ['s-1', 's-2', 's-3'].map((id) => ({
        id,
        signal: 'browse',
        payload: { sections: [[id]], email: 'ada@example.com' },
      })),
    }),
  });
  assert.equal(answer.status, 200);

  const first = await list('--profile', 'Ada@example.com', '--take', '2', '--json');
  assert.equal(first.code, 0, first.stderr);
  const { signals, iterator } = JSON.parse(first.stdout);
  assert.deepEqual(
    signals.map(({ id, payload }: { id: string; payload: object }) => [id, payload]),
    ['s-3', 's-2'].map((id) => [id, { sections: [[id]], idType: 'email', email: 'ada@example.com' }]),
  );
  const second = await list('--profile', 'ada@example.com', '--iterator', iterator, '--json');
  const rest = JSON.parse(second.stdout);
  assert.deepEqual([rest.signals[0].id, rest.signals.length, rest.iterator], ['s-1', 1, null]);
  const shown = await list('--profile', 'ada@example.com', '--type', 'email');
  assert.match(
    shown.stdout,
    /^received +time +signal +origin +id +payload\n(?:.* browse +claimed +s-\d .*\n){3}$/,
  );
});

test('a list that cannot be is refused in a sentence', async () => {
  const table: [args: string[], sentence: RegExp][] = [
    [[], /required option '--profile <identifier>' not specified/],
    [['--profile', 'nobody'], /^Error: There is no profile nobody\.\n$/],
    [['--profile', 'nobody', '--take', '0'], /It must be a whole number from 1 to 1000\./],
    [['--profile', 'nobody', '--take', '1001'], /It must be a whole number from 1 to 1000\./],
    [['--profile', 'ada@example.com', '--iterator', 'x'], /must come from an earlier listing/],
  ];
  for (const [args, sentence] of table) {
    const { code, stdout, stderr } = await list(...args);
    assert.deepEqual([code, stdout], [1, ''], stderr);
    assert.match(stderr, sentence);
  }
});
