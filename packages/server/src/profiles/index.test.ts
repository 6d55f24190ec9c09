import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { guid } from '../kernel/ids.ts';
import { HOUR } from '../kernel/time/clock.ts';
import type { Identification, ProfileRef } from './index.ts';
import { openTestProfiles, person } from './profiles.fixture.ts';

const { db, clock, profiles, another, resolve, one } = await openTestProfiles();
const elsewhere = another();

test('the same identifier is the same profile, and tenants do not share any', async () => {
  const [here, there] = [guid(), guid()];
  const ada = await one(here, { email: 'ada@example.com' });
  assert.match(ada.id, /^prf_[0-9a-z]{26}$/);
  assert.ok(Number.isInteger(ada.systemId) && ada.systemId > 0 && ada.systemId < 2 ** 31);
  assert.deepEqual(await one(here, { email: ' ADA@example.com' }), ada);
  const other = await one(there, { email: 'ada@example.com' });
  assert.notEqual(other.id, ada.id);
  assert.equal(await profiles.find(there, { id: ada.id }), undefined);
});

test('a batch answers in order, creates each person once, and leaves those alone who name nobody', async () => {
  const tenantId = guid();
  const [a, nobody, b, again, c] = await resolve(
    tenantId,
    { email: 'a@x' },
    {},
    { externalId: 'b' },
    { email: 'A@X' },
    { email: 'c@x', externalId: 'c' },
  );
  assert.equal(nobody, null);
  assert.deepEqual(again, a);
  assert.equal(new Set([a, b, c].map((ref) => ref!.systemId)).size, 3);
  const found = await profiles.find(tenantId, { externalId: 'c' });
  assert.equal(found?.id, c!.id);
  assert.equal(found?.email, 'c@x');
});

test('what becomes known of a person who is merged meanwhile is kept with the one who lives on', async () => {
  const tenantId = guid();
  const older = await one(tenantId, { email: 'eve@example.com' });
  const younger = await one(tenantId, { externalId: 'e-1' });
  await db.transaction(async (tx) => {
    await one(tenantId, { email: 'eve@example.com', externalId: 'e-1' });
    await profiles.learn(tx, tenantId, [
      { systemId: older.systemId, attributes: { city: 'Gent' }, at: clock.now() },
      { systemId: younger.systemId, attributes: { profileOptinMail: false }, at: clock.now() },
    ]);
  });
  await profiles.setDoNotTrack(tenantId, { systemId: younger.systemId }, true);
  const { attributes, optIns, doNotTrack } = (await profiles.find(tenantId, { id: older.id }))!;
  assert.deepEqual([attributes, optIns, doNotTrack], [{ city: 'Gent' }, { mail: false }, true]);
});

test('a link merges: the older id stays, the younger id, number and identifiers resolve to it', async () => {
  const tenantId = guid();
  const older = await one(tenantId, { email: 'ada@example.com' });
  clock.advance(1000);
  const younger = await one(tenantId, { externalId: 'c-1' });
  await db.transaction((tx) =>
    profiles.learn(tx, tenantId, [
      {
        systemId: older.systemId,
        attributes: { tier: 'gold', city: 'Gent', profileOptinMail: true },
        at: clock.now() - 1,
      },
      {
        systemId: younger.systemId,
        attributes: { tier: 'silver', profileOptinMail: false },
        at: clock.now(),
      },
    ]),
  );
  await profiles.setDoNotTrack(tenantId, { systemId: younger.systemId }, true);
  const linked = await one(tenantId, { email: 'ada@example.com', externalId: 'c-1' });
  assert.deepEqual(linked, { ...older, doNotTrack: true });
  for (const selector of [
    { email: 'ada@example.com' },
    { externalId: 'c-1' },
    { id: older.id },
    { id: younger.id },
    { systemId: older.systemId },
    { systemId: younger.systemId },
  ]) {
    const profile = await profiles.find(tenantId, selector);
    assert.equal(profile?.id, older.id);
    assert.equal(profile?.systemId, older.systemId);
    assert.deepEqual([profile?.email, profile?.externalId], ['ada@example.com', 'c-1']);
    assert.equal(profile?.attributes.city, 'Gent');
    assert.deepEqual(profile?.optIns, { mail: false });
    assert.equal(profile?.doNotTrack, true);
  }
  const other = await one(tenantId, { email: 'bob@example.com' });
  const untracked = await db.transaction((tx) =>
    profiles.untracked(tx, tenantId, [older.id, younger.id, other.id, 'nobody']),
  );
  assert.deepEqual(untracked, new Set([older.id, younger.id]));
});

test('a merge of merged profiles still resolves in one step', async () => {
  const tenantId = guid();
  const refs: ProfileRef[] = [];
  for (const name of ['1', '2', '3', '4']) {
    refs.push(await one(tenantId, { externalId: name }), await one(tenantId, { email: `${name}@x` }));
    clock.advance(1000);
  }
  for (const name of ['4', '3', '2', '1']) await one(tenantId, { externalId: name, email: `${name}@x` });
  await one(tenantId, { externalId: '3', email: '4@x' });
  await one(tenantId, { externalId: '2', email: '3@x' });
  await one(tenantId, { externalId: '1', email: '2@x' });
  for (const { id, systemId } of refs) {
    assert.equal((await profiles.find(tenantId, { id }))?.id, refs[0]!.id);
    assert.equal((await profiles.find(tenantId, { systemId }))?.id, refs[0]!.id);
  }
});

test('whoever changes the email address is found by both, and the newer one is in force', async () => {
  const tenantId = guid();
  const ada = await one(tenantId, { externalId: 'c-1', email: 'old@x' });
  assert.deepEqual(await one(tenantId, { externalId: 'c-1', email: 'new@x' }), ada);
  assert.equal((await profiles.find(tenantId, { email: 'old@x' }))?.email, 'new@x');
});

test('an address or a customer id that is told again, after another one, is in force again', async () => {
  const tenantId = guid();
  const ada = await one(tenantId, { externalId: 'c-1', email: 'old@x' });
  const inForce = async () => {
    const { email, externalId } = (await profiles.find(tenantId, { systemId: ada.systemId }))!;
    return [email, externalId];
  };
  await one(tenantId, { externalId: 'c-1', email: 'new@x' });
  assert.deepEqual(await one(tenantId, { externalId: 'c-1', email: 'Old@x' }), ada);
  assert.deepEqual(await inForce(), ['old@x', 'c-1']);
  await one(tenantId, { externalId: 'c-2', email: 'old@x' });
  await one(tenantId, { externalId: 'c-1', email: 'old@x' });
  assert.deepEqual(await inForce(), ['old@x', 'c-1']);
  // One name alone says nothing about the other, nor that it is the one in force.
  await one(tenantId, { email: 'new@x' });
  assert.deepEqual(await inForce(), ['old@x', 'c-1']);
});

test('a transaction that is rolled back leaves neither profile nor identifier behind', async () => {
  const tenantId = guid();
  await assert.rejects(
    db.transaction(async (tx) => {
      await profiles.resolve(tx, tenantId, [person('ada')]);
      throw new Error('changed my mind');
    }),
  );
  assert.equal(await profiles.find(tenantId, { email: 'ada@example.com' }), undefined);
  const [first, second] = await resolve(tenantId, person('ada'), person('bob'));
  assert.notEqual(first!.systemId, second!.systemId);
});

test('under concurrency every identifier gets one profile and every profile its own number', async () => {
  const tenantId = guid();
  const people = Array.from({ length: 20 }, (_, index) => person(`p${index}`));
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, round) => {
      // Each round names everyone by something else, in another order, from one of two processes.
      const identifications = people.map((each, index) =>
        (index + round) % 3 === 0
          ? each
          : (index + round) % 3 === 1
            ? { email: each.email }
            : { externalId: each.externalId },
      );
      const order = people.map((_, index) => (index * 7 + round) % people.length);
      const module = round % 2 === 0 ? profiles : elsewhere;
      return db.transaction((tx) =>
        module.resolve(
          tx,
          tenantId,
          order.map((index) => identifications[index]!),
        ),
      );
    }),
  );
  assert.ok(answers.flat().every((ref) => ref !== null));
  const final = await resolve(tenantId, ...people);
  assert.equal(new Set(final.map((ref) => ref!.id)).size, people.length);
  assert.equal(new Set(final.map((ref) => ref!.systemId)).size, people.length);
  for (const each of answers.flat()) {
    const now = await profiles.find(tenantId, { systemId: each!.systemId });
    assert.ok(
      final.some((ref) => ref!.systemId === now?.systemId),
      'every number ever answered still resolves',
    );
  }
});

test('profiles are what a model of connected components says, in whatever batches the links come', async () => {
  const identification = fc.record({
    email: fc.option(fc.constantFrom('a@x', 'b@x', 'c@x', 'd@x'), { freq: 3 }),
    externalId: fc.option(fc.constantFrom('1', '2', '3', '4'), { freq: 3 }),
  });
  const batches = fc.array(fc.array(identification, { minLength: 1, maxLength: 5 }), {
    minLength: 1,
    maxLength: 6,
  });
  await fc.assert(
    fc.asyncProperty(batches, fc.boolean(), async (given, together) => {
      const tenantId = guid();
      const model = createModel();
      const run = (batch: Identification[]) => db.transaction((tx) => profiles.resolve(tx, tenantId, batch));
      if (together) await Promise.all(given.map(run));
      for (const batch of given) {
        clock.advance(1);
        const refs = together ? [] : await run(batch);
        model.add(batch);
        // One after the other, the oldest profile of a component is known, and must be the one that is answered.
        refs.forEach((ref, index) => {
          assert.equal(ref?.id, model.oldest(batch[index]!, ref));
        });
      }
      const names = model.names();
      const final = await resolve(tenantId, ...names);
      for (const [index, name] of names.entries()) {
        for (const [other, otherName] of names.entries()) {
          const same = final[index]!.id === final[other]!.id;
          assert.equal(same, model.areOne(name, otherName), `${JSON.stringify([name, otherName])}`);
        }
      }
    }),
    { numRuns: 150 },
  );
});

/** Connected components, the slow and obvious way. */
function createModel() {
  const components: Set<string>[] = [];
  const born = new Map<string, string>();
  const namesOf = ({ email, externalId }: Identification) =>
    [email && `email ${email}`, externalId && `external ${externalId}`].filter((name) => !!name) as string[];
  const componentOf = (name: string) => components.find((component) => component.has(name));
  const toIdentification = (name: string): Identification =>
    name.startsWith('email ') ? { email: name.slice(6) } : { externalId: name.slice(9) };
  return {
    add(batch: Identification[]) {
      for (const identification of batch) {
        const joined = new Set(namesOf(identification));
        for (const component of [...components]) {
          if (![...joined].some((name) => component.has(name))) continue;
          for (const name of component) joined.add(name);
          components.splice(components.indexOf(component), 1);
        }
        if (joined.size > 0) components.push(joined);
      }
    },
    /** The id that the component had when it was first seen; a new one is taken from the answer. */
    oldest(identification: Identification, ref: ProfileRef | null | undefined): string | undefined {
      const [name] = namesOf(identification);
      if (name === undefined || !ref) return undefined;
      const ids = [...componentOf(name)!].flatMap((each) => born.get(each) ?? []).sort();
      const id = ids[0] ?? ref.id;
      for (const each of componentOf(name)!) if (!born.has(each)) born.set(each, id);
      return id;
    },
    names: () => components.flatMap((component) => [...component].map(toIdentification)),
    areOne: (a: Identification, b: Identification) =>
      componentOf(namesOf(a)[0]!) === componentOf(namesOf(b)[0]!),
  };
}

test('what becomes known is joined, later values win, and a profile does not grow without bound', async () => {
  const tenantId = guid();
  const { systemId } = await one(tenantId, { email: 'a@x' });
  const learn = (...attributes: Record<string, unknown>[]) =>
    db.transaction((tx) =>
      profiles.learn(
        tx,
        tenantId,
        attributes.map((each) => ({ systemId, attributes: each, at: clock.now() })),
      ),
    );
  await learn({ tier: 'silver', city: 'Gent' }, { tier: 'gold', profileOptinSms: true });
  await learn({});
  await learn({ huge: 'x'.repeat(70_000) });
  await learn({ age: 36 });
  const profile = await profiles.find(tenantId, { systemId });
  assert.deepEqual(profile?.attributes, { tier: 'gold', city: 'Gent', age: 36 });
  assert.deepEqual(profile?.optIns, { sms: true });
});

test('what is told late fills gaps and replaces nothing: an opt-out stays, however old the permission that comes after it', async () => {
  const tenantId = guid();
  const { systemId } = await one(tenantId, { email: 'late@x' });
  const now = clock.now();
  const tell = (...told: [ago: number, attributes: Record<string, unknown>][]) =>
    db.transaction((tx) =>
      profiles.learn(
        tx,
        tenantId,
        told.map(([ago, attributes]) => ({ systemId, attributes, at: now - ago })),
      ),
    );
  await tell([HOUR, { tier: 'new', profileOptinMail: false }]);
  await tell([2 * HOUR, { tier: 'old', city: 'Gent', profileOptinMail: true, profileOptinSms: true }]);
  const { attributes, optIns } = (await profiles.find(tenantId, { systemId }))!;
  assert.deepEqual(
    [attributes, optIns],
    [
      { tier: 'new', city: 'Gent' },
      { mail: false, sms: true },
    ],
  );
  // Of one batch: what was left behind, and what is said now.
  await tell([3 * HOUR, { city: 'Brugge', age: 35 }], [0, { age: 36, profileOptinMail: true }]);
  const then = (await profiles.find(tenantId, { systemId }))!;
  assert.deepEqual(then.attributes, { tier: 'new', city: 'Gent', age: 36 });
  assert.deepEqual(then.optIns, { mail: true, sms: true });
});

test('what is known already is not written again', async () => {
  const tenantId = guid();
  const { systemId } = await one(tenantId, { email: 'a@x' });
  const learn = () =>
    db.transaction((tx) =>
      profiles.learn(tx, tenantId, [{ systemId, attributes: { tier: 'gold' }, at: clock.now() }]),
    );
  await learn();
  const before = await profiles.find(tenantId, { systemId });
  clock.advance(HOUR - 1);
  await learn();
  assert.deepEqual(await profiles.find(tenantId, { systemId }), before);
  clock.advance(1);
  await learn();
  const after = await profiles.find(tenantId, { systemId });
  assert.deepEqual(after, { ...before, traitsAt: new Date(clock.now()) }, 'but for when it was told last');
});
