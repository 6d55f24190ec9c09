import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDatabase } from '../kernel/db/database.ts';
import { guid } from '../kernel/ids.ts';
import { systemClock } from '../kernel/time/clock.ts';
import { createTestDatabaseUrl } from '../testing/database.ts';
import { until } from '../testing/wait.ts';
import { createAccounts } from './index.ts';
import { findTenant } from './store.ts';

const url = await createTestDatabaseUrl();
const config = { region: 'eu', publicUrl: 'http://localhost:8400' } as const;

async function openAccounts() {
  const db = openDatabase({ url, connections: 2 });
  const accounts = await createAccounts({ db, clock: systemClock, config, secret: 's'.repeat(32) });
  return { accounts, close: () => accounts.close().then(() => db.close()) };
}

test('a tenant is known as soon as it is created, also where its name was asked for before', async () => {
  const [here, there] = [await openAccounts(), await openAccounts()];
  for (const { accounts } of [here, there]) assert.equal(await accounts.findTenant('late'), undefined);
  const { id } = await here.accounts.createTenant({ name: 'late' });
  assert.equal((await here.accounts.findTenant('late'))?.id, id);
  await until(async () => (await there.accounts.findTenant('late'))?.id === id);
  assert.equal(there.accounts.peekTenant('late')?.id, id);
  for (const { close } of [here, there]) await close();
});

test('a tenant is found by its name and by its guid, by an index each', async () => {
  const { accounts, close } = await openAccounts();
  const db = openDatabase({ url, connections: 1 });
  const tenant = await accounts.createTenant({ name: 'sought' });
  await db.transaction(async ({ sql }) => {
    // A table of two rows is read as a whole unless nothing else is possible.
    await sql`set local enable_seqscan = off`;
    for (const account of ['sought', tenant.id, tenant.id.toUpperCase()])
      assert.deepEqual(await findTenant(sql, account), tenant, account);
    for (const account of ['SOUGHT', 'soug', guid()])
      assert.equal(await findTenant(sql, account), undefined, account);
    const [scans] = await sql`select seq_scan from pg_stat_xact_user_tables where relname = 'tenants'`;
    assert.equal(scans!.seq_scan, 0);
  });
  await db.close();
  await close();
});
