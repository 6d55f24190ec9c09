import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { createMac, createVault, deriveKey, hashSecret, randomSecret, sameSecret, sign } from './crypto.ts';

test('secrets are long, random and URL-safe', () => {
  const secrets = Array.from({ length: 100 }, () => randomSecret());
  assert.equal(new Set(secrets).size, 100);
  for (const secret of secrets) assert.match(secret, /^[A-Za-z0-9_-]{43}$/);
});

test('sameSecret holds for equal texts only, whatever their lengths', () => {
  const table: [string, string, boolean][] = [
    ['a', 'a', true],
    ['', '', true],
    ['a', 'b', false],
    ['a', 'aa', false],
    ['', 'a', false],
  ];
  for (const [given, expected, same] of table) assert.equal(sameSecret(given, expected), same);
});

test('a key signs as HMAC-SHA-256 does, whatever the lengths of the key and of the text', () => {
  const bytes = (maxLength: number) => fc.uint8Array({ maxLength }).map((each) => Buffer.from(each));
  const head = bytes(80).map((each) => each.toString('latin1'));
  const body = fc.oneof(bytes(300), fc.integer({ min: 15_000, max: 40_000 }).map(Buffer.alloc));
  fc.assert(
    fc.property(bytes(200), fc.array(fc.tuple(head, body), { minLength: 2 }), (key, messages) => {
      const mac = createMac(key);
      for (const [head, body] of messages) {
        const expected = createHmac('sha256', key).update(head, 'latin1').update(body).digest('base64');
        assert.equal(mac(head, body), expected);
      }
    }),
  );
});

test('a vault opens what it sealed and nothing that was changed or sealed with another key', () => {
  const vault = createVault(deriveKey('installation', 'one'));
  const sealed = vault.seal('whsec_ü');
  assert.equal(vault.open(sealed), 'whsec_ü');
  assert.notEqual(vault.seal('whsec_ü'), sealed, 'two seals of one text differ');
  const last = sealed.at(-1) === 'A' ? 'B' : 'A';
  for (const broken of [sealed.slice(0, -1) + last, sealed.slice(3), '', 'v1.']) {
    assert.throws(() => vault.open(broken));
  }
  assert.throws(() => createVault(deriveKey('installation', 'two')).open(sealed));
});

test('derived keys differ by purpose and by secret, and signatures by key', () => {
  const keys = [deriveKey('s', 'a'), deriveKey('s', 'b'), deriveKey('t', 'a')];
  assert.equal(new Set(keys.map((key) => key.toString('hex'))).size, 3);
  assert.equal(new Set(keys.map((key) => sign(key, 'text'))).size, 3);
  assert.match(hashSecret('x'), /^[0-9a-f]{64}$/);
});
