import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { createMac, type Mac } from '../../kernel/security/crypto.ts';
import { newSigningSecret, signatureOf, signingKey } from './signature.ts';

const id = 'evt_01k7vw53ga9s79t30f3w61wytt';
const body = JSON.stringify({
  specversion: '1.0',
  data: { name: 'Zoë', price: '12 €', smile: '😀', quote: '"\\' },
});

function headersOf(keys: Mac[], { timestamp = Math.floor(Date.now() / 1000), text = body } = {}) {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatureOf({ id, timestamp, body: Buffer.from(text), keys }),
  };
}

test('a library that others wrote verifies what we sign', () => {
  const secret = newSigningSecret();
  assert.deepEqual(new Webhook(secret).verify(body, headersOf([signingKey(secret)])), JSON.parse(body));
});

test('during a rotation both secrets verify, and a third does not', () => {
  const [old, current, foreign] = [newSigningSecret(), newSigningSecret(), newSigningSecret()];
  const headers = headersOf([signingKey(current), signingKey(old)]);
  assert.ok(new Webhook(current).verify(body, headers));
  assert.ok(new Webhook(old).verify(body, headers));
  assert.throws(() => new Webhook(foreign).verify(body, headers), /No matching signature/);
});

test('a changed body, id or timestamp does not verify', () => {
  const secret = newSigningSecret();
  const webhook = new Webhook(secret);
  const headers = headersOf([signingKey(secret)]);
  assert.throws(() => webhook.verify(`${body} `, headers));
  assert.throws(() => webhook.verify(body, { ...headers, 'webhook-id': 'evt_other' }));
  const later = String(Number(headers['webhook-timestamp']) + 1);
  assert.throws(() => webhook.verify(body, { ...headers, 'webhook-timestamp': later }));
});

test('the signature is HMAC-SHA-256 over id, timestamp and body, joined by dots', () => {
  const key = Buffer.alloc(32, 7);
  const digest = createHmac('sha256', key).update(`${id}.1700000000.{}`).digest('base64');
  const keys = [createMac(key)];
  assert.equal(signatureOf({ id, timestamp: 1_700_000_000, body: Buffer.from('{}'), keys }), `v1,${digest}`);
});

test('a secret has the prefix of the standard and 32 random bytes', () => {
  const secrets = new Set(Array.from({ length: 100 }, newSigningSecret));
  assert.equal(secrets.size, 100);
  for (const secret of secrets) {
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.equal(Buffer.from(secret.slice(6), 'base64').length, 32);
  }
});
