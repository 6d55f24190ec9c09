import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import { serveTestRoutes } from '../testing/server.ts';
import { consentOf } from '../webhooks/subscriptions/handshake.ts';
import { RECEIVER_PATH, registerReceiverRoutes } from './receiver.ts';

const url = (await serveTestRoutes({}, registerReceiverRoutes)) + RECEIVER_PATH;

/** `fetch` refuses some of the content types that a subscription may have. */
function push(body: string, contentType: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': contentType, 'webhook-id': 'evt_1' };
    const pushed = request(url, { method: 'POST', headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    pushed.on('error', reject).end(body);
  });
}

const shown = async () => (await fetch(url)).text();

test('the receiver consents to the handshake of any sender, at any rate', async () => {
  const answer = await fetch(url, {
    method: 'OPTIONS',
    headers: { 'webhook-request-origin': 'signalbox.example', 'webhook-request-rate': '120' },
  });
  assert.equal(answer.status, 204);
  assert.equal(answer.headers.get('webhook-allowed-rate'), '*');
  assert.deepEqual(consentOf(Object.fromEntries(answer.headers), 'signalbox.example'), {
    handshake: 'consented',
    allowedRate: null,
  });
  const other = await fetch(url, { method: 'DELETE' });
  assert.deepEqual([other.status, other.headers.get('allow')?.includes('OPTIONS')], [405, true]);
});

test('an event is shown whatever content type the subscription gives it', async () => {
  const types = [
    'application/cloudevents+json; charset=utf-8',
    'application/json',
    'application/vnd.shop+json',
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/xml',
    'no media type',
    '',
  ];
  for (const [index, type] of types.entries()) {
    assert.equal(await push(JSON.stringify({ type: `com.example.t${index}`, data: index }), type), 204, type);
    assert.ok((await shown()).includes(`com.example.t${index}`), type);
  }
});

test('an event is shown whatever its data: a megabyte, texts that no database holds, or no event at all', async () => {
  const event = { type: 'com.example.large', data: '' };
  const room = 1024 * 1024 - Buffer.byteLength(JSON.stringify(event));
  const bodies: [body: string, part: string][] = [
    [JSON.stringify({ ...event, data: 'x'.repeat(room) }), 'com.example.large'],
    [JSON.stringify({ type: 'com.example.nul', data: '\0 \ud800' }), 'com.example.nul'],
    ['{"type":"com.example.number","data":12345678901234567890}', 'com.example.number'],
    ['<event/>', '&lt;event/&gt;'],
    ['null', 'no event'],
  ];
  for (const [body, part] of bodies) {
    assert.equal(await push(body, 'application/cloudevents+json'), 204, part);
    assert.ok((await shown()).includes(part), part);
  }
});
