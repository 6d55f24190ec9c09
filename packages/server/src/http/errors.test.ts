/** What every API family answers to requests that it cannot take (D3, D5, D6, D23, D32, D36). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import Type from 'typebox';
import { createRouter } from '../kernel/http/routes.ts';
import { createTestDatabase } from '../testing/database.ts';
import { serveTestRoutes } from '../testing/server.ts';

const FAMILIES = [
  { family: 'auth', base: '/oauth' },
  { family: 'webhooks', base: '/api/webhooks/v1/admin' },
  { family: 'delivery', base: '/email/v1' },
  { family: 'delivery', base: '/api/email/v1' },
  { family: 'platform', base: '/v2/organizations/acme' },
  { family: 'signals', base: '/signals/v1' },
  { family: 'site', base: '/frontend/api' },
  { family: 'recommendations', base: '/api' },
  { family: 'system', base: '' },
] as const;

const Thing = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 20 }),
    count: Type.Integer({ minimum: 0 }),
    kind: Type.Optional(Type.Union([Type.Literal('red'), Type.Literal('green')])),
    parts: Type.Optional(Type.Array(Type.Object({ weight: Type.Number() }, { additionalProperties: false }))),
  },
  { additionalProperties: false },
);

interface Expected {
  status: number;
  /** Members that the answer must name. */
  members?: string[];
  /** The answer is about a body that is not even JSON. */
  unparsable?: boolean;
  /** What a person is told. */
  says?: string;
}

const keysOf = (body: unknown) => Object.keys(body as object).sort();
const names = (list: string[], member: string) => list.some((text) => text.includes(member));

/** The documented shape of each family, written down apart from the code that makes it. */
const SHAPES: Record<(typeof FAMILIES)[number]['family'], (body: never, expected: Expected) => void> = {
  auth(body: { error: string; error_description: string }, { status, members = [] }) {
    assert.deepEqual(keysOf(body), ['error', 'error_description']);
    assert.equal(body.error, status >= 500 ? 'server_error' : 'invalid_request');
    for (const member of members) assert.ok(body.error_description.includes(member), `${member} is named`);
  },
  webhooks: problem,
  delivery: problem,
  platform(
    body: { result_code: string; message: string; errors: { error_code: string; description: string }[] },
    { status, members = [], unparsable },
  ) {
    const codes: Record<number, string> = {
      400: unparsable ? 'ProtocolError' : 'ValidationFailed',
      404: 'NotFound',
      413: 'RequestEntityTooLarge',
      500: 'InternalServerError',
    };
    assert.deepEqual(keysOf(body), ['errors', 'message', 'result_code']);
    assert.equal(body.result_code, codes[status] ?? 'Failed');
    assert.equal(typeof body.message, 'string');
    assert.ok(body.errors.length >= Math.max(members.length, 1));
    for (const error of body.errors) {
      assert.deepEqual(keysOf(error), ['description', 'error_code']);
      assert.match(error.error_code, /^ERR_[A-Z_]+$/);
    }
    const descriptions = body.errors.map(({ description }) => description);
    for (const member of members) assert.ok(names(descriptions, member), `${member} is named`);
  },
  signals(
    body: { error: { code: string; message: string; details: { path: string }[] } },
    { status, members = [] },
  ) {
    const codes: Record<number, string> = { 413: 'tooLarge', 500: 'server' };
    assert.deepEqual(keysOf(body), ['error']);
    assert.deepEqual(keysOf(body.error), ['code', 'details', 'message']);
    assert.equal(body.error.code, codes[status] ?? 'validation');
    const paths = body.error.details.map(({ path }) => path);
    for (const member of members) assert.ok(paths.includes(member), `${member} is among ${paths}`);
  },
  site: message,
  recommendations: message,
  system: message,
};

function problem(
  body: { type: string; title: string; status: number; traceId: string; errors?: Record<string, string[]> },
  { status, members = [] }: Expected,
): void {
  assert.deepEqual(keysOf(body), [
    ...(status === 400 ? ['errors'] : []),
    'status',
    'title',
    'traceId',
    'type',
  ]);
  assert.match(body.type, /^http:\/\/127\.0\.0\.1:\d+\/errors\/\w+$/);
  assert.equal(body.status, status);
  assert.match(body.traceId, /^[0-9a-f]{32}$/);
  for (const member of members)
    assert.ok(
      body.errors?.[member]?.every((text) => text.length > 0),
      `${member} is named`,
    );
}

function message(body: { message: string }, { members = [] }: Expected): void {
  assert.deepEqual(keysOf(body), ['message']);
  for (const member of members) assert.ok(body.message.includes(member), `${member} is named`);
}

const db = await createTestDatabase({ connections: 2 });
const origin = await serveTestRoutes({}, (app) => {
  for (const { family, base } of FAMILIES) {
    const id = base.replaceAll('/', '-');
    const { route } = createRouter(app, { family });
    const params = Type.Object({ id: Type.String() });
    const answer = async ({ params: given, body }: { params?: { id: string }; body?: unknown }) => ({
      body: { ...given, body },
    });
    const common = { summary: 'For this test', responses: {} };
    route({
      ...common,
      method: 'GET',
      url: `${base}/things/:id`,
      operationId: `get${id}`,
      params,
      query: Type.Object({ take: Type.Optional(Type.Integer()) }),
      handler: async ({ params: given, query }) => ({ body: { ...given, ...query } }),
    });
    route({
      ...common,
      method: 'PUT',
      url: `${base}/things/:id`,
      operationId: `put${id}`,
      params,
      body: Thing,
      handler: answer,
    });
    route({
      ...common,
      method: 'POST',
      url: `${base}/poke`,
      operationId: `poke${id}`,
      handler: async () => ({ body: { poked: true } }),
    });
    route({
      ...common,
      method: 'POST',
      url: `${base}/fail`,
      operationId: `fail${id}`,
      handler: async () => ({ body: await db.sql`select secret_column from oauth_clients` }),
    });
  }
});

interface Case extends Partial<Expected> {
  name: string;
  method?: string;
  path?: string;
  type?: string | null;
  encoding?: string;
  body?: string | Uint8Array<ArrayBuffer>;
}

const json = JSON.stringify;
const good = json({ name: 'bolt', count: 3 });
const long = 'QUJD'.repeat(2048);

const REFUSED: (Case & Expected)[] = [
  {
    name: 'wrong JSON',
    body: '{"name": "bolt",',
    status: 400,
    unparsable: true,
    says: 'The body is not JSON: unexpected end at position 16.',
  },
  {
    name: 'text that is no JSON',
    body: 'hello',
    status: 400,
    unparsable: true,
    says: 'The body is not JSON: unexpected character at position 0.',
  },
  {
    name: 'wrong JSON behind a byte order mark',
    body: '\ufeff{"name": bolt}',
    status: 400,
    unparsable: true,
    says: 'The body is not JSON: unexpected character at position 9.',
  },
  {
    name: 'members that come twice',
    body: '{"name":"a","count":1,"name":"b","parts":[{"weight":1},{"weight":1,"w\\u0065ight":2}]}',
    status: 400,
    members: ['name', 'parts[1].weight'],
  },
  {
    name: 'JSON that would change a prototype',
    body: '{"name":"a","count":1,"__proto__":{"x":1}}',
    status: 400,
    members: ['__proto__'],
  },
  {
    name: 'numbers that would be altered',
    body: '{"name":"a","count":12345678901234567890,"more":{"of":[1e400]}}',
    status: 400,
    members: ['count', 'more.of[0]'],
  },
  { name: 'a missing body', body: '', status: 400, members: ['body'] },
  { name: 'null for a body', body: 'null', status: 400, members: ['body'] },
  { name: 'an array for an object', body: '[]', status: 400, members: ['body'] },
  {
    name: 'a number as text, which is not coerced',
    body: json({ name: 'bolt', count: '3' }),
    status: 400,
    members: ['count'],
  },
  { name: 'a text as number', body: json({ name: 7, count: 3 }), status: 400, members: ['name'] },
  {
    name: 'an unknown member, which is not stripped',
    body: json({ name: 'bolt', count: 3, colour: 'red' }),
    status: 400,
    members: ['colour'],
  },
  {
    name: 'an unknown member that every object has',
    body: json({ name: 'bolt', count: 3, constructor: 1, toString: 2 }),
    status: 400,
    members: ['constructor', 'toString'],
  },
  {
    name: 'a value that is not among those possible',
    body: json({ name: 'bolt', count: 3, kind: 'blue' }),
    status: 400,
    members: ['kind'],
  },
  {
    name: 'several violations at once, all of which are named',
    body: json({ name: '', count: -1, colour: 1, parts: [{ weight: 1 }, { weight: 'x', y: 1 }] }),
    status: 400,
    members: ['name', 'count', 'colour', 'parts[1].weight', 'parts[1].y'],
  },
  {
    name: 'texts that cannot be stored, beside other violations',
    body: '{"name":"a\\u0000","count":-1,"kind":"\\ud800","parts":[{"weight":1,"x":["y\\udc00"]}],"z\\u0000":1}',
    status: 400,
    members: ['name', 'count', 'kind', 'parts[0].x[0]', 'z\0'],
  },
  { name: 'NUL in a path', method: 'GET', path: '/things/a%00b', status: 400, members: ['id'] },
  { name: 'NUL in a query', method: 'GET', path: '/things/1?search=%00', status: 400, members: ['search'] },
  { name: 'a body over 1 MiB', body: json({ name: 'x'.repeat(1 << 20), count: 1 }), status: 413 },
  {
    name: 'another content type',
    type: 'application/xml',
    body: '<a/>',
    status: 415,
    says: 'Content-Type must be application/json, not application/xml.',
  },
  {
    name: 'form encoding where JSON is expected',
    type: 'application/x-www-form-urlencoded',
    body: 'name=bolt&count=3',
    status: 415,
  },
  { name: 'a content type that only begins like JSON', type: 'application/jsonp', body: good, status: 415 },
  {
    name: 'a body without a content type',
    type: null,
    body: new TextEncoder().encode(good),
    status: 415,
    says: 'Content-Type must be application/json; it is missing.',
  },
  {
    name: 'a packed body',
    encoding: 'gzip',
    body: new Uint8Array(gzipSync(good)),
    status: 415,
    says: 'Content-Encoding must be identity, not gzip.',
  },
  {
    name: 'a query parameter of the wrong type',
    method: 'GET',
    path: '/things/1?take=many',
    status: 400,
    members: ['take'],
  },
  { name: 'an unknown route', method: 'GET', path: '/nothing/here', status: 404 },
  { name: 'an unknown route and a rare method', method: 'MKCOL', path: '/nothing/here', status: 404 },
  { name: 'bad percent-encoding', method: 'GET', path: '/things/%zz', status: 400 },
  { name: 'a failing statement', method: 'POST', path: '/fail', status: 500 },
];

const send = (
  { method = 'PUT', path = '/things/1', type = 'application/json', encoding = 'identity', body }: Case,
  base: string,
) =>
  fetch(origin + base + path, {
    method,
    body: method === 'GET' ? undefined : body,
    headers: type === null || method === 'GET' ? {} : { 'content-type': type, 'content-encoding': encoding },
  });

for (const { family, base } of FAMILIES) {
  test(`${base || 'unknown paths'}: what cannot be taken is answered with the documented status and shape`, async () => {
    for (const refused of REFUSED) {
      const answer = await send(refused, base);
      const text = await answer.text();
      const where = `${refused.name}: ${answer.status} ${text.slice(0, 300)}`;
      assert.equal(answer.status, refused.status, where);
      assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8', where);
      assert.equal(answer.headers.get('x-content-type-options'), 'nosniff', where);
      assert.doesNotMatch(
        text,
        /\bat .*\.[jt]s\b|node_modules|select |secret_column|FST_|PostgresError/i,
        where,
      );
      assert.doesNotThrow(() => SHAPES[family](JSON.parse(text) as never, refused), where);
      assert.ok(text.includes(refused.says ?? ''), where);
    }
  });

  test(`${base || 'unknown paths'}: the wrong method is 405 and names the right ones`, async () => {
    const table: [method: string, path: string, allow: string[]][] = [
      ['DELETE', '/things/1', ['GET', 'HEAD', 'PUT']],
      ['POST', '/things/1', ['GET', 'HEAD', 'PUT']],
      ['PATCH', '/things/1', ['GET', 'HEAD', 'PUT']],
      ['OPTIONS', '/things/1', ['GET', 'HEAD', 'PUT']],
      ['GET', '/poke', ['POST']],
      ['HEAD', '/poke', ['POST']],
      ['PROPFIND', '/poke', ['POST']],
      ['PROPFIND', '/things/1', ['GET', 'HEAD', 'PUT']],
      ['MKCOL', '/things/1', ['GET', 'HEAD', 'PUT']],
      ['QUERY', '/things/1', ['GET', 'HEAD', 'PUT']],
    ];
    for (const [method, path, allow] of table) {
      const answer = await fetch(origin + base + path, { method });
      assert.equal(answer.status, 405, `${method} ${path}`);
      assert.deepEqual(answer.headers.get('allow')?.split(', ').sort(), allow, `${method} ${path}`);
      const text = await answer.text();
      if (method !== 'HEAD') SHAPES[family](JSON.parse(text) as never, { status: 405 });
    }
  });

  test(`${base || 'unknown paths'}: what can be taken is taken as it is`, async () => {
    const table: (Case & { answer: unknown })[] = [
      { name: 'a good body', body: good, answer: { id: '1', body: { name: 'bolt', count: 3 } } },
      {
        name: 'a content type with a charset',
        type: 'application/json; charset=utf-8',
        body: good,
        answer: { id: '1', body: { name: 'bolt', count: 3 } },
      },
      {
        name: 'a query parameter, coerced by its schema',
        method: 'GET',
        path: '/things/1?take=5',
        answer: { id: '1', take: 5 },
      },
      { name: 'a path parameter of 8 kB', method: 'GET', path: `/things/${long}`, answer: { id: long } },
      {
        name: 'a path parameter with an escaped slash',
        method: 'GET',
        path: '/things/a%2Fb',
        answer: { id: 'a/b' },
      },
      {
        name: 'a JSON content type without a body where none is needed',
        method: 'POST',
        path: '/poke',
        body: '',
        answer: { poked: true },
      },
      {
        name: 'no content type where no body is needed',
        method: 'POST',
        path: '/poke',
        type: null,
        answer: { poked: true },
      },
    ];
    for (const taken of table) {
      const answer = await send(taken, base);
      assert.equal(answer.status, 200, taken.name);
      assert.deepEqual(await answer.json(), taken.answer, taken.name);
    }
    const head = await fetch(`${origin}${base}/things/1`, { method: 'HEAD' });
    assert.deepEqual([head.status, await head.text(), head.headers.get('content-length')], [200, '', '10']);
  });

  test(`${base || 'unknown paths'}: a trailing slash ${family === 'recommendations' ? 'is another address' : 'is tolerated'}`, async () => {
    for (const path of ['/things/1/', '/things/1/?take=5']) {
      const answer = await fetch(origin + base + path);
      assert.equal(answer.status, family === 'recommendations' ? 404 : 200, path);
    }
  });
}
