/** What follows from a merge: the jobs, and the data of the modules that moves. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Tx } from '../kernel/db/database.ts';
import { guid } from '../kernel/ids.ts';
import { laneOfNumber } from '../kernel/lanes/lane-of.ts';
import type { Move } from '../kernel/module.ts';
import { untilWaiting } from '../testing/locks.ts';
import type { ProfileRef } from './index.ts';
import { openTestProfiles, person, things } from './profiles.fixture.ts';

const { db, clock, profiles, another, resolve, one, moves } = await openTestProfiles();

/** Profiles of the same person, the oldest first, before anything says so. */
async function strangers(tenantId: string, ...names: string[]): Promise<ProfileRef[]> {
  const refs: ProfileRef[] = [];
  for (const name of names) {
    refs.push(await one(tenantId, { externalId: name }));
    clock.advance(1);
  }
  return refs;
}

/** Says that customer ids are those of one person. */
const link = (tenantId: string, ...names: string[]) =>
  resolve(tenantId, ...names.map((externalId) => ({ email: 'one@example.com', externalId })));

test('a merge enqueues one job for each younger profile, in its lane, and a link that is known none', async () => {
  const tenantId = guid();
  const [, ...younger] = await strangers(tenantId, 'a', 'b', 'c', 'd');
  await link(tenantId, 'a', 'b', 'c', 'd');
  await link(tenantId, 'a', 'b', 'c', 'd');
  const byNumber = (a: { merge: number }, b: { merge: number }) => a.merge - b.merge;
  assert.deepEqual(
    (await moves(tenantId)).toSorted(byNumber),
    younger.map(({ systemId }) => ({ lane: laneOfNumber(systemId), merge: systemId })).toSorted(byNumber),
  );
});

test('a merge that is rolled back leaves no job', async () => {
  const tenantId = guid();
  await strangers(tenantId, 'a', 'b');
  const failed = db.transaction(async (tx) => {
    const identifications = ['a', 'b'].map((externalId) => ({ email: 'one@example.com', externalId }));
    await profiles.resolve(tx, tenantId, identifications);
    throw new Error('changed my mind');
  });
  await assert.rejects(failed, /changed my mind/);
  assert.deepEqual([...(await moves(tenantId))], []);
});

/** Data of some pages. `during` runs within each page, and may look at those that are committed. */
function pages(
  { count, name = 'things' }: { count: number; name?: string },
  during: (page: number) => Promise<unknown> | undefined = () => undefined,
) {
  const moved: (Move & { transaction: string })[] = [];
  const merge = async ({ sql, afterCommit }: Tx, move: Move) => {
    const [row] = await sql<{ transaction: string }[]>`select pg_current_xact_id()::text as transaction`;
    afterCommit(() => moved.push({ ...move, ...row! }));
    await during(moved.length);
    return moved.length + 1 < count;
  };
  return { data: things({ name, merge }), moved };
}

test('data moves page by page, each in a transaction of its own', async () => {
  const tenantId = guid();
  const [older, younger] = await strangers(tenantId, 'a', 'b');
  await link(tenantId, 'a', 'b');
  const moving = another();
  const [first, second] = [pages({ count: 3 }), pages({ count: 1, name: 'others' })];
  for (const data of [first.data, things({ name: 'what stays' }), second.data]) moving.register(data);
  await moving.moveData(tenantId, younger!.systemId);
  assert.deepEqual([first.moved.length, second.moved.length], [3, 1]);
  const all = [...first.moved, ...second.moved];
  assert.equal(new Set(all.map(({ transaction }) => transaction)).size, 4);
  for (const { transaction, ...move } of all)
    assert.deepEqual(move, { tenantId, from: younger!.systemId, into: older!.systemId });
});

test('a second merge waits for the page, and the next one goes to the profile that lives then', async () => {
  const tenantId = guid();
  const [oldest, middle, youngest] = await strangers(tenantId, 'a', 'b', 'c');
  await link(tenantId, 'b', 'c');
  const moving = another();
  let second: Promise<unknown> | undefined;
  const { data, moved } = pages({ count: 3 }, async (page) => {
    if (page > 0) return second;
    second ??= link(tenantId, 'a', 'b').then(() => assert.equal(moved.length, 1, 'after the page'));
    return untilWaiting(db, 'for update');
  });
  moving.register(data);
  await moving.moveData(tenantId, youngest!.systemId);
  assert.deepEqual(
    moved.map(({ into }) => into),
    [middle, oldest, oldest].map((ref) => ref!.systemId),
  );
});

test('nothing moves for a living profile, nor for one that was erased', async () => {
  const tenantId = guid();
  const [older, younger] = await strangers(tenantId, 'a', 'b');
  const moving = another();
  const { data, moved } = pages({ count: 2 });
  moving.register(data);
  await moving.moveData(tenantId, older!.systemId);
  await link(tenantId, 'a', 'b');
  await moving.forget(tenantId, { externalId: 'a' });
  await moving.moveData(tenantId, younger!.systemId);
  assert.deepEqual(moved, []);
});

test('the living profile is found behind every number, and none behind that of an erased person', async () => {
  const tenantId = guid();
  const refs = await strangers(tenantId, 'a', 'b', 'c');
  const [gone] = await strangers(tenantId, 'gone');
  const other = await one(tenantId, person('other'));
  await link(tenantId, 'b', 'c');
  await link(tenantId, 'a', 'b');
  await profiles.forget(tenantId, { id: gone!.id });
  const numbers = [...refs, gone!, other].map(({ systemId }) => systemId);
  assert.deepEqual(
    await profiles.livingOf(db.sql, tenantId, [...numbers, 0]),
    new Map([...refs.map(({ systemId }) => [systemId, refs[0]!] as const), [other.systemId, other]]),
  );
});
