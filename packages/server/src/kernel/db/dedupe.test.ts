import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabase } from '../../testing/database.ts';
import { untilWaiting } from '../../testing/locks.ts';
import { guid } from '../ids.ts';
import { laneOf } from '../lanes/lane-of.ts';
import { claimKeys, forgetExpiredKeys, readClaimed, releaseKeys } from './dedupe.ts';

const db = await createTestDatabase();
const claim = (input: Parameters<typeof claimKeys>[1]) => db.transaction(({ sql }) => claimKeys(sql, input));

const newKind = () => ({ tenantId: guid(), kind: 'event' });

test('a key is claimed once, until its time is past or it is given back', async () => {
  const kind = newKind();
  const now = Date.now();
  const expiresAt = now + 1000;
  assert.deepEqual(
    await claim({ ...kind, keys: ['b', 'a', 'b'], now, expiresAt: now + 10 }),
    new Set(['a', 'b']),
  );
  assert.deepEqual(await claim({ ...kind, keys: ['c', 'b', 'a'], now: now + 9, expiresAt }), new Set(['c']));
  assert.deepEqual(await claim({ ...kind, keys: ['a', 'c'], now: now + 10, expiresAt }), new Set(['a']));
  assert.deepEqual(
    await readClaimed(db.sql, { ...kind, keys: ['a', 'b', 'c', 'd'] }),
    new Set(['a', 'b', 'c']),
  );
  const given = { ...kind, keys: ['a', 'b', 'd'], now: now + 10 };
  assert.deepEqual(await releaseKeys(db.sql, given), new Map([['a', expiresAt]]));
  assert.deepEqual(await readClaimed(db.sql, { ...kind, keys: ['a', 'b', 'c'] }), new Set(['c']));
  assert.deepEqual(await claim({ ...kind, keys: [], now, expiresAt }), new Set());
});

test('keys lie in the lanes of their texts, unless the caller names another', async () => {
  const [kind, ofPerson] = [newKind(), newKind()];
  const keys = ['a', 'b', 'c'];
  const now = Date.now();
  const expiresAt = now + 1000;
  const all = new Set(keys);
  const lanesOf = async ({ tenantId }: { tenantId: string }) => {
    const rows = await db.sql<{ key: string; lane: number }[]>`
      select key, lane from dedupe_keys where tenant_id = ${tenantId} order by key`;
    return rows.map(({ key, lane }) => [key, lane]);
  };
  await claim({ ...kind, keys, now, expiresAt });
  assert.deepEqual(
    await lanesOf(kind),
    keys.map((key) => [key, laneOf(key)]),
  );

  assert.deepEqual(await claim({ ...ofPerson, keys, lane: 17, now, expiresAt }), all);
  assert.deepEqual(
    await lanesOf(ofPerson),
    keys.map((key) => [key, 17]),
  );
  assert.deepEqual(await claim({ ...ofPerson, keys, lane: 17, now, expiresAt }), new Set());
  assert.deepEqual(await claim({ ...ofPerson, keys, lane: 17, now: expiresAt, expiresAt: now + 2000 }), all);
  assert.deepEqual(await readClaimed(db.sql, { ...ofPerson, keys, lane: 17 }), all);
  assert.equal((await releaseKeys(db.sql, { ...ofPerson, keys, lane: 17, now })).size, 3);
  assert.deepEqual(await lanesOf(ofPerson), []);
});

test('of two transactions that claim the same keys one gets each, whatever their order', async () => {
  const kind = newKind();
  const names = Array.from({ length: 300 }, (_, n) => `k${n}`);
  const now = Date.now();
  // A third of them is there, and expired.
  await claim({ ...kind, keys: names.slice(0, 100), now: now - 2, expiresAt: now - 1 });
  const orders = [names, names.toReversed(), names.toSorted()];
  const claimed = await Promise.all(
    orders.map((keys) => claim({ ...kind, keys, now, expiresAt: now + 60_000 })),
  );
  assert.equal(
    claimed.reduce((sum, { size }) => sum + size, 0),
    names.length,
  );
  assert.deepEqual(new Set(claimed.flatMap((keys) => [...keys])), new Set(names));
});

test('a key that is claimed anew while expired ones are forgotten stays claimed', async () => {
  const now = Date.now();
  const key = { ...newKind(), keys: ['a'] };
  await claim({ ...key, keys: ['a', 'b'], now: now - 2, expiresAt: now - 1 });
  const again = { ...key, now, expiresAt: now + 60_000 };
  let forgetting: Promise<number> | undefined;
  await db.transaction(async ({ sql }) => {
    assert.deepEqual(await claimKeys(sql, again), new Set(['a']));
    forgetting = forgetExpiredKeys(db.sql, now);
    await untilWaiting(db, 'delete from dedupe_keys');
  });
  assert.equal(await forgetting, 1);
  assert.deepEqual(await claim(again), new Set());
});

test('a key that is forgotten while it is claimed anew is claimed', async () => {
  const now = Date.now();
  const key = { ...newKind(), keys: ['a'] };
  await claim({ ...key, now: now - 2, expiresAt: now - 1 });
  let claiming: Promise<Set<string>> | undefined;
  await db.transaction(async ({ sql }) => {
    await sql`delete from dedupe_keys where tenant_id = ${key.tenantId}`;
    claiming = claim({ ...key, now, expiresAt: now + 60_000 });
    await untilWaiting(db, 'update dedupe_keys');
  });
  assert.deepEqual(await claiming, new Set(['a']));
});
