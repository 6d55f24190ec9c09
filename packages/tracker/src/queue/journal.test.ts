import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { accepted, createStorages, openFakePage } from '../../testing/fake-page.ts';
import { entriesIn, idsIn, startQuietly, survey } from '../../testing/fake-tracker.ts';
import { createTracker } from '../tracker.ts';

describe('the journal', () => {
  test('keeps an event until its verdict', async () => {
    const { page, tracker } = startQuietly();
    page.answer = () => undefined;
    tracker.startSurvey(survey);
    assert.equal(entriesIn(page).length, 1);
    await page.pass(60_000);
    assert.equal(entriesIn(page).length, 1);
  });

  test('of a page that said good-bye is taken over by the next one at once', async () => {
    const { page, tracker } = startQuietly();
    page.answer = () => undefined;
    tracker.startSurvey(survey);
    page.fire('pagehide');
    const { page: next } = startQuietly({ storages: page.storages });
    await next.pass(500);
    assert.deepEqual(idsIn(next.posts), idsIn(page.posts));
    assert.equal(next.posts[0]?.headers['X-Api-Key'], 'key');
    assert.deepEqual(entriesIn(next), []);
  });

  test('of a page that crashed is taken over when its lease is old, and not before', async () => {
    const { page, tracker } = startQuietly();
    page.answer = () => undefined;
    tracker.startSurvey(survey);
    await page.pass(0);
    const { page: next } = startQuietly({ storages: page.storages, now: 1_800_000_010_000 });
    await next.pass(150_000);
    assert.equal(next.posts.length, 0);
    await next.pass(60_000);
    assert.equal(idsIn(next.posts).length, 1);
    assert.deepEqual(Object.keys(next.storages.local).length, 1, 'nothing is left but its own lease');
  });

  test('gives up events that are older than three days', async () => {
    const { page, tracker } = startQuietly();
    page.answer = () => undefined;
    tracker.startSurvey(survey);
    page.fire('pagehide');
    const { page: next, tracker: later } = startQuietly({
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
    const { page } = startQuietly({ storages });
    await page.pass(500);
    assert.equal(page.posts.length, 0);
    assert.deepEqual(
      Object.keys(storages.local).filter((name) => /gone|mine/.test(name)),
      ['mine'],
    );
  });

  test('comes back with a page from the back/forward cache', async () => {
    const { page, tracker } = startQuietly();
    page.answer = () => undefined;
    tracker.startSurvey(survey);
    page.fire('pagehide');
    page.fire('pageshow', { persisted: true });
    await page.pass(300);
    const { page: other } = startQuietly({ storages: page.storages, now: 1_800_000_001_000 });
    await other.pass(500);
    assert.equal(other.posts.length, 0);
  });

  test('does without a storage that is full', async () => {
    const storages = createStorages();
    storages.local.setItem = () => {
      throw new Error('QuotaExceededError');
    };
    const { page, tracker } = startQuietly({ storages });
    const result = tracker.startSurvey(survey);
    await page.pass(500);
    assert.deepEqual(await result, { success: true });
  });

  test('is taken over into a storage that is full without loss', async () => {
    const { page, tracker } = startQuietly();
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
    const { page: offline } = startQuietly({ storages: page.storages });
    offline.answer = () => undefined;
    await offline.pass(500);
    offline.fire('pagehide');
    const { page: last } = startQuietly({ storages: page.storages });
    await last.pass(500);
    assert.deepEqual(idsIn(last.posts), [page.events()[0]!.id]);
  });

  test('is not sent from a page that has not been told yet where to, and with which key', async (t) => {
    const { page, tracker } = startQuietly();
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
    assert.deepEqual(idsIn(next.posts), idsIn(page.posts));
  });
});
