/** A catalog with more items than a call can have arguments (V8 ends at about 120,000). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../testing/server.ts';

const ITEMS = 130_000;

test('a large catalog that has no model yet can be opened', async () => {
  const { modules, tenant } = await startTestServer();
  await modules.db.sql`
    insert into catalog_items (tenant_id, item_pid, item_url, url_key, available, fields, languages, countries, added_at,
      updated_at, revision)
    select ${tenant.id}, 'i' || number, 'https://shop.example/' || number, 'shop.example/' || number, true, '{}', '{}', '{}',
      now(), now(), number
    from generate_series(1, ${ITEMS}::int) as number`;
  const shop = await modules.recommendations.engines.get(tenant.id);
  const numbers = Array.from({ length: ITEMS }, (_, index) => index + 1);
  assert.ok(numbers.every((number) => shop.find(`i${number}`) !== undefined));
});
