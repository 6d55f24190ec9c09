import assert from 'node:assert/strict';
import { describe, mock, test } from 'node:test';
import { accepted, createStorages, type FakePage, openFakePage, type Post } from '../testing/fake-page.ts';
import { start as startTracker, survey } from '../testing/fake-tracker.ts';
import { createTracker } from './tracker.ts';

const big = (bytes: number) => ({ ...survey, categories: 'x'.repeat(bytes) });
const quiet = { options: { logLevel: 'silent' } } as const;

const start = (options?: Parameters<typeof startTracker>[0]) => startTracker(options, quiet);
const ids = (posts: Post[]) => posts.flatMap(({ body }) => body.events.map(({ id }) => id));
const entriesIn = ({ storages }: FakePage) =>
  Object.keys(storages.local).filter((name) => /^_sb\.q \S+ \S/.test(name));

describe('batches', () => {
  test('hold 50 events at most, and go one after the other, in order', async () => {
    const { page, tracker } = start();
    for (let index = 0; index < 120; index++) tracker.startSurvey({ ...survey, objectId: `${index}` });
    await page.pass(1000);
    assert.deepEqual(
      page.posts.map(({ body }) => body.events.length),
      [50, 50, 20],
    );
    const expected = Array.from({ length: 120 }, (_, index) => `${index}`);
    assert.deepEqual(
      page.events().map(({ payload }) => payload.objectId),
      expected,
    );
    page.answer = () => undefined;
    tracker.startSurvey(survey);
    await page.pass(500);
    tracker.startSurvey(survey);
    await page.pass(5000);
    assert.equal(page.posts.length, 4, 'the next one waits for the answer');
  });

  test('hold 30 kB at most, or one event', async () => {
    const { page, tracker } = start();
    for (const bytes of [20_000, 9_000, 9_000, 90_000, 10]) tracker.startSurvey(big(bytes));
    await page.pass(1000);
    assert.deepEqual(
      page.posts.map(({ body }) => body.events.length),
      [2, 1, 1, 1],
    );
    assert.deepEqual(
      page.posts.map(({ keepalive }) => keepalive),
      [true, true, false, true],
      'over 64 KiB no keep-alive',
    );
  });

  test('are halved when the server finds them too large', async () => {
    const { page, tracker } = start();
    page.answer = (post) => (post.body.events.length > 2 ? { status: 413 } : accepted(post));
    const results = Array.from({ length: 9 }, () => tracker.startSurvey(survey));
    await page.pass(2000);
    assert.deepEqual(new Set((await Promise.all(results)).map(({ success }) => success)), new Set([true]));
  });

  test('do not mix keys', async () => {
    const { page, tracker } = start();
    tracker.startSurvey(survey);
    await tracker.setApiKey('other');
    tracker.startSurvey(survey);
    tracker.startSurvey(survey);
    page.hide();
    assert.deepEqual(
      page.posts.map(({ way, body }) => [way, body.key, body.events.length]),
      [
        ['beacon', 'key', 1],
        ['beacon', 'other', 2],
      ],
    );
    await page.pass(1000);
    assert.deepEqual(
      page.posts.slice(2).map(({ headers, body }) => [headers['X-Api-Key'], body.key, body.events.length]),
      [
        ['key', 'key', 1],
        ['other', 'other', 2],
      ],
    );
  });

  test('are sent again with the same ids and a new sentAt', async () => {
    const { page, tracker } = start();
    page.answer = (post) => (page.posts.length < 3 ? { status: 503 } : accepted(post));
    tracker.startSurvey(survey);
    await page.pass(9000);
    assert.equal(page.posts.length, 3);
    assert.equal(new Set(ids(page.posts)).size, 1);
    assert.equal(new Set(page.posts.map(({ body }) => body.sentAt)).size, 3);
    assert.equal(new Set(page.events().map(({ time }) => time)).size, 1);
  });

  test('wait as long as Retry-After says, whatever else is called meanwhile', async () => {
    const { page, tracker } = start();
    page.answer = (post) =>
      page.posts.length === 1 ? { status: 429, headers: { 'Retry-After': '20' } } : accepted(post);
    tracker.startSurvey(survey);
    await page.pass(5_000);
    tracker.updateSurvey(survey);
    await page.pass(14_000);
    assert.equal(page.posts.length, 1);
    await page.pass(4_000);
    assert.deepEqual(
      page.posts.map(({ body }) => body.events.length),
      [1, 2],
    );
  });

  test('wait as long as Retry-After says, also when the next call came before the answer', async () => {
    const { page, tracker } = start();
    page.answer = (post) =>
      page.posts.length === 1
        ? { status: 429, headers: { 'Retry-After': '20' }, delay: 150 }
        : accepted(post);
    tracker.startSurvey(survey);
    await page.pass(250);
    tracker.updateSurvey(survey);
    await page.pass(19_000);
    assert.equal(page.posts.length, 1);
  });

  test('go at once when the network is back', async () => {
    const { page, tracker } = start();
    page.answer = () => ({ status: 0 });
    tracker.startSurvey(survey);
    await page.pass(30_000);
    page.answer = accepted;
    const before = page.posts.length;
    page.fire('online');
    await page.pass(0);
    assert.equal(page.posts.length, before + 1);
    assert.deepEqual(entriesIn(page), []);
  });

  test('with a success that is none (a captive portal) are sent again', async () => {
    const { page, tracker } = start();
    page.answer = (post) =>
      page.posts.length === 1 ? { status: 200, body: 'Please sign in to the WLAN' } : accepted(post);
    const result = tracker.startSurvey(survey);
    await page.pass(3000);
    assert.deepEqual(await result, { success: true });
    assert.equal(page.posts.length, 2);
  });

  test('push the oldest out when a megabyte waits, and say so', async () => {
    const { page, tracker } = start();
    page.answer = () => ({ status: 503 });
    const results = Array.from({ length: 13 }, () => tracker.startSurvey(big(90_000)));
    assert.equal((await results[0])?.error?.code, 'network');
    assert.equal(entriesIn(page).length, 11);
    page.answer = accepted;
    await page.pass(60_000);
    assert.match(page.posts.at(-1)!.body.sdk, /\{"overflow":2\}$/);
  });
});

describe('a page that is left', () => {
  test('sends what waits by beacon: plain text, the key in the body, no header', async () => {
    const { page, tracker } = start();
    tracker.startSurvey(survey);
    page.hide();
    assert.deepEqual(
      page.posts.map(({ way, headers, body }) => ({ way, headers, key: body.key })),
      [{ way: 'beacon', headers: {}, key: 'key' }],
    );
  });

  test('does not send twice because it is hidden and then left', () => {
    const { page, tracker } = start();
    tracker.startSurvey(survey);
    page.fire('pagehide');
    page.hide();
    page.fire('pagehide');
    assert.equal(page.posts.length, 1);
  });

  test('asks for a verdict when it stays alive, and settles the promise', async () => {
    const { page, tracker } = start();
    const result = tracker.startSurvey(survey);
    page.hide();
    await page.pass(500);
    assert.deepEqual(await result, { success: true });
    assert.deepEqual(
      page.posts.map(({ way }) => way),
      ['beacon', 'fetch'],
    );
    assert.equal(new Set(ids(page.posts)).size, 1);
    assert.deepEqual(entriesIn(page), []);
  });

  test('sends by beacon once more when a try in between failed', async () => {
    const jitter = mock.method(Math, 'random', () => 1);
    const { page, tracker } = start();
    page.answer = () => ({ status: 0 });
    tracker.startSurvey(survey);
    page.hide();
    await page.pass(300);
    page.fire('pagehide');
    assert.deepEqual(
      page.posts.map(({ way }) => way),
      ['beacon', 'fetch', 'beacon'],
    );
    jitter.mock.restore();
  });

  test('splits what the browser does not take at once, oldest first', () => {
    const { page, tracker } = start();
    let quota = 65_536;
    page.takesBeacon = (bytes) => {
      if (bytes > quota) return false;
      quota -= bytes;
      return true;
    };
    for (let index = 0; index < 20; index++) tracker.startSurvey({ ...big(4_000), objectId: `${index}` });
    page.hide();
    const taken = page.events().map(({ payload }) => Number(payload.objectId));
    assert.ok(taken.length >= 14, `${taken.length} of 20 fit into 64 KiB`);
    assert.deepEqual(
      taken,
      taken.toSorted((a, b) => a - b),
    );
    assert.equal(new Set(taken).size, taken.length);
  });

  test('sends what is in flight as well, last', async () => {
    const { page, tracker } = start();
    page.answer = () => undefined;
    tracker.startSurvey(survey);
    await page.pass(300);
    tracker.updateSurvey(survey);
    page.hide();
    assert.deepEqual(
      page.posts.at(-1)?.body.events.map(({ signal }) => signal),
      ['survey/update', 'survey/start'],
    );
  });
});

describe('the journal', () => {
  test('keeps an event until its verdict', async () => {
    const { page, tracker } = start();
    page.answer = () => undefined;
    tracker.startSurvey(survey);
    assert.equal(entriesIn(page).length, 1);
    await page.pass(60_000);
    assert.equal(entriesIn(page).length, 1);
  });

  test('of a page that said good-bye is taken over by the next one at once', async () => {
    const { page, tracker } = start();
    page.answer = () => undefined;
    tracker.startSurvey(survey);
    page.fire('pagehide');
    const { page: next } = start({ storages: page.storages });
    await next.pass(500);
    assert.deepEqual(ids(next.posts), ids(page.posts));
    assert.equal(next.posts[0]?.headers['X-Api-Key'], 'key');
    assert.deepEqual(entriesIn(next), []);
  });

  test('of a page that crashed is taken over when its lease is old, and not before', async () => {
    const { page, tracker } = start();
    page.answer = () => undefined;
    tracker.startSurvey(survey);
    await page.pass(0);
    const { page: next } = start({ storages: page.storages, now: 1_800_000_010_000 });
    await next.pass(150_000);
    assert.equal(next.posts.length, 0);
    await next.pass(60_000);
    assert.equal(ids(next.posts).length, 1);
    assert.deepEqual(Object.keys(next.storages.local).length, 1, 'nothing is left but its own lease');
  });

  test('gives up events that are older than three days', async () => {
    const { page, tracker } = start();
    page.answer = () => undefined;
    tracker.startSurvey(survey);
    page.fire('pagehide');
    const { page: next, tracker: later } = start({
      storages: page.storages,
      now: 1_800_000_000_000 + 73 * 3_600_000,
    });
    later.updateSurvey(survey);
    await next.pass(500);
    assert.deepEqual(
      next.events().map(({ signal }) => signal),
      ['survey/update'],
    );
    assert.match(next.posts[0]!.body.sdk, /\{"expired":1\}$/);
  });

  test('throws away what it cannot read', async () => {
    const storages = createStorages();
    storages.local.setItem('_sb.q gone a', '{');
    storages.local.setItem('_sb.q gone b', '[]');
    storages.local.setItem('_sb.q gone c', 'null');
    storages.local.setItem('mine', 'stays');
    const { page } = start({ storages });
    await page.pass(500);
    assert.equal(page.posts.length, 0);
    assert.deepEqual(
      Object.keys(storages.local).filter((name) => /gone|mine/.test(name)),
      ['mine'],
    );
  });

  test('comes back with a page from the back/forward cache', async () => {
    const { page, tracker } = start();
    page.answer = () => undefined;
    tracker.startSurvey(survey);
    page.fire('pagehide');
    page.fire('pageshow', { persisted: true });
    await page.pass(300);
    const { page: other } = start({ storages: page.storages, now: 1_800_000_001_000 });
    await other.pass(500);
    assert.equal(other.posts.length, 0);
  });

  test('is sent again when the page comes back from there, for a request of before may never be answered', async () => {
    const { page, tracker } = start();
    page.answer = () => undefined;
    const result = tracker.startSurvey(survey);
    await page.pass(300);
    page.fire('pagehide');
    page.answer = accepted;
    page.fire('pageshow', { persisted: true });
    await page.pass(300);
    assert.deepEqual(
      page.posts.map(({ way }) => way),
      ['fetch', 'beacon', 'fetch'],
    );
    assert.equal(new Set(ids(page.posts)).size, 1);
    assert.deepEqual(await result, { success: true });
    assert.deepEqual(entriesIn(page), []);
  });

  test('an answer to what was sent again meanwhile counts for nothing', async () => {
    const { page, tracker } = start();
    page.answer = () => ({ status: 401, delay: 1000 });
    const result = tracker.startSurvey(survey);
    await page.pass(300);
    page.fire('pagehide');
    page.answer = (post) => ({ ...accepted(post), delay: 2000 });
    await page.pass(3000);
    assert.deepEqual(await result, { success: true });
  });

  test('waits as long as the server asked for, also if the page was away meanwhile', async () => {
    const { page, tracker } = start();
    page.answer = () => ({ status: 429, headers: { 'Retry-After': '30' } });
    tracker.startSurvey(survey);
    await page.pass(300);
    page.fire('pagehide');
    page.fire('pageshow', { persisted: true });
    await page.pass(29_000);
    assert.deepEqual(
      page.posts.map(({ way }) => way),
      ['fetch', 'beacon'],
    );
  });

  test('does without a storage that is full', async () => {
    const storages = createStorages();
    storages.local.setItem = () => {
      throw new Error('QuotaExceededError');
    };
    const { page, tracker } = start({ storages });
    const result = tracker.startSurvey(survey);
    await page.pass(500);
    assert.deepEqual(await result, { success: true });
  });

  test('is taken over into a storage that is full without loss', async () => {
    const { page, tracker } = start();
    page.answer = () => undefined;
    tracker.startSurvey(survey);
    await page.pass(500);
    page.fire('pagehide');
    const { local } = page.storages;
    const used = () =>
      Object.entries(local).reduce((sum, [name, value]) => sum + `${name}${value}`.length, 0);
    const setItem = local.setItem.bind(local);
    const quota = used() + 100;
    const bounded = (name: string, value: string) => {
      if (used() + name.length + value.length > quota) throw new Error('QuotaExceededError');
      setItem(name, value);
    };
    Object.defineProperty(local, 'setItem', { value: bounded });
    const { page: offline } = start({ storages: page.storages });
    offline.answer = () => undefined;
    await offline.pass(500);
    offline.fire('pagehide');
    const { page: last } = start({ storages: page.storages });
    await last.pass(500);
    assert.deepEqual(ids(last.posts), [page.events()[0]!.id]);
  });

  test('is not sent from a page that has not been told yet where to, and with which key', async (t) => {
    const { page, tracker } = start();
    page.answer = () => undefined;
    tracker.startSurvey(survey);
    page.fire('pagehide');
    page.close();
    const next = openFakePage({ storages: page.storages });
    t.after(next.close);
    const later = createTracker();
    // As a host of static pages answers whoever posts to it.
    next.answer = (post) => (post.url.startsWith('https://') ? accepted(post) : { status: 403 });
    await next.pass(5000);
    later.setApiHost('https://signals.example');
    later.setApiKey('key');
    await next.pass(1000);
    assert.deepEqual(
      next.posts.map(({ url }) => url),
      ['https://signals.example/signals/v1'],
    );
    assert.deepEqual(ids(next.posts), ids(page.posts));
  });
});
