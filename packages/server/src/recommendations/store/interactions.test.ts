import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPartitions } from '../../kernel/db/schema/partitions.ts';
import { guid } from '../../kernel/ids.ts';
import { createTestDatabase } from '../../testing/database.ts';
import {
  deleteOldClicks,
  insertInteractions,
  type Link,
  readInteractionsAfter,
  readLinksAround,
  tenantsWithNews,
  upsertClicks,
  upsertLinks,
} from './interactions.ts';

const { sql } = await createTestDatabase();
const now = Date.now();
await createPartitions(sql, [{ table: 'interactions', keepDays: 180 }], now);

test('what arrived after a time is read in its order, and of too much the newest', async () => {
  const tenantId = guid();
  const row = { kind: 'view', visitor: 'v', contact: null, page: null, at: now } as const;
  const rest = { widgetId: null, country: null, quantity: null, value: null };
  for (const [back, itemPid] of [
    [3000, 'a'],
    [1000, 'c'],
    [2000, 'b'],
    [0, 'd'],
  ] as const)
    await insertInteractions(sql, {
      tenantId,
      receivedAt: now - back,
      rows: [{ ...row, ...rest, id: guid(), itemPid }],
    });
  const read = async (after: number, most: number) =>
    (await readInteractionsAfter(sql, { tenantId, after, most })).map(({ itemPid }) => itemPid).join('');
  assert.equal(await read(now - 4000, 9), 'abcd');
  assert.equal(await read(now - 4000, 4), 'abcd');
  assert.equal(await read(now - 4000, 2), 'cd');
  assert.equal(await read(now - 2000, 9), 'cd');
});

test('clicks before a time are deleted, whosesoever they are, batch by batch and by an index', async () => {
  const click = { visitor: 'vv', widgetId: 'w' };
  for (const tenantId of [guid(), guid()])
    await upsertClicks(sql, {
      tenantId,
      clicks: [1, 2, 3, 4].map((ago) => ({ ...click, itemPid: `${ago}`, at: now - ago })),
    });
  await sql.begin(async (tx) => {
    // So few rows are read as a whole unless nothing else is possible.
    await tx`set local enable_seqscan = off`;
    await deleteOldClicks(tx, { before: now - 1, batch: 4 });
    const [scans] =
      await tx`select seq_scan from pg_stat_xact_user_tables where relname = 'interaction_clicks'`;
    assert.equal(scans!.seq_scan, 0);
  });
  const left = await sql`select item_pid from interaction_clicks`;
  assert.deepEqual(
    left.map(({ item_pid }) => item_pid),
    ['1', '1'],
  );
});

test('the links around a visitor are those of all merged contacts and of their visitors, in the order in which they became known', async () => {
  const tenantId = guid();
  const links: Link[] = [
    { key: 'vphone', contact: 70 },
    { key: 'vlaptop', contact: 193 },
    { key: 'c70', contact: 193 },
    { key: 'c193', contact: 266 },
    { key: 'vdesk', contact: 70 },
    // A ring has an end.
    { key: 'c266', contact: 70 },
  ];
  for (const [index, link] of links.entries())
    await upsertLinks(sql, { tenantId, links: [link], now: now + index });
  await upsertLinks(sql, { tenantId, links: [{ key: 'vstranger', contact: 71 }], now });
  for (const key of ['vphone', 'vdesk', 'c70', 'c266'] as const)
    assert.deepEqual(
      (await readLinksAround(sql, { tenantId, keys: [key] })).map(({ key, contact }) => ({ key, contact })),
      links,
      key,
    );
  assert.deepEqual(await readLinksAround(sql, { tenantId, keys: ['vnobody', 'c5'] }), []);
});

test('the newest word on who a visitor is counts', async () => {
  const tenantId = guid();
  const contacts = async () => {
    const links = await readLinksAround(sql, { tenantId, keys: ['vphone'] });
    return links.map(({ contact }) => contact);
  };
  for (const contact of [70, 193]) {
    await upsertLinks(sql, { tenantId, links: [{ key: 'vphone', contact }], now });
    assert.deepEqual(await contacts(), [contact]);
  }
});

test('a tenant has news when an interaction or a link came after the time', async () => {
  const [withRow, withLink, without] = [guid(), guid(), guid()];
  const row = { kind: 'view', visitor: 'v', contact: null, itemPid: 'a', page: null, at: now } as const;
  const rest = { id: guid(), widgetId: null, country: null, quantity: null, value: null };
  for (const tenantId of [withRow, without])
    await insertInteractions(sql, {
      tenantId,
      receivedAt: tenantId === withRow ? now : now - 2000,
      rows: [{ ...row, ...rest }],
    });
  await upsertLinks(sql, { tenantId: withLink, links: [{ key: 'vphone', contact: 70 }], now });
  const found = await tenantsWithNews(sql, [withRow, withLink, without], now - 1000);
  assert.deepEqual(found.toSorted(), [withRow, withLink].toSorted());
});
