import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDatabase } from '../../kernel/db/database.ts';
import { createPartitions } from '../../kernel/db/schema/partitions.ts';
import { guid, newId } from '../../kernel/ids.ts';
import { createTestDatabase } from '../../testing/database.ts';
import { asRead } from '../fixtures/as-read.ts';
import { insertEvents, type StoredEvent } from '../store/events.ts';
import { createEventBodies } from './body-cache.ts';

const db = await createTestDatabase();
const publishedAt = Date.now();
await createPartitions(db.sql, [{ table: 'webhook_events', keepDays: 14 }], publishedAt);

const newEvent = (): StoredEvent => ({
  tenantId: guid(),
  publishedAt,
  id: newId('evt'),
  tenantEventId: null,
  type: 'a.b',
  profile: 0,
  body: '{"a":1}',
});

async function storedEvent(): Promise<StoredEvent> {
  const [event] = await storedEvents(1);
  return event!;
}

/** Of one tenant, so that they are read together. */
async function storedEvents(count: number): Promise<StoredEvent[]> {
  const { tenantId } = newEvent();
  const events = Array.from({ length: count }, () => ({ ...newEvent(), tenantId }));
  await insertEvents(db.sql, { tenantId, publishedAt, events });
  return events;
}

/** What is found from now on was kept. */
const remove = ({ tenantId, id }: StoredEvent) =>
  db.sql`delete from webhook_events where tenant_id = ${tenantId} and id = ${id}`;

test('an event is kept until it was taken as often as it was expected', async () => {
  const bodies = createEventBodies(db, { now: () => 0 });
  const event = await storedEvent();
  bodies.expect([event, event]);
  bodies.expect([event]);
  assert.deepEqual(await bodies.take(event), asRead(event));
  await remove(event);
  assert.deepEqual(await bodies.take(event), asRead(event));
  assert.deepEqual(await bodies.take(event), asRead(event));
  assert.equal(await bodies.take(event), undefined);
});

test('an event that nobody expected is read when it is taken, and not kept', async () => {
  const bodies = createEventBodies(db, { now: () => 0 });
  const event = await storedEvent();
  assert.deepEqual(await Promise.all([bodies.take(event), bodies.take(event)]), [
    asRead(event),
    asRead(event),
  ]);
  await remove(event);
  assert.equal(await bodies.take(event), undefined);
});

test('what is published where events are taken is at hand; elsewhere it is not kept', async () => {
  const bodies = createEventBodies(db, { now: () => 0 });
  const [early, late] = [newEvent(), newEvent()];
  bodies.remember([early]);
  bodies.expect([early]);
  assert.equal(await bodies.take(early), undefined);
  bodies.remember([late]);
  bodies.expect([late]);
  assert.deepEqual(bodies.take(late), asRead(late));
});

test('what is published while it is looked for reaches whoever waits, and is kept for those who are expected', async () => {
  const bodies = createEventBodies(db, { now: () => 0 });
  const event = newEvent();
  bodies.expect([event, event]);
  const taken = bodies.take(event);
  bodies.remember([event]);
  assert.deepEqual(await taken, asRead(event));
  assert.deepEqual(bodies.take(event), asRead(event));
  assert.equal(await bodies.take(event), undefined);
});

test('an event that waits counts as much as all that were read with it; the oldest are let go, and read anew', async () => {
  for (const { waiting, isKept } of [
    { waiting: 0, isKept: true },
    { waiting: 1, isKept: false },
  ]) {
    const bodies = createEventBodies(db, { mostBytes: 20_000, now: () => 0 });
    const [gone, there] = await storedEvents(2);
    bodies.expect([gone!, there!]);
    for (let reads = 0; reads < 4; reads++) {
      const events = await storedEvents(10);
      bodies.expect(events);
      for (const event of events.slice(waiting)) assert.ok(await bodies.take(event));
    }
    await remove(gone!);
    assert.deepEqual(await bodies.take(gone!), isKept ? asRead(gone!) : undefined);
    assert.deepEqual(await bodies.take(there!), asRead(there!));
  }
});

test('an event that waited for seconds is read again: its person may have been forgotten', async () => {
  let now = 0;
  const bodies = createEventBodies(db, { now: () => now });
  const [read, remembered] = await storedEvents(2);
  const blanked = (event: StoredEvent) => ({ ...asRead(event), body: null });
  bodies.expect([read!, read!, read!, remembered!]);
  bodies.remember([remembered!]);
  assert.deepEqual(await bodies.take(read!), asRead(read!));
  await db.sql`update webhook_events set body = null where tenant_id = ${read!.tenantId}`;
  now = 3000;
  assert.deepEqual(bodies.take(read!), asRead(read!));
  now = 3001;
  assert.deepEqual(await Promise.all([bodies.take(read!), bodies.take(remembered!)]), [
    blanked(read!),
    blanked(remembered!),
  ]);
});

test('a read that fails fails for all who wait for it, and the next one is tried', async () => {
  const event = await storedEvent();
  const broken = openDatabase({ url: 'postgres://nobody@127.0.0.1:1/nowhere' });
  let reachable = false;
  const flaky = {
    ...db,
    get sql() {
      return reachable ? db.sql : broken.sql;
    },
  };
  const bodies = createEventBodies(flaky);
  bodies.expect([event]);
  await assert.rejects(async () => bodies.take(event));
  reachable = true;
  assert.deepEqual(await bodies.take(event), asRead(event));
  await broken.close();
});
