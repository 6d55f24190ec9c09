/** The built script in a real browser. Loss under faults has its own file, `loss.browser.test.ts`. */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { validateSignal } from '@signalbox/signals';
import { contractCases } from '@signalbox/signals/contract-cases';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { chromiumPath, crash, doAndHide, launchBrowser, ready, shellPath } from '../testing/browser.ts';
import { type PageServer, startPages } from '../testing/pages.ts';
import { type Receiver, startReceiver } from '../testing/receiver.ts';
import { until } from '../testing/wait.ts';
import type { Result } from './result.ts';

const survey = { objectId: 's-1', objectName: 'Survey' };

describe('in Chromium', { skip: !chromiumPath && 'there is no Chromium here' }, () => {
  let browser: Browser;
  let receiver: Receiver;
  let pages: PageServer;
  let context: BrowserContext;
  const errors: string[] = [];

  before(async () => {
    receiver = await startReceiver();
    pages = await startPages({ host: receiver.origin, options: { logLevel: 'silent' } });
    browser = await launchBrowser(shellPath);
  });
  after(async () => {
    await browser.close();
    await pages.close();
    await receiver.close();
  });
  afterEach(async () => {
    await context.close();
    receiver.reply = () => undefined;
    tests++;
    receiver.from = site();
    receiver.requests.length = receiver.events.length = receiver.preflights = 0;
    assert.deepEqual(errors.splice(0), []);
  });

  const watch = (page: Page): Page => page.on('pageerror', (error) => errors.push(`${error}`));
  let tests = 0;
  /** Each test has a site of its own. */
  const site = (): string => pages.origin.replace('localhost', `test-${tests}.localhost`);
  const openPage = async (path = '/', from = browser): Promise<Page> => {
    context = await from.newContext();
    const page = watch(await context.newPage());
    receiver.from = site();
    await page.goto(receiver.from + path);
    if (!['/stub', '/nothing'].includes(path)) await ready(page);
    return page;
  };
  const signalNames = () => receiver.events.map(({ signal }) => signal);

  test('a tag with the key is enough: batches arrive, after one preflight, with header and verdict', async () => {
    const page = await openPage();
    const results = await page.evaluate(async (payload) => {
      const first = await Promise.all([
        window.Tracker.startSurvey(payload),
        window.Tracker.updateSurvey(payload),
      ]);
      return [...first, await window.Tracker.completeSurvey(payload)];
    }, survey);
    assert.deepEqual(results, [{ success: true }, { success: true }, { success: true }]);
    assert.deepEqual(signalNames(), ['survey/start', 'survey/update', 'survey/complete']);
    assert.equal(receiver.requests.length, 2);
    assert.equal(receiver.preflights, 1);
    for (const { headers } of receiver.requests) {
      assert.equal(headers['x-api-key'], 'key');
      assert.equal(headers['content-type'], 'application/json');
      assert.equal(headers.cookie, undefined);
    }
  });

  test('what leaves with the page is plain text, with the key in the body and without a preflight', async () => {
    const page = await openPage();
    await doAndHide(page, (payload) => void window.Tracker.startSurvey(payload), survey);
    await until('the beacon arrives', () => receiver.events.length === 1);
    const [{ headers, body, preflights }] = receiver.requests as [Receiver['requests'][0]];
    assert.match(headers['content-type']!, /^text\/plain/);
    assert.equal(headers['x-api-key'], undefined);
    assert.equal(body.key, 'key');
    // Before it, that is: the page lives on, and makes sure of its signal in the ordinary way some time later.
    assert.equal(preflights, 0);
  });

  test('the browser judges every contract case as the server does', async () => {
    const page = await openPage();
    await page.evaluate(() => window.Tracker.setOptions({ serverValidationEnabled: false }));
    const cases = contractCases().filter(({ name, payload, signal }) => {
      // Before validation the tracker holds carts without id and lets null cancel.
      const held = signal.startsWith('cart/') && payload.cartId == null;
      return !held && !/\bnull$/.test(name);
    });
    assert.ok(cases.length > 5000);
    const expected = cases.map(({ signal, payload }) => validateSignal(signal, payload).error ?? null);
    const found = await page.evaluate(
      async (text) => {
        const answers: unknown[] = [];
        for (const [method, payload] of JSON.parse(text) as [string, unknown][]) {
          sessionStorage.clear();
          const call = window.Tracker[method as 'browse'] as (
            payload: unknown,
          ) => Promise<{ error?: unknown }>;
          answers.push((await call(payload)).error ?? null);
        }
        return JSON.stringify(answers);
      },
      JSON.stringify(cases.map(({ method, payload }) => [method, payload])),
    );
    const answers = JSON.parse(found) as unknown[];
    expected.forEach((error, index) => {
      assert.deepEqual(answers[index], error, cases[index]!.name);
    });
  });

  test('calls before the script was there are made when it comes, with their own time and result', async () => {
    const page = await openPage('/stub');
    const called = Date.now();
    await page.addScriptTag({ url: '/tracker.js' });
    const results = await page.evaluate(() =>
      Promise.all((window as unknown as { early: Promise<unknown>[] }).early),
    );
    assert.deepEqual(results, [{ success: true }, { success: true }]);
    const { time, payload } = receiver.events[0]!;
    assert.equal(payload.objectId, 'early');
    assert.ok(time <= called, 'the time of the call, not of the script');
    assert.equal(receiver.requests[0]?.headers['x-api-key'], 'key');
  });

  test('a call before the script is answered within ten seconds, also when the script comes late and gets no answer', async () => {
    const page = await openPage('/stub');
    await page.clock.install();
    receiver.reply = () => ({ status: 503 });
    await page.evaluate((payload) => {
      window.Tracker.updateSurvey(payload).then((result) => Object.assign(window, { answer: result }));
    }, survey);
    await page.clock.runFor(6_000);
    await page.addScriptTag({ url: '/tracker.js' });
    const answer = () => page.evaluate(() => (window as unknown as { answer?: Result }).answer);
    assert.equal(await answer(), undefined);
    await page.clock.runFor(4_000);
    assert.equal((await answer())?.error?.code, 'network');
    receiver.reply = () => undefined;
    await until('what stayed queued arrives', async () => {
      await page.clock.runFor(1_000);
      return signalNames().includes('survey/update');
    });
  });

  test('a script that is there twice is one tracker', async () => {
    const page = await openPage();
    const same = await page.evaluate(async () => {
      const first = window.Tracker;
      const script = document.createElement('script');
      script.src = '/tracker.js';
      const loaded = new Promise((resolve) => script.addEventListener('load', resolve));
      document.head.append(script);
      await loaded;
      return first === window.Tracker;
    });
    assert.equal(same, true);
  });

  test('the module works without a tag', async () => {
    const page = await openPage('/nothing');
    const result = await page.evaluate(
      async ([host, payload]) => {
        const { Tracker } = await import('/module.js' as string);
        Tracker.setApiHost(host);
        Tracker.setApiKey('key');
        return Tracker.startSurvey(payload);
      },
      [receiver.origin, survey] as const,
    );
    assert.deepEqual(result, { success: true });
    assert.equal(await page.evaluate(() => 'Tracker' in window), false);
  });

  test('a strict policy is not violated, neither by sending nor by leaving', async () => {
    const page = await openPage('/strict');
    const policy: string[] = [];
    page.on(
      'console',
      (message) => message.text().includes('Content Security Policy') && policy.push(message.text()),
    );
    const result = await page.evaluate((payload) => window.Tracker.startSurvey(payload), survey);
    assert.deepEqual(result, { success: true });
    await doAndHide(page, (payload) => void window.Tracker.updateSurvey(payload), survey);
    await until('the beacon arrives', () => receiver.events.length === 2);
    assert.deepEqual(policy, []);
  });

  test('a blocked receiver fails quietly: network after 10 seconds, and the page goes on', async () => {
    const page = await openPage();
    await page.clock.install();
    await context.route(`${receiver.origin}/**`, (route) => route.abort('blockedbyclient'));
    const result = page.evaluate((payload) => window.Tracker.startSurvey(payload), survey);
    for (let second = 0; second < 11; second++) {
      await page.clock.runFor(1000);
      await page.evaluate(() => 0);
    }
    assert.equal((await result).error?.code, 'network');
  });

  test('a Sync call blocks and tells the verdict; while the page is left it becomes a beacon', async (t) => {
    // Its shell leaves a page otherwise.
    const chromium = await launchBrowser();
    t.after(() => chromium.close());
    const page = await openPage('/', chromium);
    const results = await page.evaluate((payload) => {
      const answered = window.Tracker.startSurveySync(payload);
      const refused = window.Tracker.startSurveySync({} as never);
      window.addEventListener('pagehide', () => {
        localStorage.setItem('leaving', JSON.stringify(window.Tracker.completeSurveySync(payload)));
      });
      return [answered, refused.error?.code];
    }, survey);
    assert.deepEqual(results, [{ success: true }, 'validation']);
    await context.route(`${receiver.origin}/**`, (route) => route.abort('connectionrefused'));
    const unreached = await page.evaluate((payload) => window.Tracker.updateSurveySync(payload), survey);
    assert.equal(unreached.error?.code, 'network');
    await context.unroute(`${receiver.origin}/**`);
    await page.goto(`${site()}/nothing`);
    await until('the beacon arrives', () => signalNames().includes('survey/complete'));
    assert.equal(await page.evaluate(() => localStorage.getItem('leaving')), '{"success":true}');
  });

  test('in a frame it works too, and asks for storage only after a click', async () => {
    context = await browser.newContext();
    await context.addInitScript(() => {
      Object.assign(window, { asked: 0 });
      document.requestStorageAccess = async () => {
        (window as unknown as { asked: number }).asked++;
      };
    });
    const page = watch(await context.newPage());
    await page.goto(`${site()}/frame`);
    const frame = page.frames()[1]!;
    await frame.waitForFunction(() => window.Tracker);
    assert.deepEqual(await frame.evaluate((payload) => window.Tracker.startSurvey(payload), survey), {
      success: true,
    });
    const asked = () => frame.evaluate(() => (window as unknown as { asked: number }).asked);
    assert.equal(await asked(), 0);
    await page.locator('iframe').click();
    await page.locator('iframe').click();
    assert.equal(await asked(), 1);
    await page.goto(site());
    await page.locator('html').click();
    assert.equal(
      await page.evaluate(() => (window as unknown as { asked: number }).asked),
      0,
      'never outside of a frame',
    );
  });

  test('identity and held carts live in the tab: a reload keeps them, another tab has its own', async () => {
    const page = await openPage();
    await page.evaluate(async () => {
      await window.Tracker.signIn({ email: 'ada@example.com' });
      await window.Tracker.addToCart({ items: [{ sku: 'a', quantity: 1 }] });
    });
    await page.reload();
    await ready(page);
    await page.evaluate(() => window.Tracker.setCartId('c-1'));
    const other = watch(await context.newPage());
    await other.goto(site());
    await ready(other);
    await other.evaluate((payload) => window.Tracker.startSurvey(payload), survey);
    assert.deepEqual(
      receiver.events.map(({ signal, payload }) => [signal, payload.email, payload.cartId]),
      [
        ['identity/signin', 'ada@example.com', undefined],
        ['cart/add', 'ada@example.com', 'c-1'],
        ['survey/start', undefined, undefined],
      ],
    );
  });

  test('a lock is held only while a signal is on its way: in Firefox one would keep the page out of the back/forward cache', async () => {
    const page = await openPage();
    const locks = () => page.evaluate(async () => (await navigator.locks.query()).held!.length);
    assert.equal(await locks(), 0);
    receiver.reply = () => ({ status: 503, headers: { 'Retry-After': '1' } });
    await page.evaluate((payload) => void window.Tracker.startSurvey(payload), survey);
    await until('it is held', async () => (await locks()) === 1);
    receiver.reply = () => undefined;
    await until('the signal arrives', () => receiver.events.length === 1);
    await until('it is given back', async () => (await locks()) === 0);
  });

  test('a tab leaves the journal of a living tab alone, and takes over that of a dead one', async () => {
    const page = await openPage();
    receiver.reply = () => ({ status: 503 });
    await page.evaluate((payload) => void window.Tracker.startSurvey(payload), survey);
    await until('the first try', () => receiver.requests.length > 0);
    const other = watch(await context.newPage());
    await other.goto(site());
    await ready(other);
    const journal = () =>
      other.evaluate(() => Object.keys(localStorage).filter((name) => name.startsWith('_sb.q')));
    const [entry] = await journal();
    const owner = entry?.split(' ')[1];
    await other.evaluate((payload) => window.Tracker.updateSurveyTagMgr(payload), survey);
    await until('the other one tries as well', () =>
      receiver.requests.some(({ body }) => body.events[0]?.signal === 'survey/update'),
    );
    assert.ok((await journal()).includes(entry!), 'still under its own name');
    assert.ok(receiver.requests.every(({ body }) => body.events.length === 1));
    await crash(page);
    receiver.reply = () => undefined;
    const third = watch(await context.newPage());
    await third.goto(site());
    await until('both arrive', () => receiver.events.length === 2);
    await until('nothing is left', async () => (await journal()).length === 0);
    assert.ok(owner);
  });
});
