import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AnySql } from '../../kernel/db/database.ts';
import { createPartitions } from '../../kernel/db/schema/partitions.ts';
import { guid, newId } from '../../kernel/ids.ts';
import { createTestDatabase } from '../../testing/database.ts';
import { asRead } from '../fixtures/as-read.ts';
import {
  insertEvents,
  majorVersion,
  outgoing,
  readEvents,
  restoreEvents,
  type StoredEvent,
} from './events.ts';

const db = await createTestDatabase();
const now = Date.now();
await createPartitions(db.sql, [{ table: 'webhook_events', keepDays: 14 }], now);

const tenantId = guid();
const eventOf = (publishedAt: number, changes: Partial<StoredEvent> = {}): StoredEvent => ({
  tenantId,
  publishedAt,
  id: newId('evt'),
  tenantEventId: null,
  type: 'a.b',
  profile: 0,
  body: '{"a":1}',
  ...changes,
});
const [first, second, third] = [
  eventOf(now),
  eventOf(now, { tenantEventId: 'own', type: 'c.d' }),
  eventOf(now + 1),
];
const yesterday = eventOf(now - 86_400_000, { body: '{"b":"ü"}' });
const stranger = eventOf(now, { tenantId: guid() });
const [long, longer] = [5000, 1_000_000].map((length) =>
  eventOf(now, { body: `"${'é'.repeat(length)}"` }),
) as [StoredEvent, StoredEvent];
for (const events of [[first, second, long, longer], [third], [yesterday], [stranger]])
  await insertEvents(db.sql, { ...events[0]!, events });

const cases: Record<string, [asked: StoredEvent[], expected: (StoredEvent | undefined)[]]> = {
  'in their order': [
    [yesterday, first, second, third],
    [yesterday, first, second, third],
  ],
  'in another order': [
    [third, first, yesterday, second],
    [third, first, yesterday, second],
  ],
  'one of which is asked for twice': [
    [first, first, second],
    [first, first, second],
  ],
  'one of which is not there': [
    [first, eventOf(now), third],
    [first, undefined, third],
  ],
  "one of which is another tenant's": [
    [stranger, second],
    [undefined, second],
  ],
  'none of which is there': [[eventOf(now)], [undefined]],
  'with long bodies among them': [
    [first, long, third, longer],
    [first, long, third, longer],
  ],
  'with a long body, one alone,': [[longer], [longer]],
};

/** By the pool, which knows the version of the server, and within a transaction, which does not. */
const ways: Record<string, <T>(work: (sql: AnySql) => Promise<T>) => Promise<T>> = {
  'along the index': (work) => work(db.sql),
  'one by one': (work) => db.transaction(({ sql }) => work(sql)),
};

for (const [way, read] of Object.entries(ways)) {
  for (const [name, [asked, expected]] of Object.entries(cases)) {
    test(`events ${name} are read ${way}`, async () => {
      const found = await read((sql) => readEvents(sql, tenantId, asked));
      assert.deepEqual(
        found,
        expected.map((event) => event && asRead(event)),
      );
    });
  }
}

test('what was just published goes out as if it were read', () => {
  for (const events of [[first], [yesterday, long, first, longer], [long]])
    assert.deepEqual(outgoing(events), events.map(asRead));
});

test('a long body that waits keeps no memory but its own', () => {
  const [ofFirst, ofLong, ofYesterday] = outgoing([first, long, yesterday]).map(({ body }) => body!.buffer);
  assert.equal(ofFirst, ofYesterday);
  assert.notEqual(ofLong, ofFirst);
});

test('an event is stored to the letter, and once: put back while it is there, it stays as it is', async () => {
  const strange = eventOf(now, {
    tenantEventId: 'a"b,{c}\\',
    type: 'd é.👍',
    body: '{"e":"f\\n\\u0000\\"g"}',
  });
  const other = eventOf(now);
  await insertEvents(db.sql, { ...strange, events: [strange] });
  await assert.rejects(insertEvents(db.sql, { ...strange, events: [strange] }), { code: '23505' });
  await restoreEvents(db.sql, { ...strange, events: [{ ...strange, body: '{}' }, other] });
  assert.deepEqual(await readEvents(db.sql, tenantId, [strange, other]), [strange, other].map(asRead));
});

test('an event that was erased has no body, neither a short nor a long one', async () => {
  const events = [
    eventOf(now, { profile: 69 }),
    eventOf(now, { body: `"${'x'.repeat(5000)}"` }),
    eventOf(now),
  ];
  await insertEvents(db.sql, { tenantId, publishedAt: now, events });
  const erased = events.slice(0, 2);
  await db.sql`update webhook_events set body = null where id = any(${erased.map(({ id }) => id)})`;
  assert.deepEqual(await readEvents(db.sql, tenantId, events), [
    ...erased.map((event) => ({ ...event, body: null })),
    asRead(events[2]!),
  ]);
});

test('the pool knows the version of the server, and a transaction does not', async () => {
  const [row] = await db.sql<
    { version: number }[]
  >`select current_setting('server_version_num')::int as version`;
  assert.equal(majorVersion(db.sql), Math.floor(row!.version / 10_000));
  await db.transaction(async ({ sql }) => assert.equal(majorVersion(sql), 0));
});
