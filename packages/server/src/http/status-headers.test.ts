/** Headers that a status demands of every API (RFC 9110): the challenge of a 401, the end of a connection after a 408. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import Type from 'typebox';
import { createRouter } from '../kernel/http/routes.ts';
import { atEnd } from '../testing/at-end.ts';
import { describedOperations } from '../testing/operations.ts';
import { serveTestRoutes, startTestServer } from '../testing/server.ts';

test('every 401 carries a challenge', async () => {
  const server = await startTestServer({ config: { roles: ['api'] } });
  const { id: universeId } = await server.modules.site.createUniverse(server.tenant, {
    name: 'site',
    domain: 'shop.example',
  });
  const ask = async (path: string, { method = 'POST', ...init }: RequestInit = {}) => {
    const answer = await fetch(server.origin + path, { method, ...init });
    await answer.arrayBuffer();
    return [answer.status, answer.headers.get('www-authenticate')?.split(' ')[0]];
  };
  const SCHEMES = { oauth: 'Bearer', apiKey: 'ApiKey', sdkKey: 'ApiKey' };
  for (const { operationId, method, path, scheme, body } of await describedOperations(server.origin)) {
    if (scheme === undefined) continue;
    const json = body && { headers: { 'content-type': body.type }, body: '{"events":[]}' };
    const address = path.replace(/\{\w+\}/g, 'x');
    assert.deepEqual(await ask(address, { method, ...json }), [401, SCHEMES[scheme]], operationId);
  }
  const stranger = { 'content-type': 'application/json', origin: 'https://stranger.example' };
  const person = JSON.stringify({ universeId, customIdentifier: 'somebody' });
  assert.deepEqual(await ask('/frontend/api/track', { headers: stranger, body: person }), [401, 'ApiKey']);
  const wrong = new URLSearchParams({ grant_type: 'client_credentials', client_id: 'x', client_secret: 'x' });
  assert.deepEqual(await ask('/oauth/token', { body: wrong }), [401, 'Basic']);
});

test('a 408 closes its connection, whether the body or the answer is late', async () => {
  const patience = Promise.withResolvers<void>();
  atEnd(() => patience.resolve());
  const origin = await serveTestRoutes({ config: { requestTimeoutMs: 100 } }, (app) => {
    const { route } = createRouter(app, { family: 'platform' });
    const handler = () => patience.promise.then(() => ({ body: {} }));
    const common = { url: '/v2/slow', summary: 'For this test', responses: {}, handler };
    route({ ...common, method: 'GET', operationId: 'getSlow' });
    route({ ...common, method: 'POST', operationId: 'postSlow', body: Type.Object({}) });
  });
  const { hostname, port } = new URL(origin);
  const requests = {
    'the answer': 'GET /v2/slow HTTP/1.1\r\nhost: x\r\n\r\n',
    'the body':
      'POST /v2/slow HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{',
  };
  for (const [late, request] of Object.entries(requests)) {
    const socket = connect(Number(port), hostname);
    socket.write(request);
    // Ends only when the server closes.
    const answer = await text(socket);
    assert.match(answer, /^HTTP\/1\.1 408 /, late);
    assert.match(answer, /\r\nconnection: close\r\n/i, late);
    assert.ok(answer.includes('ERR_TIMEOUT'), late);
  }
});
