import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabase } from '../../testing/database.ts';
import { lookupPlans } from './plans.ts';

const db = await createTestDatabase();

async function planCacheMode(isDistributed: () => Promise<boolean>): Promise<string> {
  const settings = await lookupPlans({ isDistributed });
  const own = db.dedicated({ connections: 1, name: 'plans', settings });
  try {
    const [row] = await own.sql<{ mode: string }[]>`select current_setting('plan_cache_mode') as mode`;
    return row!.mode;
  } finally {
    await own.close();
  }
}

test('lookups are planned once, except where the extension Citus is installed', async () => {
  assert.equal(await db.isDistributed(), false);
  assert.equal(await planCacheMode(db.isDistributed), 'force_generic_plan');
  assert.equal(await planCacheMode(async () => true), 'auto');
});
