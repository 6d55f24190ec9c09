import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabase } from '../../testing/database.ts';
import { untilWaiting } from '../../testing/locks.ts';
import { guid } from '../ids.ts';
import { claimKeys, forgetExpiredKeys } from './dedupe.ts';

test('a key that is claimed anew while expired ones are forgotten stays claimed', async () => {
  const db = await createTestDatabase();
  const now = Date.now();
  const key = { tenantId: guid(), kind: 'event', keys: ['a'] };
  await claimKeys(db.sql, { ...key, keys: ['a', 'b'], now: now - 2, expiresAt: now - 1 });
  const again = { ...key, now, expiresAt: now + 60_000 };
  let forgetting: Promise<number> | undefined;
  await db.transaction(async ({ sql }) => {
    assert.deepEqual(await claimKeys(sql, again), new Set(['a']));
    forgetting = forgetExpiredKeys(db.sql, now);
    await untilWaiting(db, 'delete from dedupe_keys');
  });
  assert.equal(await forgetting, 1);
  assert.deepEqual(await claimKeys(db.sql, again), new Set());
});
