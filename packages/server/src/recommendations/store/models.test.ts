import assert from 'node:assert/strict';
import { test } from 'node:test';
import { guid } from '../../kernel/ids.ts';
import { createTestDatabase } from '../../testing/database.ts';
import * as store from './models.ts';

const db = await createTestDatabase();
const NOW = Date.parse('2026-03-01T12:00:00Z');

function modelOf(tenantId: string, buildId: string, cut: number): store.Model {
  const counts = { catalogRevision: 0, interactions: 0, items: 0, bytes: buildId.length, seconds: 1 };
  const times = { tunedAt: null, builtAt: new Date(cut) };
  return { tenantId, buildId, cut, ...counts, knobs: {} as store.Model['knobs'], ...times };
}

test('of builds that overlap the newer one stays, whichever ends last, unless it is from the future', async () => {
  const tenantId = guid();
  const save = (buildId: string, cut: number) =>
    db.transaction(({ sql }) =>
      store.saveModel(sql, {
        model: modelOf(tenantId, buildId, cut),
        snapshot: Buffer.from(buildId),
        now: NOW,
      }),
    );
  const stored = async () => {
    const model = (await store.findModel(db.sql, tenantId))!;
    return Buffer.from((await store.readSnapshotBytes(db.sql, model))!).toString();
  };
  const table: [buildId: string, cut: number, saved: boolean][] = [
    ['first', NOW - 9000, true],
    ['newer', NOW - 5000, true],
    ['older', NOW - 7000, false],
    ['same', NOW - 5000, true],
    ['clock-ahead', NOW + 60_000, true],
    ['clock-right', NOW, true],
  ];
  for (const [buildId, cut, saved] of table) {
    const before = saved ? buildId : await stored();
    assert.equal(await save(buildId, cut), saved, buildId);
    assert.equal(await stored(), before);
  }
});
