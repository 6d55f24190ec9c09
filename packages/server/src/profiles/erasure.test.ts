/** Forgetting persons, also while others speak of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AnySql } from '../kernel/db/database.ts';
import { guid } from '../kernel/ids.ts';
import { HOUR } from '../kernel/time/clock.ts';
import type { Identification } from './index.ts';
import { openTestProfiles, person, things } from './profiles.fixture.ts';

const { db, clock, profiles, another, resolve, one } = await openTestProfiles();

test('forgetting removes the profile, its aliases and what modules hold, and who comes back is someone new', async () => {
  const tenantId = guid();
  const forgetting = another();
  const calls: unknown[] = [];
  forgetting.register(things({ erase: async (_tx, subject) => calls.push(subject) }));
  const [ada] = await resolve(tenantId, { email: 'ada@x' });
  clock.advance(1);
  const [alias] = await resolve(tenantId, { externalId: 'ada' });
  await one(tenantId, { email: 'ada@x', externalId: 'ada' });
  const bystander = await one(tenantId, person('bob'));

  const forgotten = await forgetting.forget(tenantId, { externalId: 'ada' });
  assert.deepEqual(forgotten, { profileId: ada!.id, removed: { things: 1 } });
  assert.equal(await forgetting.forget(tenantId, { externalId: 'ada' }), undefined);
  for (const { id, systemId } of [ada!, alias!]) {
    assert.equal(await profiles.find(tenantId, { id }), undefined);
    assert.equal(await profiles.find(tenantId, { systemId }), undefined);
  }
  assert.equal((await profiles.find(tenantId, { email: 'bob@example.com' }))?.id, bystander.id);

  const back = await one(tenantId, { email: 'ada@x' });
  assert.notEqual(back.id, ada!.id);
  assert.ok(back.systemId !== ada!.systemId && back.systemId !== alias!.systemId);

  await forgetting.maintain();
  assert.equal(calls.length, 1, 'the last sweep waits for transactions that were under way');
  clock.advance(HOUR);
  await forgetting.maintain();
  await forgetting.maintain();
  assert.equal(calls.length, 2);
  const subject = {
    tenantId,
    profileIds: [ada!.id, alias!.id],
    systemIds: [ada!.systemId, alias!.systemId],
    identifiers: [
      { kind: 'email', value: 'ada@x' },
      { kind: 'external', value: 'ada' },
    ],
  };
  assert.deepEqual(calls, [subject, subject]);
  const rows = await db.sql`select subject from profile_erasures where tenant_id = ${tenantId}`;
  assert.deepEqual(rows[0]?.subject, null, 'nothing of the person is left in the record of it');
});

test('an erasure that cannot be finished stays open, and holds up no other', async () => {
  const tenantId = guid();
  const forgetting = another();
  let broken: string | undefined;
  forgetting.register(
    things({
      async erase(_tx, { profileIds }) {
        if (profileIds.includes(broken!)) throw new Error('not now');
        return 0;
      },
    }),
  );
  const [first, second] = [await one(tenantId, person('first')), await one(tenantId, person('second'))];
  await forgetting.forget(tenantId, { id: first.id });
  clock.advance(1);
  await forgetting.forget(tenantId, { id: second.id });
  const open = async () =>
    (
      await db.sql`select id from profile_erasures where tenant_id = ${tenantId} and completed_at is null`
    ).map(({ id }) => id);
  clock.advance(HOUR);
  broken = first.id;
  await forgetting.maintain();
  assert.deepEqual(await open(), [first.id]);
  broken = undefined;
  await forgetting.maintain();
  assert.deepEqual(await open(), []);
});

/** The same statements, and something that happens when one of the first has been answered. */
function interrupted<S extends AnySql>(sql: S, after: number, meanwhile: () => Promise<unknown>): S {
  let selects = 0;
  return new Proxy(sql, {
    apply(target, self, args: [TemplateStringsArray, ...unknown[]]) {
      const statement = Reflect.apply(target, self, args);
      const { raw } = args[0];
      // What ends with an offset is part of another statement.
      const isSelect = /^\s*select/.test(raw?.[0] ?? '') && !/offset 0$/.test(raw.at(-1)!);
      if (!isSelect || ++selects !== after) return statement;
      return statement.then(async (rows: unknown) => {
        await meanwhile();
        return rows;
      });
    },
  });
}

/** Between the look at the identifiers and the look at their profiles, and after both. */
const MOMENTS = [1, 2];

test('whoever is told of while they are forgotten is someone new, with every name', async () => {
  const [a, b] = [person('a'), person('b')];
  const table: [before: Identification[], told: Identification][] = [
    [[a, { ...a, email: 'a2@example.com' }], a],
    [[{ email: b.email }, { externalId: b.externalId }], b],
  ];
  for (const [before, told, moment] of table.flatMap((row) => MOMENTS.map((at) => [...row, at] as const))) {
    const tenantId = guid();
    for (const identification of before) await one(tenantId, identification);
    let tries = 0;
    const [ref] = await db.transaction((tx) => {
      const forget = () => profiles.forget(tenantId, { email: told.email! });
      const sql = tries++ === 0 ? interrupted(tx.sql, moment, forget) : tx.sql;
      return profiles.resolve({ ...tx, sql }, tenantId, [told]);
    });
    for (const selector of [{ email: told.email! }, { externalId: told.externalId! }])
      assert.equal((await profiles.find(tenantId, selector))?.id, ref!.id);
  }
});

test('a person who is merged while they are forgotten is forgotten', async () => {
  for (const moment of MOMENTS) {
    const tenantId = guid();
    const { email, externalId } = person('merged');
    const younger = { email };
    await one(tenantId, { externalId });
    clock.advance(1);
    await one(tenantId, younger);
    const sql = interrupted(db.sql, moment, () => one(tenantId, { email, externalId }));
    assert.ok(await another({ ...db, sql }).forget(tenantId, younger));
    for (const selector of [{ email }, { externalId }])
      assert.equal(await profiles.find(tenantId, selector), undefined);
  }
});

test('an export holds what every module keeps of the person, under all numbers', async () => {
  const tenantId = guid();
  const exporting = another();
  exporting.register(things({ export: async (_sql, { systemIds }) => systemIds.map((own) => ({ own })) }));
  exporting.register(things({ name: 'names', export: async (_sql, { identifiers }) => identifiers }));
  const older = await one(tenantId, { email: 'ada@example.com' });
  clock.advance(1);
  const younger = await one(tenantId, { externalId: 'ada' });
  const link = person('ada');
  await one(tenantId, link);
  const { profile, data } = (await exporting.exportOf(tenantId, { externalId: 'ada' }))!;
  assert.deepEqual(profile, await profiles.find(tenantId, { id: older.id }));
  assert.deepEqual(data.things, [{ own: older.systemId }, { own: younger.systemId }]);
  assert.deepEqual(
    new Set(data.names?.map(({ value }: { value?: string }) => value)),
    new Set(Object.values(link)),
  );
  assert.equal(await exporting.exportOf(tenantId, { externalId: 'nobody' }), undefined);
});
