/** How answers are sent: at once or later, of whatever type, to GET and HEAD alike, and once only. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serveTestRoutes } from '../../testing/server.ts';
import { apiError } from '../errors.ts';
import { type Answer, createRouter } from './routes.ts';

const TEXT = '["été"]';
const ANSWERS: Record<string, Answer> = {
  object: { body: { name: 'été' } },
  text: { headers: { 'content-type': 'application/json' }, body: TEXT },
  bytes: { headers: { 'content-type': 'application/json' }, body: Buffer.from(TEXT) },
  untyped: { body: 'été' },
  untypedBytes: { body: Buffer.from('été') },
  none: { status: 204, headers: { vary: 'Accept, Origin' } },
  created: { status: 201, headers: { location: '/things/1' }, body: { id: 1 } },
  null: { body: null },
};
const late = Promise.withResolvers<void>();
let ended = 0;
const origin = await serveTestRoutes({ config: { requestTimeoutMs: 100 } }, (app) => {
  const { route } = createRouter(app, { family: 'recommendations' });
  const get = (name: string, handler: () => Answer | Promise<Answer>, known?: () => Answer) =>
    route({
      method: 'GET',
      url: `/api/${name}`,
      operationId: name,
      summary: 'For this test',
      responses: {},
      cors: true,
      handler,
      ...(known && { known }),
    });
  for (const [name, answer] of Object.entries(ANSWERS)) {
    get(`now/${name}`, () => answer);
    get(`later/${name}`, async () => answer);
    get(
      `known/${name}`,
      () => assert.fail('a known answer needs no handler'),
      () => answer,
    );
  }
  const refused = () => {
    throw apiError('notFound', 'There is no such thing.');
  };
  get('now/refused', refused);
  get('known/refused', () => assert.fail('what the look for a known answer throws is the answer'), refused);
  get('late', async () => {
    await late.promise;
    ended++;
    return { body: {} };
  });
});

/** All but the time and the connection. */
async function look(path: string, init: RequestInit = {}) {
  const answer = await fetch(origin + path, init);
  const headers = Object.fromEntries(
    [...answer.headers].filter(([name]) => !['date', 'connection', 'keep-alive'].includes(name)),
  );
  return { status: answer.status, headers, text: await answer.text() };
}

test('an answer looks the same whether it was known, given at once or later', async () => {
  for (const name of Object.keys(ANSWERS)) {
    const now = await look(`/api/now/${name}`);
    assert.deepEqual(await look(`/api/later/${name}`), now, name);
    assert.deepEqual(await look(`/api/known/${name}`), now, name);
    assert.equal(now.headers['x-content-type-options'], 'nosniff', name);
    assert.equal(now.headers['access-control-allow-origin'], '*', name);
  }
});

test('type and length are those of the answer', async () => {
  const table: [string, number, string | undefined, string][] = [
    ['object', 200, 'application/json; charset=utf-8', '{"name":"été"}'],
    ['text', 200, 'application/json', TEXT],
    ['bytes', 200, 'application/json', TEXT],
    ['untyped', 200, 'text/plain; charset=utf-8', 'été'],
    ['untypedBytes', 200, 'application/octet-stream', 'été'],
    ['none', 204, undefined, ''],
    ['created', 201, 'application/json; charset=utf-8', '{"id":1}'],
    ['null', 200, 'application/json; charset=utf-8', 'null'],
  ];
  for (const [name, status, type, text] of table) {
    const answer = await look(`/api/now/${name}`);
    assert.deepEqual(
      [answer.status, answer.headers['content-type'], answer.text],
      [status, type, text],
      name,
    );
    const length = text === '' ? undefined : String(Buffer.byteLength(text));
    assert.equal(answer.headers['content-length'], length, name);
  }
  assert.equal((await look('/api/now/created')).headers.location, '/things/1');
});

test('HEAD is answered with the headers of GET', async () => {
  for (const name of Object.keys(ANSWERS).filter((name) => name !== 'none'))
    for (const way of ['now', 'later', 'known']) {
      const { status, headers } = await look(`/api/${way}/${name}`);
      assert.deepEqual(
        await look(`/api/${way}/${name}`, { method: 'HEAD' }),
        { status, headers, text: '' },
        name,
      );
    }
});

test('the headers of an answer stand above those that every answer has, whoever asks', async () => {
  const { headers } = await look('/api/now/none', { headers: { origin: 'https://shop.example' } });
  assert.equal(headers.vary, 'Accept, Origin');
  assert.equal(headers['access-control-allow-origin'], 'https://shop.example');
  assert.equal((await look('/api/now/object')).headers.vary, 'Origin');
});

test('what a handler throws before it waits is an answer too', async () => {
  for (const way of ['now', 'known']) {
    const { status, text, headers } = await look(`/api/${way}/refused`);
    assert.deepEqual([status, JSON.parse(text)], [404, { message: 'There is no such thing.' }], way);
    assert.equal(headers['access-control-allow-origin'], '*', way);
  }
});

test('an answer that comes after the deadline is dropped, and the next request gets its own', async () => {
  assert.equal((await look('/api/late')).status, 408);
  late.resolve();
  assert.equal((await look('/api/now/object')).status, 200);
  assert.equal(ended, 1, 'the handler has ended meanwhile');
});
