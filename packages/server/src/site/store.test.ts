import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AnySql } from '../kernel/db/database.ts';
import { guid } from '../kernel/ids.ts';
import { createTestDatabase } from '../testing/database.ts';
import { untilWaiting } from '../testing/locks.ts';
import * as store from './store.ts';

const db = await createTestDatabase();
const tenantId = guid();
const visit = (sql: AnySql, systemId: number, day: number) =>
  store.recordVisit(sql, { tenantId, systemId, visits: 1, now: new Date(Date.UTC(2026, 0, day)) });

test('a visit that is counted while two people turn out to be one is not lost', async () => {
  await visit(db.sql, 1, 1);
  await visit(db.sql, 2, 2);
  const merge = await db.transaction(async ({ sql }) => {
    await visit(sql, 2, 3);
    const merging = store.mergeVisits(db.sql, { tenantId, into: 1, from: [2] });
    await untilWaiting(db, 'site_visits');
    return { merging };
  });
  await merge.merging;
  const rows =
    await db.sql`select system_id, visits, last_seen from site_visits where tenant_id = ${tenantId}`;
  assert.deepEqual([...rows], [{ system_id: 1, visits: 3, last_seen: new Date('2026-01-03') }]);
});

test('people who were never here do not become visitors by being merged', async () => {
  await store.mergeVisits(db.sql, { tenantId, into: 8, from: [9] });
  assert.equal((await db.sql`select from site_visits where system_id = 8`).count, 0);
});
