import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { createRouter } from '../kernel/http/routes.ts';
import { serveTestRoutes } from '../testing/server.ts';

test('what only time can mend is 503 with the time to wait, whatever the database calls it', async () => {
  const codes = [
    '08006',
    '53100',
    '53300',
    '57P01',
    '57P02',
    '57P03',
    '25006',
    '25P03',
    '40P01',
    '55P03',
    '57014',
    '58030',
    'ECONNREFUSED',
    'ECONNRESET',
    'EPIPE',
    'ETIMEDOUT',
    'EHOSTUNREACH',
    'ENOTFOUND',
    'EAI_AGAIN',
    'CONNECT_TIMEOUT',
    'CONNECTION_CLOSED',
    'CONNECTION_DESTROYED',
  ];
  const origin = await serveTestRoutes({}, (app) => {
    createRouter(app, { family: 'platform' }).route({
      method: 'GET',
      url: '/v2/fail/:code',
      operationId: 'fail',
      summary: 'For this test',
      params: Type.Object({ code: Type.String() }),
      responses: {},
      handler: async ({ params }) => {
        throw Object.assign(new Error('could not'), { code: params.code });
      },
    });
  });
  for (const code of codes) {
    const answer = await fetch(`${origin}/v2/fail/${code}`);
    assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '1'], code);
  }
  assert.equal((await fetch(`${origin}/v2/fail/42P01`)).status, 500);
});
