/** Dead letters through the admin API: paging, reading, deleting, sending again (D24). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newId } from '../../kernel/ids.ts';
import type { Clock } from '../../kernel/time/clock.ts';
import { DAY } from '../../kernel/time/clock.ts';
import { startTestServer } from '../../testing/server.ts';
import { until } from '../../testing/wait.ts';
import { type Api, createApi } from '../fixtures/api.ts';
import { writeLetters } from '../fixtures/letters.ts';
import { type Received, startReceiver } from '../fixtures/receiver.ts';

let shift = 0;
const clock: Clock = { now: () => Date.now() + shift };
const server = await startTestServer({ clock });
const { accounts, db } = server.modules;
const receiver = await startReceiver();

/** A tenant with a subscription, so that no test sees the letters of another. */
async function setUp(name: string) {
  const tenant = await accounts.createTenant({ name });
  const api = await createApi(server, tenant);
  const subscription = { target_url: receiver.url, filters: ['nothing.that.happens'] };
  const { body } = await api('POST', '/admin/subscriptions', subscription);
  const about = { tenantId: tenant.id, subscriptionId: body.id as string };
  return {
    tenant,
    api,
    id: about.subscriptionId,
    write: (times: number[]) => writeLetters(db, about, times),
  };
}

interface Page {
  items: { deadLetterId: string; deadLetteredAt: string }[];
  iterator: string | null;
}

async function page(api: Api, query: Record<string, string | number>): Promise<Page> {
  const { status, body } = await api(
    'GET',
    `/admin/deadletters?${new URLSearchParams(query as Record<string, string>)}`,
  );
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

/** Pages through everything; `between` runs after each page. */
async function pageThrough(api: Api, limit: number, between: (page: Page) => Promise<void> = async () => {}) {
  const ids: string[] = [];
  let iterator: string | null = '';
  while (iterator !== null) {
    const found: Page = await page(api, { limit, ...(iterator === '' ? {} : { iterator }) });
    assert.ok(found.items.length <= limit);
    ids.push(...found.items.map(({ deadLetterId }) => deadLetterId));
    iterator = found.iterator;
    await between(found);
  }
  return ids;
}

/** Several letters per millisecond, so that the order within one matters too. */
const timesUntil = (end: number, count: number) =>
  Array.from({ length: count }, (_, index) => end - Math.floor(index / 3));

const newestFirst = (letters: { id: string; deadLetteredAt: number }[]) =>
  letters
    .toSorted((a, b) => b.deadLetteredAt - a.deadLetteredAt || (a.id < b.id ? 1 : -1))
    .map(({ id }) => id);

test('a listing shows the metadata, newest first, and the iterator is null at the end', async () => {
  const { api, id, write } = await setUp('metadata');
  const [older, newer] = await write([clock.now() - 2000, clock.now() - 1000]);
  const found = await page(api, {});
  assert.equal(found.iterator, null);
  assert.deepEqual(
    found.items.map(({ deadLetterId }) => deadLetterId),
    [newer!.id, older!.id],
  );
  assert.deepEqual(found.items[0], {
    deadLetterId: newer!.id,
    subscriptionId: id,
    eventId: newer!.eventId,
    eventType: 'com.example.order.paid',
    reason: 'maximumAttemptsReached',
    totalRetries: 4,
    finalResponse: { code: 500, body: 'no' },
    deadLetteredAt: new Date(newer!.deadLetteredAt).toISOString(),
    expiresAt: new Date(newer!.deadLetteredAt + 14 * DAY).toISOString(),
  });
});

test('pages of every size cover each letter once, in order', async () => {
  const { api, write } = await setUp('pages');
  const letters = await write(timesUntil(clock.now(), 100));
  for (const limit of [1, 7, 10, 33, 99, 100, 101, 1000]) {
    assert.deepEqual(await pageThrough(api, limit), newestFirst(letters), `limit ${limit}`);
  }
});

test('a listing goes on where it was while letters come and go', async () => {
  const { api, id, write } = await setUp('coming-and-going');
  const letters = newestFirst(await write(timesUntil(clock.now() - 10_000, 90)));
  const deleted: string[] = [];
  const seen = await pageThrough(api, 10, async ({ items }) => {
    await write([clock.now(), clock.now()]);
    const [first, last, next] = [
      items[0],
      items.at(-1),
      letters[letters.indexOf(items.at(-1)!.deadLetterId) + 1],
    ];
    for (const gone of [first!.deadLetterId, last!.deadLetterId, next]) {
      if (gone === undefined) continue;
      deleted.push(gone);
      assert.equal((await api('DELETE', `/admin/deadletters/${id}/${gone}`)).status, 204);
    }
  });
  assert.equal(new Set(seen).size, seen.length, 'none twice');
  const unseen = letters.filter((letter) => !seen.includes(letter));
  assert.deepEqual(
    unseen.filter((letter) => !deleted.includes(letter)),
    [],
    'none that stayed is missing',
  );
  assert.deepEqual(
    seen,
    letters.filter((letter) => seen.includes(letter)),
    'in order, and nothing newer',
  );
});

test('a listing can be of one subscription, and never shows what belongs to others', async () => {
  const { api, tenant, write, id } = await setUp('filtered');
  const stranger = await setUp('stranger');
  const other = { tenantId: tenant.id, subscriptionId: newId('sub') };
  const now = clock.now();
  const [own] = await write([now]);
  const [beside] = await writeLetters(db, other, [now - 1]);
  await stranger.write([now]);
  const idsOf = async (query: Record<string, string>) =>
    (await page(api, query)).items.map((item) => item.deadLetterId);
  assert.deepEqual(await idsOf({}), [own!.id, beside!.id]);
  assert.deepEqual(await idsOf({ subscriptionId: id }), [own!.id]);
  assert.deepEqual(await idsOf({ subscriptionId: other.subscriptionId }), [beside!.id]);
  assert.deepEqual(await idsOf({ subscriptionId: stranger.id }), []);
  assert.deepEqual(await idsOf({ subscriptionId: 'nonsense\u0000' }), []);
});

test('limits beyond 1 to 1000 and iterators that are none are 400', async () => {
  const { api } = await setUp('limits');
  for (const [name, value] of [
    ['limit', '0'],
    ['limit', '1001'],
    ['limit', 'x'],
    ['limit', '1.5'],
    ['iterator', 'x'],
    ['iterator', ''],
    ['iterator', Buffer.from(`dl_7${'z'.repeat(25)}`).toString('base64url')],
  ]) {
    const { status, body } = await api('GET', `/admin/deadletters?${name}=${value}`);
    assert.equal(status, 400, `${name}=${value}`);
    assert.deepEqual(Object.keys(body.errors), [name]);
  }
  const { body } = await api('GET', '/admin/deadletters?limit=0&iterator=x');
  assert.deepEqual(Object.keys(body.errors).sort(), ['iterator', 'limit'], 'all that is wrong is named');
});

test('the whole letter is the event with its end; deleting it is 204 once', async () => {
  const { api, id, write } = await setUp('whole');
  const stranger = await setUp('whole-stranger');
  const [letter] = await write([clock.now()]);
  const path = `/admin/deadletters/${id}/${letter!.id}`;
  const { status, body } = await api('GET', path);
  assert.equal(status, 200);
  assert.deepEqual(body, {
    ...JSON.parse(letter!.body),
    deadletterid: letter!.id,
    deadletterreason: 'maximumAttemptsReached',
    deliveryattempts: 5,
    lasthttpstatuscode: 500,
    lastdeliveryattempttime: new Date(letter!.lastAttemptAt!).toISOString(),
  });
  const wrong = [
    path.replace(id, newId('sub')),
    path.replace(id, stranger.id),
    path.replace(letter!.id, newId('dl')),
    path.replace(letter!.id, `dl_7${'z'.repeat(25)}`),
  ];
  for (const address of [...wrong, `/admin/deadletters/${id}/nonsense`, `/admin/deadletters/${id}/%00`]) {
    assert.equal((await api('GET', address)).status, 404, address);
    assert.equal((await api('DELETE', address)).status, 404, address);
  }
  assert.equal((await stranger.api('GET', path)).status, 404);
  assert.equal((await stranger.api('DELETE', path)).status, 404);
  assert.equal((await api('DELETE', path)).status, 204);
  assert.equal((await api('DELETE', path)).status, 404);
  assert.equal((await api('GET', path)).status, 404);
});

const at = (time: number) => new Date(time).toISOString();
const idsOf = (received: Received[]) => received.map(({ headers }) => headers['webhook-id']).sort();

test('rescheduling takes the letters between the bounds, both included, and sends them under their old ids', async () => {
  const { api, id, write } = await setUp('reschedule');
  const begin = clock.now() - 10_000;
  const letters = await write([begin, begin + 1, begin + 2, begin + 3, begin + 4]);
  const path = `/admin/deadletters/${id}`;
  const range = { from: at(begin + 1), until: at(begin + 3) };
  const dry = await api('POST', `${path}?dryRun=true`, range);
  assert.deepEqual([dry.status, dry.body, dry.headers.get('location')], [202, { matched: 3 }, null]);
  const misspelt = await api('POST', `${path}?dryrun=true`, range);
  assert.deepEqual([misspelt.status, Object.keys(misspelt.body.errors)], [400, ['dryrun']]);
  assert.equal((await page(api, {})).items.length, 5);

  receiver.received.length = 0;
  const { status, body, headers } = await api('POST', path, range);
  assert.deepEqual([status, body], [202, { matched: 3 }]);
  await until(() => receiver.received.length === 3);
  assert.deepEqual(
    idsOf(receiver.received),
    letters
      .slice(1, 4)
      .map(({ eventId }) => eventId)
      .sort(),
  );
  for (const { body: text } of receiver.received) assert.ok(letters.some((letter) => letter.body === text));
  const left = (await page(api, {})).items.map(({ deadLetterId }) => deadLetterId);
  assert.deepEqual(left, [letters[4]!.id, letters[0]!.id]);
  const place = headers.get('location')!;
  await until(async () => (await api('GET', place)).body.state === 'completed');
  const { createdAt, ...state } = (await api('GET', place)).body;
  assert.deepEqual(state, {
    id: place.split('/').at(-1),
    subscriptionId: id,
    matched: 3,
    rescheduled: 3,
    state: 'completed',
  });
});

test('rescheduling without letters in the range matches none', async () => {
  const { api, id } = await setUp('reschedule-none');
  const range = { from: at(0), until: at(clock.now()) };
  const { status, body, headers } = await api('POST', `/admin/deadletters/${id}`, range);
  assert.deepEqual([status, body, headers.get('location')], [202, { matched: 0 }, null]);
  for (const time of ['0000-01-01T00:00:00Z', '9999-12-31T23:59:59-14:00']) {
    const answer = await api('POST', `/admin/deadletters/${id}`, { from: time, until: time });
    assert.deepEqual([answer.status, answer.body], [202, { matched: 0 }], time);
  }
});

test('a range needs both bounds, in order', async () => {
  const { api, id } = await setUp('range');
  const table: [body: unknown, members: string[]][] = [
    [{}, ['from', 'until']],
    [{ from: at(1) }, ['until']],
    [{ from: at(2), until: at(1) }, ['from']],
    [{ from: 'x', until: 3 }, ['from', 'until']],
    [{ from: at(1), until: at(2), to: at(3) }, ['to']],
  ];
  for (const [body, members] of table) {
    const answer = await api('POST', `/admin/deadletters/${id}`, body);
    assert.equal(answer.status, 400);
    assert.deepEqual(Object.keys(answer.body.errors).sort(), members);
  }
});

test('a thousand letters are sent again, each once, and a second reschedule finds nothing', async () => {
  const { api, id, write } = await setUp('thousand');
  const begin = clock.now() - 60_000;
  const letters = await write(Array.from({ length: 1234 }, (_, index) => begin + index));
  receiver.received.length = 0;
  const range = { from: at(begin), until: at(clock.now()) };
  assert.equal((await api('POST', `/admin/deadletters/${id}`, range)).body.matched, 1234);
  await until(() => receiver.received.length >= 1234);
  assert.deepEqual(idsOf(receiver.received), letters.map(({ eventId }) => eventId).sort());
  assert.equal((await api('POST', `/admin/deadletters/${id}`, range)).body.matched, 0);
});

test('a cancelled reschedule leaves the rest of the letters where they are', async () => {
  const { api, id, write } = await setUp('cancelled');
  const begin = clock.now() - 100_000;
  await write(Array.from({ length: 20_000 }, (_, index) => begin + index));
  const { headers } = await api('POST', `/admin/deadletters/${id}`, {
    from: at(begin),
    until: at(clock.now()),
  });
  const place = headers.get('location')!;
  assert.equal((await api('DELETE', place)).status, 204);
  assert.equal((await api('DELETE', place)).status, 204);
  const { body } = await api('GET', place);
  assert.equal(body.state, 'cancelled');
  assert.ok(body.rescheduled < 20_000, `${body.rescheduled} were on their way`);
  const dry = await api('POST', `/admin/deadletters/${id}?dryRun=true`, {
    from: at(begin),
    until: at(clock.now()),
  });
  assert.equal(dry.body.matched, 20_000 - body.rescheduled);
  const stranger = await setUp('cancelled-stranger');
  assert.equal((await stranger.api('GET', place)).status, 404);
  assert.equal((await stranger.api('DELETE', place)).status, 404);
});

test('the letters of a deleted subscription can be read, but not sent again', async () => {
  const { api, id, write } = await setUp('deleted');
  const [letter] = await write([clock.now()]);
  assert.equal((await api('DELETE', `/admin/subscriptions/${id}`)).status, 204);
  assert.equal((await api('GET', `/admin/deadletters/${id}/${letter!.id}`)).status, 200);
  assert.equal((await page(api, {})).items.length, 1);
  const range = { from: at(0), until: at(clock.now()) };
  assert.equal((await api('POST', `/admin/deadletters/${id}`, range)).status, 404);
  assert.equal((await api('DELETE', `/admin/deadletters/${id}/${letter!.id}`)).status, 204);
});

test('a letter is gone from every answer at the moment it expires', async () => {
  const before = await setUp('expiry');
  const [first, second] = await before.write([clock.now() - 60_000, clock.now()]);
  shift = 14 * DAY - 30_000;
  const api = await createApi(server, before.tenant);
  const items = async () => (await page(api, {})).items.map(({ deadLetterId }) => deadLetterId);
  assert.deepEqual(await items(), [second!.id]);
  assert.equal((await api('GET', `/admin/deadletters/${before.id}/${first!.id}`)).status, 404);
  assert.equal((await api('DELETE', `/admin/deadletters/${before.id}/${first!.id}`)).status, 404);
  assert.equal((await api('GET', `/admin/deadletters/${before.id}/${second!.id}`)).status, 200);
  const range = { from: at(0), until: at(clock.now()) };
  assert.equal((await api('POST', `/admin/deadletters/${before.id}?dryRun=true`, range)).body.matched, 1);
  shift = 0;
});

/** Enough for many pages; `LETTERS=1000000` takes the million. */
const MANY = Number(process.env.LETTERS ?? 25_000);

test(`a listing pages through ${MANY} letters, each once and in order`, async () => {
  const { api, write } = await setUp('many');
  const end = clock.now() - 60_000;
  for (let start = 0; start < MANY; start += 50_000) {
    await write(timesUntil(end - start, Math.min(50_000, MANY - start)));
  }
  const ids = await pageThrough(api, 1000);
  assert.equal(ids.length, MANY);
  assert.equal(new Set(ids).size, MANY);
  const times = ids.map((id) => id.slice(0, 13));
  assert.deepEqual(times, times.toSorted().reverse());
});
