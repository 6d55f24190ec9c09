/** What the routes of all families refuse beyond their schemas: parameters that nobody knows, methods that no route has. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { createRouter } from '../kernel/http/routes.ts';
import { serveTestRoutes, startTestServer } from '../testing/server.ts';

test('unknown parameters are refused and named where callers prove who they are, and nowhere else', async () => {
  const origin = await serveTestRoutes({}, (app) => {
    const common = { method: 'POST' as const, summary: 'For this test', responses: {} };
    const query = Type.Object({ dryRun: Type.Boolean({ default: false }) });
    for (const [base, options] of Object.entries({
      '/public': {},
      '/protected': { authenticate: async () => ({ credential: 'for this test' }) },
    })) {
      const { route } = createRouter(app, { family: 'webhooks', ...options });
      const answer = async ({ query }: { query?: unknown }) => ({ body: { query } });
      route({
        ...common,
        url: `/api/webhooks${base}/run`,
        operationId: `run${base}`,
        query,
        handler: answer,
      });
      route({ ...common, url: `/api/webhooks${base}/poke`, operationId: `poke${base}`, handler: answer });
    }
  });
  const table: [path: string, errors: object | null][] = [
    ['/public/run?dryrun=true', null],
    ['/public/poke?utm_source=x', null],
    ['/protected/run', null],
    ['/protected/run?dryRun=true', null],
    ['/protected/poke', null],
    ['/protected/run?dryrun=true', { dryrun: ['is not a known parameter, but dryRun is'] }],
    [
      '/protected/run?dryRun=maybe&dry=1&constructor=1',
      {
        dryRun: ['must be a boolean'],
        dry: ['is not a known parameter'],
        constructor: ['is not a known parameter'],
      },
    ],
    ['/protected/run?dryRun=true&dryRun=false', { dryRun: ['must be a boolean'] }],
    ['/protected/poke?x', { x: ['is not a known parameter'] }],
  ];
  for (const [path, errors] of table) {
    const answer = await fetch(`${origin}/api/webhooks${path}`, { method: 'POST' });
    assert.equal(answer.status, errors === null ? 200 : 400, path);
    const body = (await answer.json()) as { errors?: object };
    if (errors !== null) assert.deepEqual(body.errors, errors, path);
  }
});

test('what is wrong in the address and in the body of one request is reported together', async () => {
  const origin = await serveTestRoutes({}, (app) => {
    const { route } = createRouter(app, { family: 'webhooks' });
    const common = {
      method: 'POST' as const,
      summary: 'For this test',
      params: Type.Object({ number: Type.Integer() }),
      query: Type.Object({ dryRun: Type.Boolean({ default: false }) }),
      body: Type.Object({ from: Type.Integer() }),
      responses: {},
      handler: async () => ({ body: {} }),
    };
    route({ ...common, url: '/api/webhooks/plain/:number', operationId: 'plain' });
    const rules = (body: unknown) =>
      (body as { from?: unknown }).from === 7 ? [{ member: 'from', message: 'must not be 7' }] : [];
    route({ ...common, url: '/api/webhooks/ruled/:number', operationId: 'ruled', rules });
  });
  const table: [path: string, body: object, members: string[]][] = [
    ['/plain/1?dryRun=true', { from: 7 }, []],
    ['/plain/1?dryRun=maybe', {}, ['dryRun', 'from']],
    ['/plain/x?dryRun=maybe', { from: 'x' }, ['dryRun', 'from', 'number']],
    ['/plain/x', { from: 7 }, ['number']],
    ['/ruled/1?dryRun=maybe', {}, ['dryRun', 'from']],
    ['/ruled/1?dryRun=maybe', { from: 7 }, ['dryRun', 'from']],
    ['/ruled/x', { from: 7 }, ['from', 'number']],
  ];
  for (const [path, body, members] of table) {
    const answer = await fetch(`${origin}/api/webhooks${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const { errors = {} } = (await answer.json()) as { errors?: object };
    assert.deepEqual(Object.keys(errors).sort(), members, `${path} ${JSON.stringify(body)}`);
  }
});

test('an address that a pattern answers too is refused only what neither knows', async () => {
  const origin = await serveTestRoutes({}, (app) => {
    const { route } = createRouter(app, { family: 'platform' });
    const common = { summary: 'For this test', responses: {}, handler: async () => ({ body: {} }) };
    route({ ...common, method: 'GET', url: '/v2/content/:name', operationId: 'get' });
    route({ ...common, method: 'POST', url: '/v2/content/email', operationId: 'create' });
  });
  assert.equal((await fetch(`${origin}/v2/content/email`)).status, 200);
  const refused = await fetch(`${origin}/v2/content/email`, { method: 'DELETE' });
  assert.equal(refused.status, 405);
  assert.deepEqual(refused.headers.get('allow')?.split(', ').sort(), ['GET', 'HEAD', 'POST']);
});

test('a body that is not UTF-8 is refused, and not read with other letters in place of those that it has', async () => {
  const server = await startTestServer({ config: { roles: ['api'] } });
  const latin1 = Buffer.from('{"name": "Andr\u00e9"}', 'latin1');
  const table: [path: string, type: string, body: Buffer][] = [
    ['/oauth/token', 'application/json', latin1],
    ['/frontend/api/track', 'application/json', latin1],
    ['/signals/v1', 'application/json', latin1],
    ['/signals/v1', 'text/plain', latin1],
  ];
  for (const [path, type, body] of table) {
    const answer = await fetch(server.origin + path, {
      method: 'POST',
      headers: { 'content-type': type },
      body,
    });
    assert.equal(answer.status, 400, path);
    assert.match(await answer.text(), /The body is not text in UTF-8\./, `${path} ${type}`);
  }
});

test('a body that is no JSON, or has a member twice, is refused in the same words wherever JSON is read', async () => {
  const server = await startTestServer({ config: { roles: ['api'] } });
  const paths: [path: string, type: string][] = [
    ['/oauth/token', 'application/json'],
    [`/v2/organizations/${server.organization}/universes`, 'application/json'],
    ['/frontend/api/track', 'application/json'],
    ['/frontend/api/interactions', 'application/json'],
    ['/frontend/api/interactions', 'text/plain'],
    ['/signals/v1', 'application/json'],
    ['/signals/v1', 'text/plain'],
    ['/signals/v1/browse', 'application/json'],
  ];
  const table: [body: string, says: RegExp][] = [
    ['{"a": [1, 2', /The body is not JSON: unexpected end at position 11\./],
    ['\ufeff{"a": [1, b]}', /The body is not JSON: unexpected character at position 10\./],
    ['{"a": {"b": 1, "c": 2, "b": 3}}', /\ba\.b\b.*must not be given more than once/],
  ];
  for (const [path, type] of paths) {
    for (const [body, says] of table) {
      const answer = await fetch(server.origin + path, {
        method: 'POST',
        headers: { 'content-type': type, 'x-apikey': server.apiKey },
        body,
      });
      assert.equal(answer.status, 400, `${path} ${body}`);
      assert.match(await answer.text(), says, `${path} ${type}`);
    }
  }
});
