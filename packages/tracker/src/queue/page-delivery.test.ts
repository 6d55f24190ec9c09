import assert from 'node:assert/strict';
import { describe, mock, test } from 'node:test';
import { accepted } from '../../testing/fake-page.ts';
import { entriesIn, idsIn, startQuietly, survey } from '../../testing/fake-tracker.ts';

const big = (bytes: number) => ({ ...survey, categories: 'x'.repeat(bytes) });

describe('batches', () => {
  test('hold 50 events at most, and go one after the other, in order', async () => {
    const { page, tracker } = startQuietly();
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
    const { page, tracker } = startQuietly();
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
    const { page, tracker } = startQuietly();
    page.answer = (post) => (post.body.events.length > 2 ? { status: 413 } : accepted(post));
    const results = Array.from({ length: 9 }, () => tracker.startSurvey(survey));
    await page.pass(2000);
    assert.deepEqual(new Set((await Promise.all(results)).map(({ success }) => success)), new Set([true]));
  });

  test('do not mix keys', async () => {
    const { page, tracker } = startQuietly();
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
    const { page, tracker } = startQuietly();
    page.answer = (post) => (page.posts.length < 3 ? { status: 503 } : accepted(post));
    tracker.startSurvey(survey);
    await page.pass(9000);
    assert.equal(page.posts.length, 3);
    assert.equal(new Set(idsIn(page.posts)).size, 1);
    assert.equal(new Set(page.posts.map(({ body }) => body.sentAt)).size, 3);
    assert.equal(new Set(page.events().map(({ time }) => time)).size, 1);
  });

  test('wait as long as Retry-After says, whatever else is called meanwhile', async () => {
    const { page, tracker } = startQuietly();
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
    const { page, tracker } = startQuietly();
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
    const { page, tracker } = startQuietly();
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
    const { page, tracker } = startQuietly();
    page.answer = (post) =>
      page.posts.length === 1 ? { status: 200, body: 'Please sign in to the WLAN' } : accepted(post);
    const result = tracker.startSurvey(survey);
    await page.pass(3000);
    assert.deepEqual(await result, { success: true });
    assert.equal(page.posts.length, 2);
  });

  test('push the oldest out when a megabyte waits, and say so', async () => {
    const { page, tracker } = startQuietly();
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
    const { page, tracker } = startQuietly();
    tracker.startSurvey(survey);
    page.hide();
    assert.deepEqual(
      page.posts.map(({ way, headers, body }) => ({ way, headers, key: body.key })),
      [{ way: 'beacon', headers: {}, key: 'key' }],
    );
  });

  test('does not send twice because it is hidden and then left', () => {
    const { page, tracker } = startQuietly();
    tracker.startSurvey(survey);
    page.fire('pagehide');
    page.hide();
    page.fire('pagehide');
    assert.equal(page.posts.length, 1);
  });

  test('asks for a verdict when it stays alive, and settles the promise', async () => {
    const { page, tracker } = startQuietly();
    const result = tracker.startSurvey(survey);
    page.hide();
    await page.pass(500);
    assert.deepEqual(await result, { success: true });
    assert.deepEqual(
      page.posts.map(({ way }) => way),
      ['beacon', 'fetch'],
    );
    assert.equal(new Set(idsIn(page.posts)).size, 1);
    assert.deepEqual(entriesIn(page), []);
  });

  test('sends by beacon once more when a try in between failed', async () => {
    const jitter = mock.method(Math, 'random', () => 1);
    const { page, tracker } = startQuietly();
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
    const { page, tracker } = startQuietly();
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
    const { page, tracker } = startQuietly();
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

describe('a page that comes back from the back/forward cache', () => {
  test('sends again what was under way, for a request of before may never be answered', async () => {
    const { page, tracker } = startQuietly();
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
    assert.equal(new Set(idsIn(page.posts)).size, 1);
    assert.deepEqual(await result, { success: true });
    assert.deepEqual(entriesIn(page), []);
  });

  test('does not count an answer to a request of before', async () => {
    const { page, tracker } = startQuietly();
    page.answer = () => ({ status: 401, delay: 1000 });
    const result = tracker.startSurvey(survey);
    await page.pass(300);
    page.fire('pagehide');
    page.answer = (post) => ({ ...accepted(post), delay: 2000 });
    await page.pass(3000);
    assert.deepEqual(await result, { success: true });
  });

  test('waits as long as the server asked for before', async () => {
    const { page, tracker } = startQuietly();
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
});
