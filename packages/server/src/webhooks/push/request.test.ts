/** One push to real receivers of every kind. */
import assert from 'node:assert/strict';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { after, test } from 'node:test';
import { freePort } from '@signalbox/embedded-postgres/free-port';
import { CloudEvent, HTTP } from 'cloudevents';
import { Webhook } from 'standardwebhooks';
import { VERSION } from '../../kernel/config/version.ts';
import { createAddressPolicy } from '../../kernel/egress/address-policy.ts';
import { createEgress } from '../../kernel/egress/agent.ts';
import { createSelfSignedCertificate } from '../../kernel/egress/certificate.fixture.ts';
import { systemClock } from '../../kernel/time/clock.ts';
import { until } from '../../testing/wait.ts';
import { envelopeOf } from '../events/envelope.ts';
import { type Answer, startReceiver, status } from '../fixtures/receiver.ts';
import { addressOf, push, type Target, targetHeaders } from './request.ts';
import { newSigningSecret, signingKey } from './signature.ts';

function openEgress(connectTimeoutMs: number) {
  const policy = createAddressPolicy({ allowLoopback: true, allow: [] });
  const egress = createEgress({ policy, requireHttps: false, connectTimeoutMs });
  after(() => egress.dispatcher.destroy());
  return egress.dispatcher;
}

/** Patient: a busy machine stands still for seconds. Whoever waits for a limit sets a short one. */
const dispatcher = openEgress(30_000);

const secret = newSigningSecret();
const eventId = 'evt_01k7vw53ga9s79t30f3w61wytt';
const tenant = {
  id: '0199f3c2-8c0a-7a4e-9d0c-2f1f0c3e7b5a',
  name: 'acme',
  region: 'eu',
  createdAt: new Date(0),
};
const event = {
  type: 'com.example.order.paid',
  source: '/shop',
  subject: '4711',
  data: { name: 'Zoë', total: 12.5 },
};
const text = JSON.stringify(envelopeOf(event, { id: eventId, tenant, now: Date.UTC(2026, 0, 15) }));
const body = Buffer.from(text);

function targetAt(
  url: string,
  own: { name: string; value: string }[] = [],
  origin: string | null = null,
): Target {
  return { ...addressOf(url), headers: targetHeaders(own, origin), keys: [signingKey(secret)] };
}

const pushTo = (
  url: string,
  {
    timeoutMs = 30_000,
    through = dispatcher,
    ...more
  }: { timeoutMs?: number; through?: typeof dispatcher; signal?: AbortSignal } = {},
) =>
  push(
    { dispatcher: through, clock: systemClock, timeoutMs },
    { target: targetAt(url), eventId, body, ...more },
  );

async function pushAgainst(answer: Answer, options: { timeoutMs?: number } = {}) {
  const receiver = await startReceiver(answer);
  return { receiver, attempt: await pushTo(receiver.url, options) };
}

async function listen<S extends Server>(server: S): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => server.close());
  return (server.address() as AddressInfo).port;
}

test('a push is a POST of the CloudEvent with exactly the headers of D25', async () => {
  const receiver = await startReceiver();
  await pushTo(`${receiver.url}/deep?a=1&b=%20`);
  const [got] = receiver.received;
  assert.equal(got!.method, 'POST');
  assert.equal(got!.path, '/hook/deep?a=1&b=%20');
  assert.equal(got!.body, text);
  const { 'webhook-signature': signature, 'webhook-timestamp': timestamp, ...rest } = got!.headers;
  assert.deepEqual(rest, {
    host: new URL(receiver.url).host,
    connection: 'keep-alive',
    'content-type': 'application/cloudevents+json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    'user-agent': `Signalbox/${VERSION}`,
    'webhook-id': eventId,
  });
  assert.match(String(signature), /^v1,[A-Za-z0-9+/]{43}=$/);
  assert.ok(Math.abs(Number(timestamp) - Date.now() / 1000) < 10);
  assert.ok(new Webhook(secret).verify(got!.body, got!.headers as Record<string, string>));
});

test('the CloudEvents SDK reads what is pushed', async () => {
  const receiver = await startReceiver();
  await pushTo(receiver.url);
  const { headers, body: sent } = receiver.received[0]!;
  const read = HTTP.toEvent({ headers, body: sent });
  assert.ok(read instanceof CloudEvent);
  assert.ok(read.validate());
  const { id, type, source, subject, data, specversion, time } = read;
  assert.deepEqual({ type, source, subject, data }, event);
  assert.deepEqual(
    { id, specversion, time },
    { id: eventId, specversion: '1.0', time: '2026-01-15T00:00:00.000Z' },
  );
  assert.equal(read.tenant, 'acme');
});

test('own headers replace type and agent, never what proves us', async () => {
  const receiver = await startReceiver();
  const own = [
    'Content-Type',
    'User-Agent',
    'Host',
    'Content-Length',
    'Webhook-Id',
    'WEBHOOK-TIMESTAMP',
    'webhook-signature',
    'X-Team',
  ];
  const target = targetAt(
    receiver.url,
    own.map((name) => ({ name, value: '7' })),
    'signalbox.example.com',
  );
  const { result } = await push({ dispatcher, clock: systemClock }, { target, eventId, body });
  assert.equal(result.kind, 'answer');
  const { headers } = receiver.received[0]!;
  assert.equal(headers['content-type'], '7');
  assert.equal(headers['user-agent'], '7');
  assert.equal(headers['x-team'], '7');
  assert.equal(headers['webhook-request-origin'], 'signalbox.example.com');
  assert.equal(headers.host, new URL(receiver.url).host);
  assert.equal(headers['content-length'], String(Buffer.byteLength(body)));
  assert.equal(headers['webhook-id'], eventId);
  assert.ok(new Webhook(secret).verify(text, headers as Record<string, string>));
});

test('every status is answered as it is, and none is followed', async () => {
  const elsewhere = await startReceiver();
  for (const code of [
    200, 201, 202, 204, 299, 301, 302, 307, 308, 400, 404, 408, 410, 425, 429, 500, 502, 503, 599,
  ]) {
    const { attempt } = await pushAgainst(
      status(code, { location: elsewhere.url }, code === 204 ? '' : 'words'),
    );
    assert.deepEqual(attempt.result, { kind: 'answer', status: code, retryAfterMs: null });
    assert.deepEqual([attempt.statusCode, attempt.error, attempt.timedOut], [code, null, false]);
    assert.equal(attempt.response, code === 204 ? null : 'words');
  }
  assert.equal(elsewhere.received.length, 0);
});

test('Retry-After is read where it counts', async () => {
  const { attempt } = await pushAgainst(status(429, { 'retry-after': '7' }));
  assert.deepEqual(attempt.result, { kind: 'answer', status: 429, retryAfterMs: 7000 });
});

test('an early hint is no answer', async () => {
  const { attempt } = await pushAgainst((_request, response) => {
    response.writeEarlyHints({ link: '</style.css>; rel=preload' }, () =>
      response.writeHead(202).end('done'),
    );
  });
  assert.deepEqual([attempt.statusCode, attempt.response], [202, 'done']);
});

test('a target that switches protocols is told as such', async () => {
  const { attempt } = await pushAgainst(({ socket }) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
  });
  assert.deepEqual(attempt.result, { kind: 'failure' });
  assert.equal(attempt.error, 'the target switched protocols (101) unasked');
});

test('hints without end are cut off long before the time is over', async () => {
  const { attempt, receiver } = await pushAgainst((request) => {
    const { socket } = request;
    const flood = () => {
      while (!socket.destroyed && socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(100)));
    };
    socket.on('drain', flood);
    flood();
  });
  assert.deepEqual(attempt.result, { kind: 'failure' });
  assert.equal(attempt.timedOut, false);
  assert.match(attempt.error!, /interim answers \(1xx\) without end/);
  await until(() => receiver.received[0]!.socket.destroyed);
});

test('a target that hangs is given up when the time is over', async () => {
  const { attempt } = await pushAgainst(() => undefined, { timeoutMs: 100 });
  assert.deepEqual(attempt.result, { kind: 'failure' });
  assert.equal(attempt.timedOut, true);
  assert.match(attempt.error!, /no complete answer within 100 ms/);
});

test('an answer that drips is cut off when the time is over, and its status counts', async () => {
  const { receiver, attempt } = await pushAgainst(
    (_request, response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write('.'), 5);
      response.on('close', () => clearInterval(drip));
    },
    // Time enough for the head to arrive on a machine that stands still for a moment.
    { timeoutMs: 5000 },
  );
  assert.deepEqual([attempt.statusCode, attempt.timedOut], [200, true]);
  assert.match(attempt.response!, /^\.+$/);
  await until(() => receiver.received[0]!.socket.destroyed);
});

test('an answer of 100 MB is cut off, and 4 kB of it are kept', async () => {
  let written = 0;
  const { receiver, attempt } = await pushAgainst((_request, response) => {
    response.writeHead(200, { 'content-length': String(100e6) });
    const more = () => {
      while (written < 100e6 && !response.destroyed) {
        written += 65_536;
        if (!response.write('x'.repeat(65_536))) return void response.once('drain', more);
      }
    };
    more();
  });
  assert.equal(attempt.statusCode, 200);
  assert.equal(attempt.response, 'x'.repeat(4096));
  await until(() => receiver.received[0]!.socket.destroyed);
  assert.ok(written < 20e6, `${written} bytes were written before the receiver noticed`);
});

test('an answer whose body breaks off still counts', async () => {
  const { attempt } = await pushAgainst((_request, response) => {
    response.writeHead(200, { 'content-length': '1000' });
    response.write('half', () => response.destroy());
  });
  assert.deepEqual([attempt.statusCode, attempt.response, attempt.error], [200, 'half', null]);
});

test('what is kept of an answer can be stored: no half characters, no U+0000', async () => {
  const { attempt } = await pushAgainst(status(200, {}, `\u0000${'€'.repeat(2000)}`));
  assert.equal(attempt.response, `\ufffd${'€'.repeat(1364)}`);
});

test('what is kept of an answer that is no text is 4 kB as well', async () => {
  const { attempt } = await pushAgainst((_request, response) => {
    response.writeHead(400).end(Buffer.alloc(5000, 0xff));
  });
  assert.equal(attempt.response, '\ufffd'.repeat(Math.floor(4096 / 3)));
});

test('connections are kept, also after answers of some length', async () => {
  const receiver = await startReceiver(status(200, {}, 'x'.repeat(20_000)));
  for (let count = 0; count < 10; count++) await pushTo(receiver.url);
  assert.equal(receiver.received.length, 10);
  // The next push may begin in the very moment in which the last one's connection becomes free.
  assert.ok(receiver.connections() <= 2, `${receiver.connections()} connections`);
});

test('pushes at the same time do not wait for each other', async () => {
  const waiting: (() => void)[] = [];
  const receiver = await startReceiver((_request, response) => {
    waiting.push(() => response.writeHead(200).end());
    if (waiting.length === 64) for (const answer of waiting) answer();
  });
  const attempts = await Promise.all(Array.from({ length: 64 }, () => pushTo(receiver.url)));
  assert.ok(attempts.every(({ statusCode }) => statusCode === 200));
});

test('what breaks the connection is a failure with a reason', async () => {
  const rawPort = await listen(createServer((socket) => socket.end('this is not HTTP\r\n\r\n')));
  const silentPort = await listen(createServer(() => undefined));
  const { key, cert } = createSelfSignedCertificate(['localhost']);
  const secure = createSecureServer({ key, cert }, (_request, response) => response.end());
  const securePort = await listen(secure);
  const reset = await startReceiver((request) => request.socket.resetAndDestroy());
  const table: [name: string, url: string, error: RegExp, timedOut?: boolean][] = [
    ['refused', `http://127.0.0.1:${await freePort()}/`, /ECONNREFUSED/],
    ['reset', reset.url, /ECONNRESET|UND_ERR_SOCKET/],
    ['not HTTP', `http://127.0.0.1:${rawPort}/`, /does not match the HTTP/],
    [
      'an unknown certificate',
      `https://localhost:${securePort}/`,
      /DEPTH_ZERO_SELF_SIGNED_CERT|self.signed/i,
    ],
    ['no TLS at all', `https://127.0.0.1:${rawPort}/`, /^ERR_SSL_\w+: [a-z ]+$/],
    ['a handshake that never ends', `https://127.0.0.1:${silentPort}/`, /UND_ERR_CONNECT_TIMEOUT/, true],
  ];
  const hasty = openEgress(300);
  for (const [name, url, error, timedOut = false] of table) {
    const attempt = await pushTo(url, timedOut ? { through: hasty } : {});
    assert.deepEqual(attempt.result, { kind: 'failure' }, name);
    assert.match(attempt.error!, error, name);
    assert.deepEqual([attempt.statusCode, attempt.response, attempt.timedOut], [null, null, timedOut], name);
  }
});

test('a host without an address is unresolved, a forbidden one refused', async () => {
  const policy = createAddressPolicy({ allowLoopback: false, allow: [] });
  const resolver = async (host: string) => {
    if (host === 'silent.example') await new Promise(() => {});
    return host === 'inside.example' ? ['10.1.2.3'] : [];
  };
  const guarded = createEgress({ policy, requireHttps: false, resolver, connectTimeoutMs: 50 });
  const attempt = (url: string) =>
    push({ dispatcher: guarded.dispatcher, clock: systemClock }, { target: targetAt(url), eventId, body });
  assert.deepEqual((await attempt('http://nowhere.example/')).result, { kind: 'unresolved' });
  const silent = await attempt('http://silent.example/');
  assert.deepEqual([silent.result.kind, silent.timedOut], ['unresolved', true], 'it took its time, too');
  assert.deepEqual((await attempt('http://inside.example/')).result, { kind: 'refused' });
  assert.deepEqual((await attempt('http://127.0.0.1/')).result, { kind: 'refused' });
  await guarded.close();
});

test('a push is called off by its signal, whether it has begun or not', async () => {
  const receiver = await startReceiver(() => undefined);
  const controller = new AbortController();
  const begun = pushTo(receiver.url, { signal: controller.signal });
  await until(() => receiver.received.length === 1);
  controller.abort(new Error('lease lost'));
  const attempt = await begun;
  assert.deepEqual([attempt.result.kind, attempt.timedOut, attempt.error], ['failure', false, 'lease lost']);
  await until(() => receiver.received[0]!.socket.destroyed);
  const unbegun = await pushTo(receiver.url, { signal: controller.signal });
  assert.deepEqual([unbegun.result.kind, unbegun.error], ['failure', 'lease lost']);
  assert.equal(receiver.received.length, 1);
});
