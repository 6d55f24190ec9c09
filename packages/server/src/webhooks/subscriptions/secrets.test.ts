import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_REPLACED_SECRETS } from '../../kernel/security/replaced-secrets.ts';
import { DAY, HOUR } from '../../kernel/time/clock.ts';
import { rotated, type SigningSecrets, sealedSecretsAt } from './secrets.ts';

const START = Date.UTC(2026, 0, 15);

/** The secrets after rotations at the given times; each is named by its number. */
function rotatedAt(times: number[]): SigningSecrets {
  return times.reduce<SigningSecrets>(
    (secrets, time, index) => {
      const result = rotated(secrets, `s${index + 1}`, time);
      assert.ok('secrets' in result);
      return result.secrets;
    },
    { sealedSecret: 's0', replacedSecrets: [] },
  );
}

test('every secret that was replaced less than a day ago signs, newest first', () => {
  const secrets = rotatedAt([START, START + HOUR, START + 2 * HOUR]);
  const table: [at: number, signing: string[]][] = [
    [START + 2 * HOUR, ['s3', 's2', 's1', 's0']],
    [START + DAY - 1, ['s3', 's2', 's1', 's0']],
    [START + DAY, ['s3', 's2', 's1']],
    [START + DAY + HOUR, ['s3', 's2']],
    [START + DAY + 2 * HOUR, ['s3']],
  ];
  for (const [at, signing] of table) assert.deepEqual(sealedSecretsAt(secrets, at), signing);
});

test('a secret whose day is over is forgotten by the next rotation', () => {
  const { replacedSecrets } = rotatedAt([START, START + DAY]);
  assert.deepEqual(replacedSecrets, [{ sealed: 's1', until: START + 2 * DAY }]);
});

test('with as many replaced secrets at work as may be, a rotation has to wait until the oldest ends', () => {
  const times = Array.from({ length: MAX_REPLACED_SECRETS }, (_, index) => START + index);
  const full = rotatedAt(times);
  assert.deepEqual(rotated(full, 'one more', START + DAY - 1), { possibleFrom: START + DAY });
  const later = rotated(full, 'one more', START + DAY);
  assert.ok('secrets' in later);
  assert.equal(later.secrets.replacedSecrets.length, MAX_REPLACED_SECRETS);
});
