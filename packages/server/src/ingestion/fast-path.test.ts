/** The fast path gives the same verdicts and the same guarantees as the full path, and is used when it can be. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { Database } from '../kernel/db/database.ts';
import { HOUR } from '../kernel/time/clock.ts';
import { slotsAt } from '../signals/index.ts';
import { createTestDatabase } from '../testing/database.ts';
import type { Verdict } from './index.ts';
import { event, startProcess } from './process.fixture.ts';

const db = await createTestDatabase();
/** In the first hour of a period, on Thursdays after midnight, everything takes the full path (id-slots.ts). */
const now = Date.now() + (slotsAt(Date.now()).handOver ? HOUR : 0);
const FRESH: Verdict = { success: true };
const AGAIN: Verdict = { success: true, duplicate: true };

/** The database, and how many transactions of several statements its dedicated pools were asked for. */
function counting(given: Database): { db: Database; transactions: () => number } {
  let count = 0;
  const dedicated: Database['dedicated'] = (options) => {
    const own = given.dedicated(options);
    const transaction: Database['transaction'] = (work) => {
      count += 1;
      return own.transaction(work);
    };
    return { ...own, transaction };
  };
  return { db: { ...given, dedicated }, transactions: () => count };
}

async function storedIds(tenantId: string): Promise<string[]> {
  const rows = await db.sql`select id from signals where tenant_id = ${tenantId} order by id`;
  return rows.map(({ id }) => id as string);
}

const ada = { email: 'ada@example.com' };

test('signals of nobody and of known persons take one statement, all others a transaction', async () => {
  const counted = counting(db);
  const { receive } = startProcess(counted.db, now);
  const tenantId = randomUUID();
  const table: [what: string, events: unknown[], transactions: number][] = [
    ['nobody', [event('a 1'), event('a 2')], 0],
    ['somebody new', [event('b', ada)], 1],
    ['somebody known', [event('c', { email: ' ADA@example.com' }), event('c 2')], 0],
    ['a known person and a new one', [event('d', ada), event('d 2', { email: 'eve@example.com' })], 1],
    ['a known person with a new name', [event('e', { ...ada, customerId: 'c-1' })], 1],
    ['a known person by either name', [event('f', { idType: 'external', customerId: 'c-1' })], 0],
    ['something to learn', [event('g', { ...ada, profileAttributes: { tier: 'gold' } })], 1],
    ['somebody known with a signal that is followed', [event('h', ada)], 0],
    ['a name of two lines', [event('i', { idType: 'external', customerId: 'two\nlines' })], 1],
    ['the same again', [event('a 1'), event('c', ada)], 0],
    ['an id twice', [event('j'), event('j')], 1],
  ];
  const sent = new Set<string>();
  for (const [what, events, transactions] of table) {
    const before = counted.transactions();
    const verdicts = await receive(tenantId, events);
    const wanted = (events as { id: string }[]).map(({ id }) => {
      const again = sent.has(id);
      sent.add(id);
      return again ? AGAIN : FRESH;
    });
    assert.deepEqual(verdicts, wanted, what);
    assert.equal(counted.transactions() - before, transactions, what);
  }
  assert.deepEqual(await storedIds(tenantId), [...sent].sort());
  const owners = await db.sql`
    select signals.id, profiles.email from signals
    left join profiles on profiles.tenant_id = signals.tenant_id and system_id = profile
    where signals.tenant_id = ${tenantId} and signals.id in ('a 1', 'b', 'c', 'c 2', 'f') order by signals.id`;
  assert.deepEqual(
    owners.map(({ email }) => email),
    [null, ada.email, ada.email, null, ada.email],
  );
});

test('a signal is stored alike on both paths', async () => {
  const { receive } = startProcess(db, now);
  const tenantId = randomUUID();
  const odd = {
    trackingParam: 'a=1\n2',
    marketingId: 'mail "7"',
    payload: { sections: [['é', 'a\nb', '\\']], ...ada },
  };
  await receive(tenantId, [event('person', ada)]);
  await receive(tenantId, [event('short', {}, odd)]);
  await receive(tenantId, [
    event('long', {}, odd),
    event('carried along', { ...ada, profileAttributes: { a: 'b' } }),
  ]);
  const rows = await db.sql`
    select profile, received_at, time, signal, payload::text, marketing_id, tracking_param, origin, lane
    from signals where tenant_id = ${tenantId} and id in ('short', 'long')`;
  assert.equal(rows.length, 2);
  assert.deepEqual(rows[0], rows[1]);
});

test('whoever does not want to be tracked is answered as everyone, and the id is used up', async () => {
  const counted = counting(db);
  const { profiles, receive } = startProcess(counted.db, now);
  const tenantId = randomUUID();
  await receive(tenantId, [event('first', ada)]);
  const { systemId } = (await profiles.find(tenantId, ada))!;
  await profiles.setDoNotTrack(tenantId, { systemId }, true);
  const before = counted.transactions();
  assert.deepEqual(await receive(tenantId, [event('second', ada), event('third')]), [FRESH, FRESH]);
  await profiles.setDoNotTrack(tenantId, { systemId }, false);
  assert.deepEqual(await receive(tenantId, [event('second', ada), event('fourth', ada)]), [AGAIN, FRESH]);
  assert.equal(counted.transactions(), before);
  assert.deepEqual(await storedIds(tenantId), ['first', 'fourth', 'third']);
});

test('requests of several tenants share a flush, and an id that several of them bring counts once for each tenant', async () => {
  const processes = [0, 1, 2].map(() => startProcess(db, now));
  const tenants = [randomUUID(), randomUUID()];
  const ids = Array.from({ length: 60 }, (_, index) => `id ${index}`);
  // The same id with another identification is another signal, so an id always names the same person.
  const who = (id: string) =>
    Number(id.slice(3)) % 3 === 0 ? { email: `p${Number(id.slice(3)) % 4}@example.com` } : {};
  const fresh = tenants.map(() => [] as string[]);
  await Promise.all(
    Array.from({ length: 48 }, async (_, round) => {
      const tenant = round % 2;
      const own = Array.from({ length: 10 }, (_, index) => ids[(index * 17 + round * 7) % ids.length]!);
      const more = round % 5 === 0 ? { profileAttributes: { a: 'b' } } : {};
      const verdicts = await processes[round % 3]!.receive(
        tenants[tenant]!,
        own.map((id) => event(id, { ...who(id), ...more })),
      );
      verdicts.forEach(({ duplicate }, index) => {
        if (!duplicate) fresh[tenant]!.push(own[index]!);
      });
    }),
  );
  for (const [index, tenantId] of tenants.entries()) {
    assert.deepEqual(fresh[index]!.sort(), [...ids].sort());
    assert.deepEqual(await storedIds(tenantId), [...ids].sort());
  }
});

test('the same id with another identification is another signal, on both paths', async () => {
  const { receive } = startProcess(db, now);
  const tenantId = randomUUID();
  const persons = [{}, ada, { idType: 'external', customerId: 'c-1' }, { email: 'eve@example.com' }];
  for (const expected of [FRESH, AGAIN])
    for (const person of persons)
      assert.deepEqual(await receive(tenantId, [event('same', person)]), [expected]);
  const together = persons.map((person) => event('batch', person));
  assert.deepEqual(await receive(tenantId, [...together, ...together]), [
    ...persons.map(() => FRESH),
    ...persons.map(() => AGAIN),
  ]);
  assert.equal((await storedIds(tenantId)).length, 2 * persons.length);
});

test('a signal that cannot be stored takes no other down, and what was stored is not called a duplicate', async () => {
  const own = await createTestDatabase();
  await own.sql`alter table signals add constraint no_poison check (tracking_param <> 'poison')`;
  const { receive } = startProcess(own, now);
  const tenants = [randomUUID(), randomUUID()];
  const poison = event('poison', {}, { trackingParam: 'poison' });
  const outcomes = await Promise.allSettled(
    tenants.flatMap((tenantId) => [
      receive(tenantId, [event('a')]),
      receive(tenantId, [event('b'), poison]),
      receive(tenantId, [event('c', ada), event('d')]),
    ]),
  );
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : 'refused')),
    tenants.flatMap(() => [[FRESH], 'refused', [FRESH, FRESH]]),
  );
  const rows = await own.sql`select id from signals where tenant_id = ${tenants[1]!} order by id`;
  assert.deepEqual(
    rows.map(({ id }) => id),
    ['a', 'c', 'd'],
  );
  assert.deepEqual(await receive(tenants[0]!, [event('b')]), [FRESH], 'nothing of a refused request is kept');
});

test('a request with a person who cannot become a profile leaves nothing behind', async () => {
  const own = await createTestDatabase();
  await own.sql`alter table profiles add constraint no_poison check (email <> 'poison@example.com')`;
  const { receive } = startProcess(own, now);
  const tenantId = randomUUID();
  const bad = receive(tenantId, [event('a'), event('b', { email: 'poison@example.com' })]);
  const good = receive(tenantId, [event('c')]);
  await assert.rejects(bad, { code: '23514' });
  assert.deepEqual(await good, [FRESH]);
  assert.deepEqual(await receive(tenantId, [event('a'), event('c')]), [FRESH, AGAIN]);
});

test('a person who is forgotten while signals arrive is forgotten by the last sweep at the latest', async () => {
  const counted = counting(db);
  const { clock, profiles, receive } = startProcess(counted.db, now);
  const tenantId = randomUUID();
  const forgotten: number[] = [];
  let sent = 0;
  let stop = false;
  const visitors = Array.from({ length: 8 }, async () => {
    while (!stop) await receive(tenantId, [event(`${++sent}`, ada), event(`${++sent}`, ada)]);
  });
  for (let turn = 0; turn < 5; turn++) {
    const goal = sent + 100;
    while (sent < goal) await new Promise(setImmediate);
    const profile = await profiles.find(tenantId, ada);
    if (profile === undefined) continue;
    forgotten.push(profile.systemId);
    await profiles.forget(tenantId, ada);
  }
  stop = true;
  await Promise.all(visitors);
  clock.advance(HOUR + 1);
  await profiles.maintain();
  assert.ok(forgotten.length > 0 && counted.transactions() < sent / 4, 'the short way was taken');
  const [left] = await db.sql`
    select count(*) as count from signals where tenant_id = ${tenantId} and profile = any(${forgotten})`;
  assert.equal(left?.count, 0);
});
