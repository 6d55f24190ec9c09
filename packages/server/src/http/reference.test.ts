/** What people and tools read about the APIs: `/docs` and the OpenAPI documents, as they are sent. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { startTestServer } from '../testing/server.ts';

const server = await startTestServer({ config: { roles: ['api'] } });

/** Plain HTTP: `fetch` would unpack, and ask for encodings of its own. */
async function get(path: string, headers: Record<string, string> = {}, method = 'GET') {
  const asked = request(server.origin + path, { method, headers }).end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  return { status: answer.statusCode, headers: answer.headers, body: await buffer(answer) };
}

const PATHS: [path: string, type: string][] = [
  ['/docs', 'text/html; charset=utf-8'],
  ['/docs/reference.js', 'text/javascript; charset=utf-8'],
  ['/openapi.json', 'application/json; charset=utf-8'],
  ['/openapi.yaml', 'application/yaml'],
  ['/openapi/webhooks.json', 'application/json; charset=utf-8'],
];
const ENCODINGS: [accepted: string, encoding: string | undefined, unpack: (body: Buffer) => Buffer][] = [
  ['gzip, deflate, br, zstd', 'br', (body) => brotliDecompressSync(body)],
  ['gzip', 'gzip', (body) => gunzipSync(body)],
  ['identity', undefined, (body) => body],
];

for (const [path, type] of PATHS) {
  test(`${path} is sent in the encoding that the client takes, and only when it changed`, async () => {
    const plain = await get(path);
    assert.deepEqual([plain.status, plain.headers['content-type']], [200, type]);
    const tags = new Set<string>();
    for (const [accepted, encoding, unpack] of ENCODINGS) {
      const headers = { 'accept-encoding': accepted };
      const answer = await get(path, headers);
      assert.deepEqual([answer.status, answer.headers['content-type']], [200, type], accepted);
      assert.equal(answer.headers['content-encoding'], encoding, accepted);
      assert.equal(answer.headers.vary, 'Accept-Encoding', accepted);
      assert.ok(unpack(answer.body).equals(plain.body), accepted);
      if (encoding !== undefined) assert.ok(answer.body.length < plain.body.length, accepted);
      const etag = answer.headers.etag!;
      assert.match(etag, /^"[^"]+"$/, 'a strong tag');
      tags.add(etag);

      const again = await get(path, { ...headers, 'if-none-match': `"x", ${etag}` });
      assert.deepEqual([again.status, again.body.length, again.headers.etag], [304, 0, etag], accepted);
      assert.equal(again.headers.vary, 'Accept-Encoding', accepted);
      assert.equal(again.headers['content-encoding'], undefined, accepted);
      assert.equal((await get(path, { ...headers, 'if-none-match': '"x"' })).status, 200, accepted);
      const head = await get(path, headers, 'HEAD');
      assert.deepEqual([head.status, head.body.length, head.headers.etag], [200, 0, etag], accepted);
    }
    assert.equal(tags.size, ENCODINGS.length, 'each representation has its own tag');
  });
}

test('a page of any origin that has a document already is told so', async () => {
  const { headers } = await get('/openapi.json');
  const again = await get('/openapi.json', {
    origin: 'https://tools.example',
    'if-none-match': headers.etag!,
  });
  assert.deepEqual([again.status, again.headers['access-control-allow-origin']], [304, '*']);
});
