/** The stored signals of a person, as the platform API lists them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock } from '../kernel/time/clock.ts';
import { FOLLOW_QUEUE } from '../profiles/index.ts';
import { startTestServer } from '../testing/server.ts';
import { cursorOf, iteratorOf } from './listing.ts';

// Without a worker, signals of a merged profile stay under its number until the test follows them.
const clock = createManualClock(Date.now());
const server = await startTestServer({ clock, config: { roles: ['api'] } });
const { lanes, signals } = server.modules;

interface Listed {
  signals: { id: string; signal: string; time: string; received_at: string; [member: string]: unknown }[];
  iterator: string | null;
}

async function list(identifier: string, query: Record<string, string> = {}) {
  const path = `/v2/organizations/${server.organization}/profiles/${encodeURIComponent(identifier)}/signals`;
  const answer = await fetch(`${server.origin}${path}?${new URLSearchParams(query)}`, {
    headers: { 'x-apikey': server.apiKey },
  });
  return { status: answer.status, body: (await answer.json()) as Listed };
}

const idsOf = async (identifier: string, query: Record<string, string> = {}) =>
  (await list(identifier, query)).body.signals.map(({ id }) => id);

async function send(who: object, ...ids: string[]): Promise<void> {
  clock.advance(1);
  const answer = await fetch(`${server.origin}/signals/v1`, {
    method: 'POST',
    headers: { 'x-api-key': server.sdkKey, 'content-type': 'application/json' },
    body: JSON.stringify({
      events: ids.map((id) => ({
        id,
        signal: 'browse',
        payload: { sections: [['shoes']], ...who },
        marketingId: `campaign of ${id}`,
      })),
    }),
  });
  const { results } = (await answer.json()) as { results: { success: boolean }[] };
  assert.ok(results.every(({ success }) => success));
}

/** All pages, as lists of ids. */
async function pagesOf(identifier: string, take: number): Promise<string[][]> {
  const pages: string[][] = [];
  let iterator: string | null = null;
  do {
    const query: Record<string, string> = iterator === null ? {} : { iterator };
    const { body }: { body: Listed } = await list(identifier, { take: String(take), ...query });
    pages.push(body.signals.map(({ id }) => id));
    iterator = body.iterator;
  } while (iterator !== null);
  return pages;
}

test('a person is found by any identifier, and a signal is shown as it is stored', async () => {
  const email = 'ada@example.com';
  await send({ email }, 'a-1');
  await send({ email: 'bob@example.com' }, 'b-1');
  const { status, body } = await list('Ada@example.com');
  assert.equal(status, 200);
  const [first] = body.signals;
  const { time, received_at, ...rest } = first!;
  assert.deepEqual(rest, {
    id: 'a-1',
    signal: 'browse',
    payload: { sections: [['shoes']], idType: 'email', email },
    marketing_id: 'campaign of a-1',
    tracking_param: null,
    origin: 'claimed',
  });
  for (const text of [time, received_at]) assert.equal(new Date(text).toISOString(), text);
  assert.deepEqual([body.signals.length, body.iterator], [1, null]);

  const { id, systemId } = (await server.modules.profiles.find(server.tenant.id, { email }))!;
  assert.deepEqual(await idsOf(id), ['a-1']);
  assert.deepEqual(await idsOf(String(systemId), { idType: 'system' }), ['a-1']);
  assert.equal((await list(email, { idType: 'external' })).status, 404);
  assert.equal((await list('nobody@example.com')).status, 404);
});

test('pages follow each other from the newest on, also while signals arrive', async () => {
  const who = { email: 'pages@example.com' };
  await send(who, 'p-1', 'p-2', 'p-3');
  await send(who, 'p-4', 'p-5');
  const newest = ['p-5', 'p-4', 'p-3', 'p-2', 'p-1'];
  assert.deepEqual(await idsOf(who.email), newest);
  assert.deepEqual(
    await pagesOf(who.email, 1),
    newest.map((id) => [id]),
  );
  assert.deepEqual(await pagesOf(who.email, 2), [['p-5', 'p-4'], ['p-3', 'p-2'], ['p-1']]);
  assert.deepEqual(await pagesOf(who.email, 5), [newest], 'a full last page has no iterator');

  const { iterator } = (await list(who.email, { take: '2' })).body;
  await send(who, 'p-6');
  assert.deepEqual(await idsOf(who.email, { take: '2', iterator: iterator! }), ['p-3', 'p-2']);
});

test('the signals of a merged person are listed together, before and after they were moved', async () => {
  const email = 'merged@example.com';
  const external = { idType: 'external', customerId: 'c-1' };
  await send({ email }, 'm-1');
  await send(external, 'm-2');
  await send({ email }, 'm-3');
  await send({ email, customerId: 'c-1' }, 'm-4');
  await send(external, 'm-5');
  const all = ['m-5', 'm-4', 'm-3', 'm-2', 'm-1'];
  const numbers = () => server.modules.db.sql`
    select distinct profile from signals where tenant_id = ${server.tenant.id} and id like 'm-%'`;
  assert.equal((await numbers()).length, 2, 'nothing was moved yet');
  for (const identifier of [email, 'c-1']) assert.deepEqual(await idsOf(identifier), all);
  assert.deepEqual(await pagesOf(email, 2), [['m-5', 'm-4'], ['m-3', 'm-2'], ['m-1']]);

  const { iterator } = (await list(email, { take: '3' })).body;
  const stop = await signals.work();
  await lanes.idle(FOLLOW_QUEUE);
  await stop(0);
  assert.equal((await numbers()).length, 1, 'all were moved');
  assert.deepEqual(await idsOf(email, { iterator: iterator! }), ['m-2', 'm-1']);
  assert.deepEqual(await idsOf('c-1'), all);
});

test('a page that cannot be is refused', async () => {
  await send({ email: 'refused@example.com' }, 'r-1');
  const table: Record<string, string>[] = [
    { take: '0' },
    { take: '1001' },
    { take: 'all' },
    { iterator: '' },
    { iterator: 'x' },
    { iterator: Buffer.from('1.').toString('base64url') },
    { limit: '5' },
  ];
  for (const query of table)
    assert.equal((await list('refused@example.com', query)).status, 400, JSON.stringify(query));
  assert.deepEqual(await idsOf('refused@example.com', { take: '1000' }), ['r-1']);
});

test('an iterator names its signal again, and other texts name none', () => {
  for (const id of ['s-1', 'a.b', 'é%000a'])
    assert.deepEqual(cursorOf(iteratorOf({ arrivedAt: 1_767_225_600_123_001, id })), {
      arrivedAt: 1_767_225_600_123_001,
      id,
    });
  const encoded = (text: string) => Buffer.from(text).toString('base64url');
  for (const text of [
    '',
    '!',
    encoded('1.'),
    encoded('.a'),
    encoded('01.a'),
    encoded('-1.a'),
    encoded('1.a\0'),
    `${encoded('1.a')}=`,
  ])
    assert.equal(cursorOf(text), null, text);
  assert.equal(cursorOf(encoded('9999999999999999.a')), null, 'no time that a number holds exactly');
});
