import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { startSignalServer } from './server.fixture.ts';

const { clock, server, browse, send, stored } = await startSignalServer();

test('a person who is named becomes a profile; both names together link; sign-out and strangers belong to nobody', async () => {
  const { profiles } = server.modules;
  const tenantId = server.tenant.id;
  const email = `${randomUUID()}@example.com`;
  const customerId = randomUUID();
  const events = [
    browse({ payload: { sections: [['a']] } }),
    browse({
      signal: 'identity/signin',
      payload: { email, profileAttributes: { profileTier: 'silver', profileOptinMail: true } },
    }),
    browse({ payload: { idType: 'email', email: email.toUpperCase(), sections: [['a']] } }),
    browse({ signal: 'identity/signout', payload: {} }),
    browse({ payload: { sections: [['a']] } }),
    browse({
      payload: {
        idType: 'external',
        customerId,
        sections: [['a']],
        profileAttributes: { profileTier: 'gold' },
      },
    }),
  ];
  await send(events);
  const byEmail = await profiles.find(tenantId, { email });
  const byCustomer = await profiles.find(tenantId, { externalId: customerId });
  assert.notEqual(byEmail?.systemId, byCustomer?.systemId);
  const owners = await Promise.all(events.map(async ({ id }) => (await stored(id))?.profile));
  assert.deepEqual(owners, [0, byEmail?.systemId, byEmail?.systemId, 0, 0, byCustomer?.systemId]);
  assert.deepEqual([byEmail?.attributes, byEmail?.optIns], [{ profileTier: 'silver' }, { mail: true }]);

  clock.advance(1000);
  await send([
    browse({
      signal: 'identity/signin',
      payload: { idType: 'email', email, customerId, profileAttributes: { age: '36' } },
    }),
  ]);
  const linked = await profiles.find(tenantId, { externalId: customerId });
  assert.equal(linked?.systemId, byEmail!.systemId, 'the older one stays');
  assert.deepEqual((await profiles.find(tenantId, { email }))?.id, linked?.id);
  assert.deepEqual(linked?.attributes, { profileTier: 'gold', age: '36' });
});

test('a blank customer id beside an email address links nobody', async () => {
  const emails = [randomUUID(), randomUUID()].map((name) => `${name}@example.com`);
  await send(
    emails.map((email) => browse({ signal: 'identity/signin', payload: { email, customerId: '  ' } })),
  );
  const { profiles } = server.modules;
  const persons = await Promise.all(emails.map((email) => profiles.find(server.tenant.id, { email })));
  assert.deepEqual(
    persons.map((person) => [person?.email, person?.externalId]),
    emails.map((email) => [email, null]),
  );
  assert.notEqual(persons[0]?.id, persons[1]?.id);
});

test('attributes are taken in the order in which things happened, not in which they came', async () => {
  const email = `${randomUUID()}@example.com`;
  const signIn = (time: number, tier: string) =>
    browse({ signal: 'identity/signin', time, payload: { email, profileAttributes: { tier } } });
  const now = clock.now();
  await send([signIn(now, 'newest'), signIn(now - 2000, 'oldest'), signIn(now - 1000, 'middle')]);
  assert.equal((await server.modules.profiles.find(server.tenant.id, { email }))?.attributes.tier, 'newest');
});

for (const [circumstance, times] of [
  ['without times', [undefined, undefined]],
  ['with times that the clock was set back behind', [60_000, 60_001]],
] as const) {
  test(`events ${circumstance} count in the order of their batch, whatever their ids are`, async () => {
    const email = `${randomUUID()}@example.com`;
    const [first, last] = times.map((ahead, index) =>
      browse({
        id: `${'zyx'[index]}${randomUUID()}`,
        signal: 'identity/signin',
        time: ahead && clock.now() + ahead,
        payload: { email, profileAttributes: { tier: ['first', 'last'][index] } },
      }),
    );
    await send([first, last]);
    assert.equal((await server.modules.profiles.find(server.tenant.id, { email }))?.attributes.tier, 'last');
  });
}

test('of two addresses of a customer the one that was told last is in force, whatever the ids are', async () => {
  const customerId = randomUUID();
  const told = (id: string, ago: number, email: string) =>
    browse({
      id: id + customerId.slice(1),
      signal: 'identity/signin',
      time: clock.now() - ago,
      payload: { email: `${email}.${customerId}@example.com`, customerId },
    });
  await send([told('z', 2000, 'former'), told('a', 1000, 'present')]);
  const profile = await server.modules.profiles.find(server.tenant.id, { externalId: customerId });
  assert.equal(profile?.email, `present.${customerId}@example.com`);
});

test('of whoever does not want to be tracked nothing is kept, and the answer does not tell', async () => {
  const { profiles } = server.modules;
  const email = `${randomUUID()}@example.com`;
  await send([browse({ signal: 'identity/signin', payload: { email } })]);
  const profile = await profiles.find(server.tenant.id, { email });
  await profiles.setDoNotTrack(server.tenant.id, { systemId: profile!.systemId }, true);
  const event = browse({ payload: { email, sections: [['a']], profileAttributes: { secret: 'yes' } } });
  assert.deepEqual((await send([event, browse()])).body.results, [{ success: true }, { success: true }]);
  assert.equal(await stored(event.id), undefined);
  assert.deepEqual((await profiles.find(server.tenant.id, { email }))?.attributes, {});
});

test('a person is marked not to be tracked, and tracked again, over the platform API', async () => {
  const email = `${randomUUID()}@example.com`;
  const act = async () => {
    const event = browse({ payload: { email, sections: [['a']] } });
    await send([event]);
    return (await stored(event.id)) !== undefined;
  };
  const patch = async (body: object, name = email) => {
    const path = `/v2/organizations/${server.organization}/profiles/${encodeURIComponent(name)}`;
    const headers = { 'x-apikey': server.apiKey, 'content-type': 'application/json' };
    const init = { method: 'PATCH', headers, body: JSON.stringify(body) };
    const answer = await fetch(`${server.origin}${path}`, init);
    return [
      answer.status,
      ((await answer.json()) as { profile?: { do_not_track: boolean } }).profile?.do_not_track,
    ];
  };
  assert.equal(await act(), true);
  for (const doNotTrack of [true, false]) {
    assert.deepEqual(await patch({ do_not_track: doNotTrack }), [200, doNotTrack]);
    assert.equal(await act(), !doNotTrack);
  }
  for (const wrong of [{}, { do_not_track: 'yes' }, { do_not_track: true, email: 'new@example.com' }])
    assert.deepEqual(await patch(wrong), [400, undefined], JSON.stringify(wrong));
  assert.deepEqual(await patch({ do_not_track: true }, 'nobody@example.com'), [404, undefined]);
});

test('a person can be looked up and forgotten over the platform API, signals and all', async () => {
  const email = `${randomUUID()}@example.com`;
  const event = browse({ payload: { email, sections: [['a']], profileAttributes: { profileCity: 'Gent' } } });
  await send([event]);
  const at = `${server.origin}/v2/organizations/${server.organization}/profiles/${encodeURIComponent(email)}`;
  const call = async (method: string, path = at) => {
    const answer = await fetch(path, { method, headers: { 'x-apikey': server.apiKey } });
    return { status: answer.status, body: (await answer.json()) as Record<string, never> };
  };
  const found = await call('GET');
  assert.equal(found.status, 200);
  const { profile } = found.body as unknown as { profile: Record<string, unknown> };
  assert.deepEqual([profile.email, profile.attributes], [email, { profileCity: 'Gent' }]);

  assert.equal((await call('DELETE', at.replace(server.organization, 'nowhere'))).status, 404);
  const gone = await call('DELETE', `${at}?idType=email`);
  const { removed, ...envelope } = gone.body as unknown as { removed: Record<string, number> };
  assert.deepEqual([gone.status, envelope], [200, { result_code: 'Succeeded', message: null, errors: [] }]);
  assert.equal(removed.signals, 1);
  assert.equal(await stored(event.id), undefined);
  const again = await call('DELETE');
  assert.deepEqual([again.status, again.body.result_code], [404, 'NotFound']);
  assert.equal(
    (await call('GET', `${at.replace(encodeURIComponent(email), '1')}?idType=colour`)).status,
    400,
  );
});

test('an opt-out holds from the answer on, before the signal is followed', async () => {
  const own = await startSignalServer({ config: { roles: ['api'] } });
  const email = `${randomUUID()}@example.com`;
  const optIn = (value: boolean) =>
    own.send([
      own.browse({
        signal: 'identity/signin',
        payload: { email, profileAttributes: { profileOptinMail: value } },
      }),
    ]);
  for (const value of [true, false]) {
    own.clock.advance(1000);
    await optIn(value);
    const profile = await own.server.modules.profiles.find(own.server.tenant.id, { email });
    assert.deepEqual(profile?.optIns, { mail: value });
  }
  const followed = await own.server.modules.db.sql`select from person_activity`;
  assert.equal(followed.count, 0);
});
