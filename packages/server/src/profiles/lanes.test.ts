/** Where persons and their identifiers lie, and the copy of `do_not_track` that lies there. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { guid, laneOfId } from '../kernel/ids.ts';
import { ALL_LANES, LANES, laneOf, laneOfNumber } from '../kernel/lanes/lane-of.ts';
import { untilWaiting } from '../testing/locks.ts';
import { type Identification, identifiersOf, laneOfIdentifier } from './index.ts';
import { openTestProfiles, person } from './profiles.fixture.ts';
import { setDoNotTrack } from './store/profiles.ts';

const { db, clock, profiles, another, resolve, one } = await openTestProfiles();
const elsewhere = another();

const laneOfEmail = (email: string) => laneOf(`email ${email}`);
const laneOfExternal = (externalId: string) => laneOf(`external ${externalId}`);

test('a new person has the lane of the first identifier, which the id and the number name', async () => {
  const table: [identifications: Identification[], lane: number][] = [
    [[{ email: ' Ada@Example.com' }], laneOfEmail('ada@example.com')],
    [[{ externalId: 'C-1' }], laneOfExternal('C-1')],
    [[{ externalId: 'C-2', email: 'bob@x' }], laneOfEmail('bob@x')],
    [
      [{ externalId: 'C-3' }, { externalId: 'C-3', email: 'b@x' }, { externalId: 'C-3', email: 'a@x' }],
      laneOfEmail('b@x'),
    ],
    [
      [
        { email: 'z@x', externalId: '1' },
        { email: 'a@x', externalId: '2' },
        { email: 'a@x', externalId: '1' },
      ],
      laneOfEmail('z@x'),
    ],
  ];
  for (const [identifications, lane] of table) {
    const tenantId = guid();
    const [ref] = await resolve(tenantId, ...identifications);
    assert.deepEqual([laneOfNumber(ref!.systemId), laneOfId(ref!.id)], [lane, lane]);
    const rows = await db.sql`select lane from profiles where tenant_id = ${tenantId}`;
    assert.deepEqual([...rows], [{ lane }]);
  }
});

test('an identifier lies in the lane of its own text, and finds the person wherever that one lies', async () => {
  const tenantId = guid();
  const names = Array.from({ length: 20 }, (_, index) => `name ${index}`);
  const refs = [];
  for (const externalId of names) refs.push(await one(tenantId, { email: 'ada@x', externalId }));
  assert.deepEqual(new Set(refs.map(({ id }) => id)).size, 1);
  for (const externalId of names)
    assert.equal((await profiles.find(tenantId, { externalId }))?.id, refs[0]!.id);
  const rows = await db.sql<{ kind: 'email' | 'external'; value: string; lane: number }[]>`
    select kind, value, lane from profile_identifiers where tenant_id = ${tenantId}`;
  assert.equal(rows.length, names.length + 1);
  for (const row of rows) assert.equal(row.lane, laneOfIdentifier(row));
  assert.ok(new Set(rows.map(({ lane }) => lane)).size > 5);
});

test('numbers begin at 1 in each lane, and processes share a lane without a number of two', async () => {
  const tenantId = guid();
  const people = Array.from({ length: 300 }, (_, index) => person(`n${index}`));
  const refs = await Promise.all(
    people.map((each, index) => {
      const { resolve: resolveHere } = index % 2 === 0 ? profiles : elsewhere;
      return db.transaction((tx) => resolveHere(tx, tenantId, [each, people[(index + 1) % people.length]!]));
    }),
  );
  const numbers = new Set(refs.flat().map((ref) => ref!.systemId));
  assert.equal(numbers.size, people.length);
  assert.ok(Math.min(...numbers) >= LANES, 'no one has the number of nobody');
  const fresh = await resolve(guid(), ...people);
  for (const lane of ALL_LANES) {
    const own = fresh.map((ref) => ref!.systemId).filter((systemId) => laneOfNumber(systemId) === lane);
    assert.deepEqual(
      own.map((systemId) => systemId >> 6),
      own.map((_, index) => index + 1),
    );
  }
});

test('identifiers of the same text and another kind are told apart, whatever characters are in them', async () => {
  const tenantId = guid();
  const texts = ['a', '{}', 'null', '"', '\\', 'a,b', 'a\nb', "'", '%', ' b'];
  const emails = texts.map((text) => ({ email: `${text}@x` }));
  const external = texts.flatMap((text) => [{ externalId: text }, { externalId: `${text}@x` }]);
  const refs = await resolve(tenantId, ...emails, ...external);
  assert.equal(new Set(refs.map((ref) => ref!.id)).size, refs.length);
  assert.deepEqual(await resolve(tenantId, ...emails, ...external), refs);
});

/** Identifiers whose copy differs from their profile, or whose profile does not live. */
const disagreeing = (tenantId: string) => db.sql`
  select kind, value, owner.system_id, owner.do_not_track, profile.do_not_track as theirs, merged_into
  from profile_identifiers as owner left join profiles as profile using (tenant_id, system_id)
  where tenant_id = ${tenantId}
    and (profile.do_not_track is distinct from owner.do_not_track or merged_into is not null)`;

test('every identifier says what its profile says about tracking, whatever happens at the same time', async () => {
  const identification = fc.record({
    email: fc.option(fc.constantFrom('a@x', 'b@x', 'c@x'), { freq: 3 }),
    externalId: fc.option(fc.constantFrom('1', '2', '3'), { freq: 3 }),
  });
  const step = fc.oneof(
    fc.record({ batch: fc.array(identification, { minLength: 1, maxLength: 3 }) }),
    fc.record({ who: identification, doNotTrack: fc.boolean() }),
    fc.record({ gone: identification }),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(step, { minLength: 1, maxLength: 5 }), { maxLength: 5 }),
      async (rounds) => {
        const tenantId = guid();
        for (const steps of rounds) {
          clock.advance(1);
          await Promise.all(
            steps.map(async (each) => {
              if ('batch' in each) return resolve(tenantId, ...each.batch);
              const [identifier] = identifiersOf('who' in each ? each.who : each.gone);
              if (identifier === undefined) return undefined;
              const { kind, value } = identifier;
              const selector = kind === 'email' ? { email: value } : { externalId: value };
              if ('gone' in each) return profiles.forget(tenantId, selector);
              return profiles.setDoNotTrack(tenantId, selector, each.doNotTrack);
            }),
          );
          assert.deepEqual([...(await disagreeing(tenantId))], []);
        }
      },
    ),
    { numRuns: 100 },
  );
});

test('an identifier that is linked while the person is set to do not track says so too', async () => {
  const tenantId = guid();
  const { systemId } = await one(tenantId, { email: 'a@x' });
  const profile = { tenantId, systemId, doNotTrack: true, now: new Date(clock.now()) };
  const linked = await db.transaction(async ({ sql }) => {
    await setDoNotTrack(sql, profile);
    const link = one(tenantId, { email: 'a@x', externalId: '1' });
    await untilWaiting(db, 'for update');
    return { link };
  });
  assert.equal((await linked.link).doNotTrack, true);
  assert.deepEqual([...(await disagreeing(tenantId))], []);
});
