import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../kernel/clock.ts';
import { openDatabase } from '../kernel/db/database.ts';
import { createTestDatabaseUrl } from '../testing/database.ts';
import { until } from '../testing/wait.ts';
import { createAccounts } from './index.ts';

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
