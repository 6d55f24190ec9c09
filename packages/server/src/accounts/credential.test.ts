import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSecret, isSecretValid, rotateSecret } from './credential.ts';

const now = Date.UTC(2026, 0, 1);

test('a secret is valid, another one is not, and only its hash is stored', () => {
  const { secret, stored } = createSecret();
  assert.equal(isSecretValid(secret, stored, now), true);
  assert.equal(isSecretValid(`${secret}x`, stored, now), false);
  assert.equal(isSecretValid('', stored, now), false);
  assert.equal(isSecretValid('-', stored, now), false);
  assert.ok(!JSON.stringify(stored).includes(secret));
});

test('after a rotation the old secret stays valid for the grace and not a moment longer', () => {
  const first = createSecret();
  const second = rotateSecret(first.stored, 60_000, now);
  const table: [string, number, boolean][] = [
    [second.secret, now, true],
    [first.secret, now, true],
    [first.secret, now + 59_999, true],
    [first.secret, now + 60_000, false],
  ];
  for (const [secret, time, valid] of table) assert.equal(isSecretValid(secret, second.stored, time), valid);
});

test('a rotation without grace ends the old secret at once', () => {
  const first = createSecret();
  const second = rotateSecret(first.stored, 0, now);
  assert.equal(isSecretValid(first.secret, second.stored, now), false);
  assert.equal(isSecretValid(second.secret, second.stored, now), true);
});
