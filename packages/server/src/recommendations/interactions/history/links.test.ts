/** Rows of a history that name a visitor and a person: what the visitor did is the person's. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestShop } from '../../demo-shop.fixture.ts';

const shop = await startTestShop();
const { modules, tenant } = shop.server;
const { recommendations, profiles, db } = modules;
const seen = await shop.widget({ algorithm: 'recently-viewed', fallback: [], size: 5 });

async function load(...rows: { visitor?: string; customer_id?: string; item_pid: string }[]) {
  const time = Date.now() - 86_400_000;
  const lines = rows.map((row, index) => JSON.stringify({ ...row, time: time + index }));
  async function* content() {
    yield Buffer.from(lines.join('\n'));
  }
  return recommendations.history.import(tenant.id, content());
}
const seenBy = async (externalId: string) => {
  const person = await profiles.find(tenant.id, { externalId });
  return (await shop.pids(`/r/?widgetid=${seen}&lang=en&tpid=${person!.systemId}`)).toSorted();
};

test('what a visitor did without a name is the person’s whom another row names with the visitor', async () => {
  await load({ visitor: 'v1', item_pid: 'a' }, { visitor: 'v1', customer_id: 'ann', item_pid: 'b' });
  await load({ visitor: 'v1', item_pid: 'c' }, { customer_id: 'ann', item_pid: 'd' });
  assert.deepEqual(await seenBy('ann'), ['a', 'b', 'c', 'd']);
});

test('a visitor who is known to be somebody stays that one, whomever later rows name', async () => {
  await load({ visitor: 'v2', item_pid: 'a' }, { visitor: 'v2', customer_id: 'bea', item_pid: 'b' });
  await load({ visitor: 'v2', customer_id: 'cid', item_pid: 'c' });
  assert.deepEqual([await seenBy('bea'), await seenBy('cid')], [['a', 'b'], ['c']]);
});

test('an erasure takes what the person did as that visitor along', async () => {
  await load({ visitor: 'v3', item_pid: 'a' }, { visitor: 'v3', customer_id: 'dan', item_pid: 'b' });
  await profiles.forget(tenant.id, { externalId: 'dan' });
  const left = await db.sql`select from interactions where tenant_id = ${tenant.id} and visitor = 'v3'`;
  assert.equal(left.length, 0);
});
