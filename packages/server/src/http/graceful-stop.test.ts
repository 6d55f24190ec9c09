/** A stopping server takes nothing new and drops nothing that it accepted. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import Fastify from 'fastify';
import { startListening } from '../kernel/http/listener.ts';
import { createTestDatabaseUrl } from '../testing/database.ts';
import { createHome, serve } from '../testing/signalbox.ts';
import { until } from '../testing/wait.ts';

const body = JSON.stringify({
  grant_type: 'client_credentials',
  client_id: 'a',
  client_secret: 'b',
  audience: 'c',
  account_id: 'd',
});
/** The server says `100 Continue` once it has read this much. */
const head = `POST /oauth/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`;

/** A connection on which a request can be sent piece by piece. */
async function dial(port: number, host = '127.0.0.1') {
  const socket = connect(port, host);
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await once(socket, 'connect');
  socket.on('error', () => undefined); // a connection that no one took before the close is reset
  return { send: (part: string) => socket.write(part), answer: () => text, closed };
}

const refuses = (port: number, host = '127.0.0.1') =>
  dial(port, host).then(
    () => false,
    (error) => error.code === 'ECONNREFUSED',
  );

for (const workers of ['1', '2']) {
  test(`requests in flight at SIGTERM are answered, with --workers ${workers}`, async () => {
    const server = await serve(['--workers', workers, '--host', '127.0.0.1'], {
      DATABASE_URL: await createTestDatabaseUrl(),
      SIGNALBOX_SECRET: 's'.repeat(32),
      SIGNALBOX_HOME: await createHome(),
    });
    const port = Number(new URL(server.origin).port);
    const half = await Promise.all(Array.from({ length: 8 }, () => dial(port)));
    const idle = await dial(port);
    const kept = await dial(port);
    kept.send('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => kept.answer().includes('{"status":"ok"}'));
    for (const request of half) request.send(head + body.slice(0, 20));
    await until(() => half.every((request) => request.answer().includes('100 Continue')));

    const ended = server.end('SIGTERM');
    await until(() => refuses(port), { what: 'no new connections' });
    await Promise.all([idle.closed, kept.closed]);
    assert.equal(server.child.exitCode, null, 'it waits for what is in flight');
    for (const request of half) request.send(body.slice(20));
    await Promise.all(half.map((request) => request.closed));
    for (const request of half)
      assert.match(request.answer(), /\r\n\r\nHTTP\/1\.1 401 .*"error":"invalid_client"/s);
    assert.equal(await ended, 0);
    assert.equal(server.lines().at(-1)?.msg, 'stopped');
  });
}

test('all addresses of a host are served, and a close waits for the requests of each', async () => {
  const fastify = Fastify();
  const work = Promise.withResolvers<string>();
  let inFlight = 0;
  fastify.get('/', async () => {
    inFlight++;
    return work.promise;
  });
  const addresses = ['127.0.0.1', '127.0.0.2', '203.0.113.1'];
  const listener = await startListening(fastify, { host: 'localhost', port: 0 }, async () => addresses);
  const { port } = new URL(listener.address);
  const answers = ['127.0.0.1', '127.0.0.2'].map((host) => fetch(`http://${host}:${port}/`));
  await until(() => inFlight === 2);
  let closed = false;
  const closing = listener.close(60_000).then(() => {
    closed = true;
  });
  for (const host of ['127.0.0.1', '127.0.0.2']) await until(() => refuses(Number(port), host));
  assert.equal(closed, false);
  work.resolve('done');
  for (const answer of answers) assert.equal(await (await answer).text(), 'done');
  await closing;
});

test('a request that is on its way when the server stops is answered, as the last one of its connection', async () => {
  const fastify = Fastify();
  fastify.get('/', async () => 'done');
  const listener = await startListening(fastify, { host: '127.0.0.1', port: 0 });
  const port = Number(new URL(listener.address).port);
  const busy = await dial(port);
  busy.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await until(() => busy.answer().endsWith('done'));
  assert.match(busy.answer(), /\r\nConnection: keep-alive\r\n/i);
  const closed = listener.close(60_000);
  busy.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await Promise.all([closed, busy.closed]);
  assert.match(busy.answer(), /done.*\r\nConnection: close\r\n.*done$/is);
});

test('a request that does not end is cut at the deadline', async () => {
  const fastify = Fastify();
  let arrived = false;
  fastify.get('/', () => {
    arrived = true;
    return new Promise(() => undefined);
  });
  const listener = await startListening(fastify, { host: '127.0.0.1', port: 0 });
  const request = await dial(Number(new URL(listener.address).port));
  request.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await until(() => arrived);
  await Promise.all([listener.close(50), request.closed]);
  assert.equal(request.answer(), '');
});
