import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_REPLACED_SECRETS } from '../kernel/security/replaced-secrets.ts';
import * as credential from './credential.ts';

const { createSecret, isSecretValid } = credential;

const now = Date.UTC(2026, 0, 1);

function rotateSecret(...given: Parameters<typeof credential.rotateSecret>): credential.NewSecret {
  const rotated = credential.rotateSecret(...given);
  assert.ok('secret' in rotated);
  return rotated;
}

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

test('each secret stays valid for the grace that was chosen for it, however many follow it', () => {
  const first = createSecret();
  const second = rotateSecret(first.stored, 60_000, now);
  const third = rotateSecret(second.stored, 1000, now + 10);
  const good = (time: number) =>
    [first, second, third].map(({ secret }) => isSecretValid(secret, third.stored, time));
  assert.deepEqual(good(now + 10), [true, true, true]);
  assert.deepEqual(good(now + 1010), [true, false, true]);
  assert.deepEqual(good(now + 60_000), [false, false, true]);
});

test('a rotation without grace ends all secrets of before', () => {
  const first = createSecret();
  const second = rotateSecret(first.stored, 60_000, now);
  const third = rotateSecret(second.stored, 0, now);
  for (const { secret } of [first, second]) assert.equal(isSecretValid(secret, third.stored, now), false);
});

test('with as many replaced secrets as may be, a rotation waits for the first of them to end, or goes without grace', () => {
  let current = createSecret();
  for (let count = 0; count < MAX_REPLACED_SECRETS; count++)
    current = rotateSecret(current.stored, 60_000 - count, now);
  const possibleFrom = now + 60_000 - (MAX_REPLACED_SECRETS - 1);
  assert.deepEqual(credential.rotateSecret(current.stored, 1, now), { possibleFrom });
  rotateSecret(current.stored, 1, possibleFrom);
  rotateSecret(current.stored, 0, now);
});
