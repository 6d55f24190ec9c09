import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { request } from 'undici';
import { createAddressPolicy } from './address-policy.ts';
import { createEgress, type EgressOptions } from './agent.ts';
import { createSelfSignedCertificate } from './certificate.fixture.ts';

// 127.0.0.1 plays the public internet here, the rest of 127.0.0.0/8 the private one: the servers listen on all of it,
// so that a guard that let a private address through would be answered.
const policy = createAddressPolicy({ allowLoopback: false, allow: ['127.0.0.1/32'] });
const nothingAllowed = createAddressPolicy({ allowLoopback: false, allow: [] });

interface Target {
  port: number;
  /** The address that each connection was made to. */
  connections: string[];
  paths: string[];
}

async function listen(t: TestContext, server: Server, paths: string[] = []): Promise<Target> {
  const connections: string[] = [];
  server.on('connection', (socket: Socket) => connections.push(socket.localAddress ?? ''));
  server.on('request', (incoming) => paths.push(incoming.url ?? ''));
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, connections, paths };
}

const answerOk: RequestListener = (incoming, answer) => {
  answer.end(
    JSON.stringify({ host: incoming.headers.host, servername: (incoming.socket as TLSSocket).servername }),
  );
};

function egressFor(t: TestContext, options: Partial<EgressOptions> = {}) {
  const egress = createEgress({ policy, requireHttps: false, ...options });
  t.after(() => egress.dispatcher.destroy());
  return egress;
}

/** Answers with one list after the other, then with the last for ever, and notes what it was asked. */
function fakeResolver(...answers: (readonly string[])[]) {
  const asked: string[] = [];
  const resolver = async (hostname: string) => {
    asked.push(hostname);
    return (answers.length > 1 ? answers.shift() : answers[0]) ?? [];
  };
  return { resolver, asked };
}

async function readJson(answer: ReturnType<typeof request>): Promise<unknown> {
  return (await answer).body.json();
}

describe('createEgress', () => {
  test('a name that resolves to a permitted address is called there, under its own name', async (t) => {
    const target = await listen(t, createServer(answerOk));
    const { resolver, asked } = fakeResolver(['127.0.0.1']);
    const egress = egressFor(t, { resolver });
    const url = `http://hooks.example:${target.port}/`;
    assert.deepEqual(await readJson(egress.request(url)), { host: `hooks.example:${target.port}` });
    assert.deepEqual(asked, ['hooks.example']);
    assert.deepEqual(target.connections, ['127.0.0.1']);
  });

  test('IP literals in every spelling are refused before anything is sent, also when the URL was not checked', async (t) => {
    const target = await listen(t, createServer(answerOk));
    const { resolver, asked } = fakeResolver(['127.0.0.1']);
    const egress = egressFor(t, { policy: nothingAllowed, resolver });
    const hosts = [
      '127.0.0.1',
      '127.1',
      '2130706433',
      '0x7f000001',
      '0177.0.0.1',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '[::]',
      '0',
    ];
    for (const host of hosts) {
      const url = `http://${host}:${target.port}/`;
      await assert.rejects(request(url, { dispatcher: egress.dispatcher }), { code: 'EGRESS_REFUSED' }, host);
      await assert.rejects(egress.request(url), { code: 'EGRESS_REFUSED' }, host);
    }
    assert.deepEqual(target.connections, []);
    assert.deepEqual(asked, []);
  });

  test('a name that resolves to private addresses alone is refused, with the reason', async (t) => {
    const target = await listen(t, createServer(answerOk));
    for (const address of [
      '127.0.0.2',
      '10.0.0.1',
      '169.254.169.254',
      '::1',
      '::ffff:127.0.0.2',
      '64:ff9b::7f00:1',
    ]) {
      const egress = egressFor(t, fakeResolver([address, '127.0.0.3']));
      await assert.rejects(
        egress.request(`http://hooks.example:${target.port}/`),
        (error: Error & { reason: string }) =>
          error.name === 'EgressRefusedError' &&
          error.reason.startsWith(`hooks.example resolves to ${address}: ${address} is `),
      );
    }
    assert.deepEqual(target.connections, []);
  });

  test('of mixed answers only the permitted addresses are used', async (t) => {
    const target = await listen(t, createServer(answerOk));
    const egress = egressFor(t, fakeResolver(['127.0.0.2', '::1', '127.0.0.1', '10.0.0.1']));
    assert.equal((await egress.request(`http://hooks.example:${target.port}/`)).statusCode, 200);
    assert.deepEqual(target.connections, ['127.0.0.1']);
  });

  test('a name is resolved once for check and use, and anew for each new connection', async (t) => {
    const target = await listen(
      t,
      createServer((_, answer) => answer.setHeader('connection', 'close').end()),
    );
    const { resolver, asked } = fakeResolver(['127.0.0.1'], ['127.0.0.2'], ['127.0.0.1']);
    const egress = egressFor(t, { resolver });
    const url = `http://rebind.example:${target.port}/`;
    await (await egress.request(url)).body.dump();
    assert.equal(asked.length, 1);
    await assert.rejects(egress.request(url), { code: 'EGRESS_REFUSED' });
    assert.equal(asked.length, 2);
    await (await egress.request(url)).body.dump();
    assert.equal(asked.length, 3);
    assert.deepEqual(target.connections, ['127.0.0.1', '127.0.0.1']);
  });

  test('requests on a kept-alive connection resolve and connect nothing', async (t) => {
    const target = await listen(t, createServer(answerOk));
    const { resolver, asked } = fakeResolver(['127.0.0.1']);
    const egress = egressFor(t, { resolver, connections: 1 });
    for (let i = 0; i < 3; i++)
      await (await egress.request(`http://hooks.example:${target.port}/`)).body.dump();
    assert.equal(asked.length, 1);
    assert.equal(target.connections.length, 1);
  });

  test('connections are renewed in time, so that a name that moved is followed', async (t) => {
    const target = await listen(t, createServer(answerOk));
    const { resolver, asked } = fakeResolver(['127.0.0.1']);
    const egress = egressFor(t, { resolver, connections: 1, renewMs: 0 });
    for (let i = 0; i < 3; i++)
      await (await egress.request(`http://hooks.example:${target.port}/`)).body.dump();
    assert.equal(asked.length, 3);
    assert.equal(target.connections.length, 3);
    await egress.close();
  });

  test('a burst of new connections to one name asks the resolver once', async (t) => {
    const target = await listen(t, createServer(answerOk));
    const asked: string[] = [];
    const gate = Promise.withResolvers<void>();
    const resolver = async (hostname: string) => {
      asked.push(hostname);
      await gate.promise;
      return ['127.0.0.1'];
    };
    const egress = egressFor(t, { resolver, connections: 4 });
    const answers = Array.from({ length: 4 }, () => egress.request(`http://hooks.example:${target.port}/`));
    await new Promise(setImmediate);
    gate.resolve();
    for (const answer of await Promise.all(answers)) await answer.body.dump();
    assert.equal(asked.length, 1);
    assert.equal(target.connections.length, 4);
  });

  test('redirects are answers, not instructions', async (t) => {
    const redirect: RequestListener = (_, answer) => answer.writeHead(302, { location: '/elsewhere' }).end();
    const target = await listen(t, createServer(redirect));
    const egress = egressFor(t, fakeResolver(['127.0.0.1']));
    const answer = await egress.request(`http://hooks.example:${target.port}/here`);
    await answer.body.dump();
    assert.equal(answer.statusCode, 302);
    assert.deepEqual(target.paths, ['/here']);
  });

  test('development mode reaches localhost by any of its names, without asking a resolver', async (t) => {
    const target = await listen(t, createServer(answerOk));
    const { resolver, asked } = fakeResolver(['10.0.0.1']);
    const egress = egressFor(t, {
      resolver,
      policy: createAddressPolicy({ allowLoopback: true, allow: [] }),
    });
    for (const host of ['127.0.0.1', 'localhost', 'hooks.localhost', 'localhost.']) {
      assert.equal((await egress.request(`http://${host}:${target.port}/`)).statusCode, 200, host);
    }
    assert.deepEqual(asked, []);
    await assert.rejects(egress.request(`http://hooks.example:${target.port}/`), { code: 'EGRESS_REFUSED' });
  });

  test('production refuses http on every way in, and URLs that carry credentials', async (t) => {
    const target = await listen(t, createServer(answerOk));
    const egress = egressFor(t, { ...fakeResolver(['127.0.0.1']), requireHttps: true });
    const url = `http://hooks.example:${target.port}/`;
    await assert.rejects(egress.request(url), { code: 'EGRESS_REFUSED', reason: /https/ });
    await assert.rejects(request(url, { dispatcher: egress.dispatcher }), {
      code: 'EGRESS_REFUSED',
      reason: /https/,
    });
    await assert.rejects(egress.request('https://me:secret@hooks.example/'), {
      code: 'EGRESS_REFUSED',
      reason: /password/,
    });
    assert.deepEqual(target.connections, []);
  });

  test('a name without addresses is unresolved, with the cause', async (t) => {
    const cause = Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
    const failing = egressFor(t, { resolver: () => Promise.reject(cause) });
    await assert.rejects(failing.request('http://gone.example/'), {
      name: 'EgressUnresolvedError',
      code: 'EGRESS_UNRESOLVED',
      hostname: 'gone.example',
      cause,
    });
    const empty = egressFor(t, fakeResolver([]));
    await assert.rejects(empty.request('http://gone.example/'), { code: 'EGRESS_UNRESOLVED' });
  });

  test("the system's resolver is asked by default", async (t) => {
    const egress = egressFor(t);
    await assert.rejects(egress.request('http://gone.invalid/'), { code: 'EGRESS_UNRESOLVED' });
  });

  test('other errors come through untouched', async (t) => {
    const target = await listen(
      t,
      createServer((incoming) => incoming.socket.destroy()),
    );
    const egress = egressFor(t, fakeResolver(['127.0.0.1']));
    await assert.rejects(egress.request(`http://hooks.example:${target.port}/`), { code: 'UND_ERR_SOCKET' });
    await assert.rejects(egress.request('http://hooks.example:1/'), {
      code: 'ECONNREFUSED',
      address: '127.0.0.1',
    });
  });

  test('closing waits for requests in flight and refuses new ones', async (t) => {
    const arrived = Promise.withResolvers<() => void>();
    const target = await listen(
      t,
      createServer((_, answer) => arrived.resolve(() => answer.end('late'))),
    );
    const egress = egressFor(t, fakeResolver(['127.0.0.1']));
    const answer = egress.request(`http://hooks.example:${target.port}/`);
    const finish = await arrived.promise;
    const closed = egress.close();
    finish();
    assert.equal(await (await answer).body.text(), 'late');
    await closed;
    await assert.rejects(egress.request(`http://hooks.example:${target.port}/`), {
      code: 'UND_ERR_DESTROYED',
    });
  });

  test('a guard that was closed lets nothing out, also when its connections are due to be renewed', async (t) => {
    const target = await listen(t, createServer(answerOk));
    const egress = egressFor(t, { ...fakeResolver(['127.0.0.1']), renewMs: 0 });
    const url = `http://hooks.example:${target.port}/`;
    await (await egress.request(url)).body.dump();
    await egress.close();
    await assert.rejects(egress.request(url), { code: 'UND_ERR_DESTROYED' });
    assert.equal(target.connections.length, 1);
  });
});

describe('createEgress over TLS', () => {
  const certificate = createSelfSignedCertificate(['hooks.example']);

  test('a trusted certificate is checked against the name, which is sent as SNI', async (t) => {
    const target = await listen(t, createSecureServer(certificate, answerOk));
    const egress = egressFor(t, { ...fakeResolver(['127.0.0.1']), requireHttps: true, ca: certificate.cert });
    const host = `hooks.example:${target.port}`;
    assert.deepEqual(await readJson(egress.request(`https://${host}/`)), {
      host,
      servername: 'hooks.example',
    });
    await assert.rejects(egress.request(`https://other.example:${target.port}/`), {
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
    await assert.rejects(egress.request(`https://127.0.0.1:${target.port}/`), {
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
    assert.deepEqual(target.paths, ['/']);
  });

  test('a self-signed certificate is refused, even where the environment says not to check', async (t) => {
    const target = await listen(t, createSecureServer(certificate, answerOk));
    const egress = egressFor(t, fakeResolver(['127.0.0.1']));
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    t.after(() => {
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      if (before !== undefined) process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
    });
    await assert.rejects(egress.request(`https://hooks.example:${target.port}/`), {
      code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
    });
    assert.deepEqual(target.paths, []);
  });

  test('a private address is refused over https too', async (t) => {
    const target = await listen(t, createSecureServer(certificate, answerOk));
    const egress = egressFor(t, { ...fakeResolver(['127.0.0.2']), ca: certificate.cert });
    await assert.rejects(egress.request(`https://hooks.example:${target.port}/`), { code: 'EGRESS_REFUSED' });
    assert.deepEqual(target.connections, []);
  });
});

describe('the connect time-out', () => {
  test('covers a resolver that does not answer: the host has no address', async (t) => {
    const egress = egressFor(t, { resolver: () => new Promise(() => {}), connectTimeoutMs: 20 });
    await assert.rejects(egress.request('http://slow.example/'), (error: Error) => {
      assert.equal((error as Error & { code?: string }).code, 'EGRESS_UNRESOLVED');
      assert.equal((error.cause as { code: string }).code, 'UND_ERR_CONNECT_TIMEOUT');
      return true;
    });
  });

  test('covers a TLS handshake that is not answered, and hangs up', async (t) => {
    const hungUp = Promise.withResolvers<void>();
    const server = createTcpServer((socket) => socket.resume().once('close', () => hungUp.resolve())).listen(
      0,
      '127.0.0.1',
    );
    t.after(() => server.close());
    await once(server, 'listening');
    const egress = egressFor(t, { ...fakeResolver(['127.0.0.1']), connectTimeoutMs: 50 });
    const { port } = server.address() as AddressInfo;
    await assert.rejects(egress.request(`https://mute.example:${port}/`), {
      code: 'UND_ERR_CONNECT_TIMEOUT',
    });
    await hungUp.promise;
  });

  test('does not touch a connection that was made in time', async (t) => {
    const arrived = Promise.withResolvers<() => void>();
    const target = await listen(
      t,
      createServer((_, answer) => arrived.resolve(() => answer.end('slow but sure'))),
    );
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const egress = egressFor(t, { ...fakeResolver(['127.0.0.1']), connectTimeoutMs: 50 });
    const answer = egress.request(`http://hooks.example:${target.port}/`);
    const finish = await arrived.promise;
    t.mock.timers.tick(60);
    finish();
    assert.equal(await (await answer).body.text(), 'slow but sure');
  });
});

test('a call that is answered with hints without end is given up', async (t) => {
  const target = await listen(
    t,
    createServer(({ socket }) => {
      const flood = () => {
        while (!socket.destroyed && socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(100)));
      };
      socket.on('drain', flood);
      flood();
    }),
  );
  const { request } = egressFor(t);
  const address = `http://127.0.0.1:${target.port}/feed`;
  await assert.rejects(request(address), /interim answers/);
  await assert.rejects(request(address, { signal: new AbortController().signal }), /interim answers/);
});
