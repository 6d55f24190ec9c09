/** The site lookup, member by member (D18). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../testing/server.ts';
import { until } from '../testing/wait.ts';
import { originMatches } from './universe.ts';

const server = await startTestServer({ config: { roles: ['api'] } });
const { site, profiles } = server.modules;
const { id: universeId } = await site.createUniverse(server.tenant, { name: 'shop', domain: 'shop.example' });
const { id: strict } = await site.createUniverse(server.tenant, {
  name: 'strict',
  domain: 'https://strict.example/',
  demandsOrigin: true,
});

interface Result {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any;
}
async function track(body: unknown, headers: Record<string, string> = {}): Promise<Result> {
  const answer = await fetch(`${server.origin}/frontend/api/track`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: answer.status, headers: answer.headers, body: await answer.json() };
}

test('the lookup answers a pair of ids that can be passed on, the same for ever', async () => {
  const first = await track({ universeId, customIdentifier: 'c-1' });
  assert.equal(first.status, 200);
  const { body } = first;
  assert.equal(body.profileId, body.$$profileId);
  assert.match(body.$$thirdPartyId, /^\d{1,10}$/);
  assert.deepEqual(Object.keys(body.profileInfo), ['tags', 'offers', 'attributes', 'lastSeen', 'visits']);
  assert.equal(body.doNotTrack, false);
  const again = await track({ universeId, customIdentifier: 'c-1' });
  assert.deepEqual(
    [again.body.$$profileId, again.body.$$thirdPartyId],
    [body.$$profileId, body.$$thirdPartyId],
  );
});

test('fifty lookups at once of somebody new make one profile', async () => {
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => track({ universeId, customIdentifier: 'crowd' })),
  );
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
  assert.equal(new Set(answers.map(({ body }) => `${body.profileId} ${body.$$thirdPartyId}`)).size, 1);
});

test('missing and bad members are 400 with a message', async () => {
  const table: [unknown, RegExp][] = [
    [{ customIdentifier: 'c' }, /universeId/],
    [{ universeId }, /customIdentifier/],
    [{}, /universeId.*customIdentifier/],
    [{ universeId, customIdentifier: '' }, /customIdentifier/],
    [{ universeId, customIdentifier: ' \t' }, /customIdentifier must not be blank/],
    [{ universeId: ' ', customIdentifier: ' ' }, /universeId must not be blank.*customIdentifier/],
    [{ universeId, customIdentifier: 'c', isEvent: 'yes' }, /isEvent/],
    [{ universeId, customIdentifier: 'c', isevent: true }, /isevent is not a known member/],
    [{ universeId: 'u\0', customIdentifier: '\0x' }, /universeId.*customIdentifier/],
    [{ universeId, customIdentifier: 'c', referer: '/page' }, /referer/],
    [{ universeId, customIdentifier: 'c', referer: 'javascript:alert(1)' }, /referer/],
    [{ universeId, customIdentifier: 'c', referer: 'https:page' }, /referer/],
    [{ universeId, customIdentifier: 'c', referer: 'https://' }, /referer/],
  ];
  for (const [body, pattern] of table) {
    const answer = await track(body, { origin: 'https://shop.example' });
    assert.equal(answer.status, 400, JSON.stringify(body));
    assert.match(answer.body.message, pattern);
    assert.equal(answer.headers.get('access-control-allow-origin'), 'https://shop.example');
  }
});

test('a stranger origin is 401, an absent one passes unless it is demanded, an unknown universe is 404', async () => {
  const table: [string, string | undefined, number][] = [
    [universeId, 'https://shop.example', 200],
    [universeId, 'https://www.shop.example', 200],
    [universeId, 'https://evilshop.example', 401],
    [universeId, 'https://shop.example.evil', 401],
    [universeId, 'null', 401],
    [universeId, undefined, 200],
    [strict, undefined, 401],
    [strict, 'https://strict.example', 200],
    ['nope', undefined, 404],
  ];
  for (const [id, origin, status] of table) {
    const answer = await track(
      { universeId: id, customIdentifier: 'c-1' },
      origin === undefined ? {} : { origin },
    );
    assert.equal(answer.status, status, `${id} ${origin}`);
    if (status !== 200) assert.ok(answer.body.message);
  }
});

test('whatever an origin says, it is for the universe to judge, and is no violation', async () => {
  for (const origin of ['', 'no address', 'https://', 'https://[', 'x'.repeat(4000), 'a, b', 'ü'])
    assert.equal((await track({ universeId, customIdentifier: 'c-1' }, { origin })).status, 401, origin);
});

test('the description of the lookup has the origin among its parameters, as one that may be left out', async () => {
  const { paths } = (await (await fetch(`${server.origin}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { parameters?: Record<string, unknown>[] }>>;
  };
  const parameters = paths['/frontend/api/track']!.post!.parameters ?? [];
  assert.deepEqual(
    parameters.map(({ name, in: place, required }) => ({ name, place, required })),
    [{ name: 'origin', place: 'header', required: false }],
  );
});

test('origins match by domain and subdomain; the port counts except on this very machine', () => {
  const table: [string, string, boolean][] = [
    ['http://localhost:3000', 'localhost:8400', true],
    ['http://127.0.0.1:3000', 'localhost', true],
    ['https://shop.example:8443', 'shop.example', false],
    ['https://shop.example:8443', 'shop.example:8443', true],
    ['https://SHOP.example', 'shop.example', true],
    ['shop.example', 'shop.example', true],
    ['www.shop.example', 'shop.example', true],
    ['null', 'shop.example', false],
    ['notshop.example', 'shop.example', false],
    ['http://shop.localhost:3000', 'shop.localhost', true],
    ['http://www.shop.localhost', 'shop.localhost:8400', true],
    ['http://other.localhost', 'shop.localhost', false],
    ['http://localhost', 'shop.localhost', false],
    ['http://127.0.0.1:3000', 'shop.localhost', false],
    ['http://[::1]:3000', '127.0.0.1', true],
  ];
  for (const [origin, domain, matches] of table) assert.equal(originMatches(origin, domain), matches, origin);
});

test('a preflight admits any origin', async () => {
  const answer = await fetch(`${server.origin}/frontend/api/track`, {
    method: 'OPTIONS',
    headers: { origin: 'https://anywhere.example', 'access-control-request-method': 'POST' },
  });
  assert.deepEqual(
    [answer.status, answer.headers.get('access-control-allow-origin')],
    [204, 'https://anywhere.example'],
  );
});

test('a page visit counts, an event does not; a look without identification creates nobody', async () => {
  const visit = { universeId, customIdentifier: 'c-2', isEvent: false, referer: 'https://shop.example/p/1' };
  await track(visit);
  assert.equal((await track(visit)).body.profileInfo.visits, 2);
  assert.equal((await track({ ...visit, isEvent: true })).body.profileInfo.visits, 2);
  const look = { universeId, customIdentifier: 'nobody', isIdentificationRequest: false };
  assert.equal((await track(look)).status, 404);
  assert.equal(await profiles.find(server.tenant.id, { externalId: 'nobody' }), undefined);
  assert.equal((await track({ ...look, customIdentifier: 'c-2' })).status, 200);
});

test('who does not want to be tracked gets the ids, and nothing else is kept', async () => {
  for (const headers of [{ dnt: '1' }, { 'sec-gpc': '1' }] as Record<string, string>[]) {
    const { body } = await track({ universeId, customIdentifier: 'c-3', isEvent: false }, headers);
    assert.equal(body.doNotTrack, true);
    assert.ok(body.$$profileId && body.$$thirdPartyId);
  }
  assert.equal((await track({ universeId, customIdentifier: 'c-3' })).body.profileInfo.visits, 0);
  const person = await profiles.find(server.tenant.id, { externalId: 'c-3' });
  await profiles.setDoNotTrack(server.tenant.id, { systemId: person!.systemId }, true);
  assert.equal((await track({ universeId, customIdentifier: 'c-3' })).body.doNotTrack, true);
});

test('erasure of a person ends the pair', async () => {
  const before = (await track({ universeId, customIdentifier: 'c-4' })).body;
  await profiles.forget(server.tenant.id, { externalId: 'c-4' });
  const after = (await track({ universeId, customIdentifier: 'c-4' })).body;
  assert.notEqual(after.$$profileId, before.$$profileId);
  assert.notEqual(after.$$thirdPartyId, before.$$thirdPartyId);
});

test('a universe is created once, replaced, listed and deleted, and keeps the time of its creation', async () => {
  const url = `${server.origin}/v2/organizations/${server.organization}/universes`;
  const call = async (method: string, path = '', body?: unknown): Promise<Result> => {
    const answer = await fetch(url + path, {
      method,
      headers: { 'x-apikey': server.apiKey, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    });
    return { status: answer.status, headers: answer.headers, body: await answer.json() };
  };
  const created = await call('POST', '', { id: 'blog', name: 'blog', domain: 'blog.example' });
  assert.equal(created.status, 201);
  assert.equal((await call('POST', '', { id: 'blog', name: 'again', domain: 'blog.example' })).status, 409);
  await until(() => Date.now() > Date.parse(created.body.created_at));
  const changed = { name: 'journal', domain: 'journal.example', demands_origin: true };
  const replaced = await call('PUT', '/blog', changed);
  assert.deepEqual(replaced.body, { id: 'blog', ...changed, created_at: created.body.created_at });
  const listed = (await call('GET')).body.find(({ id }: { id: string }) => id === 'blog');
  assert.deepEqual(listed, replaced.body);
  assert.equal((await call('PUT', '/nope', changed)).status, 404);
  const wrong = await call('PUT', '/blog', { id: 'other', domain: '*', demands_origin: 'yes' });
  assert.equal(wrong.status, 400);
  for (const member of ['id', 'name', 'domain', 'demands_origin'])
    assert.match(wrong.body.message, new RegExp(`\\b${member} `));
  assert.equal((await call('DELETE', '/blog')).status, 200);
  assert.equal((await call('DELETE', '/blog')).status, 404);
});
