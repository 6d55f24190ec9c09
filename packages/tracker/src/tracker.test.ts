import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { signalMethods, signals } from '@signalbox/signals';
import { configurationMethods } from '../build/methods.ts';
import manifest from '../package.json' with { type: 'json' };
import { accepted, type FakePage } from '../testing/fake-page.ts';
import { items, outcome, start, survey } from '../testing/fake-tracker.ts';
import type { Result } from './result.ts';

describe('the methods', () => {
  test('are those of the specification, signals with their variants, and no others', () => {
    const { tracker } = start();
    const variants = signalMethods.flatMap((name) => [name, `${name}Sync`, `${name}TagMgr`]);
    assert.deepEqual(Object.keys(tracker).sort(), [...variants, ...Object.keys(configurationMethods)].sort());
    assert.equal(signalMethods.length * 3 + Object.keys(configurationMethods).length, 106);
  });

  test('of every signal send it under its wire name and resolve with success', async () => {
    const { page, tracker } = start();
    const payloads: Record<string, unknown> = {
      signIn: { email: 'ada@example.com' },
      browse: { sections: [['shoes']] },
      signUp: { objectType: 'site' },
      cancel: { objectType: 'site' },
    };
    for (const name of signalMethods) {
      const payload = payloads[name] ?? {
        ...survey,
        cartId: 'c',
        conversionId: 'v',
        conversionName: 'V',
        ...(/Cart$|^review/.test(name) ? { items: [{ ...items[0], name: 'n' }] } : {}),
      };
      const call = tracker[name] as (payload: unknown) => Promise<unknown>;
      assert.deepEqual(await outcome(page, call(payload)), { success: true }, name);
      assert.equal(page.events().at(-1)?.signal, signals[name].wire);
    }
  });
});

describe('whatever it is given, no method throws or rejects', () => {
  const throws = () => {
    throw new Error('mine');
  };
  const circular: Record<string, unknown> = {};
  circular.items = [circular];
  circular.profileAttributes = circular;
  const { proxy: revoked, revoke } = Proxy.revocable({}, {});
  revoke();
  const nasty = new Proxy({}, { get: throws, has: throws, ownKeys: throws, getPrototypeOf: throws });
  const table: [name: string, value: unknown][] = [
    ['nothing', undefined],
    ['null', null],
    ['a symbol', Symbol('s')],
    ['a BigInt', 7n],
    ['a function', throws],
    ['a circle', circular],
    ['an object without a text', Object.create(null)],
    ['an object whose text throws', { toString: throws, toJSON: throws }],
    ['a proxy that throws', nasty],
    ['a proxy that is revoked', revoked],
    ['members that throw', { email: nasty, cartId: nasty, items: nasty, profileAttributes: nasty }],
    ['members that are no text', { email: 7n, idType: Symbol('s'), cartId: throws, items: [Symbol('s')] }],
  ];
  for (const options of [{}, { disableValidations: true }, { clientValidationEnabled: false }]) {
    for (const [name, value] of table) {
      test(`${name}, with ${JSON.stringify(options)}`, async () => {
        const { page, tracker } = start({}, { options: { ...options, logLevel: 'silent' } });
        const methods = Object.values(tracker) as ((value: unknown) => unknown)[];
        // Signals as they are at first, and those after everything has been set.
        const results = [...methods.toReversed(), ...methods].map((method) => method(value));
        await page.pass(10_000);
        for (const result of await Promise.all(results))
          assert.equal(typeof (result as Result).success, 'boolean');
        await tracker.clearContext();
        await tracker.unsetMarketingIdQueryParamName();
        await tracker.unsetTrackingParamQueryParamName();
        await tracker.setApiKey('another');
        assert.deepEqual(await outcome(page, tracker.startSurvey(survey)), { success: true });
        assert.equal(page.events().at(-1)?.signal, 'survey/start');
      });
    }
  }
});

describe('a batch', () => {
  test('is one request with everything that was called at once, key in header and body, ids and rising times', async () => {
    const { page, tracker } = start({}, { host: 'https://signals.example/' });
    const results = [
      tracker.startSurvey(survey),
      tracker.updateSurvey(survey),
      tracker.completeSurvey(survey),
    ];
    await page.pass(250);
    assert.deepEqual(await Promise.all(results), [{ success: true }, { success: true }, { success: true }]);
    assert.equal(page.posts.length, 1);
    const [{ url, way, headers, keepalive, body }] = page.posts as [FakePage['posts'][0]];
    assert.deepEqual(
      { url, way, headers, keepalive },
      {
        url: 'https://signals.example/signals/v1',
        way: 'fetch',
        headers: { 'Content-Type': 'application/json', 'X-Api-Key': 'key' },
        keepalive: true,
      },
    );
    assert.deepEqual(Object.keys(body), ['key', 'sentAt', 'sdk', 'events']);
    assert.equal(body.key, 'key');
    assert.equal(body.sdk, `tracker/${manifest.version} shop.example {}`);
    assert.deepEqual(Object.keys(body.events[0]!), ['id', 'signal', 'time', 'payload']);
    assert.equal(new Set(body.events.map(({ id }) => id)).size, 3);
    const times = body.events.map(({ time }) => time);
    assert.ok(times[0]! < times[1]! && times[1]! < times[2]!);
  });

  test('gives each call the verdict on its own event', async () => {
    const { page, tracker } = start();
    const error = {
      code: 'validation',
      message: 'no',
      details: [{ path: 'objectId', rule: 'enum', message: 'no' }],
    } as const;
    page.answer = ({ body }) => ({
      status: 200,
      body: {
        results: body.events.map((_, index) =>
          index === 1 ? { success: false, error } : { success: true, duplicate: true },
        ),
      },
    });
    const results = [
      tracker.startSurvey(survey),
      tracker.updateSurvey(survey),
      tracker.completeSurvey(survey),
    ];
    await page.pass(250);
    assert.deepEqual(await Promise.all(results), [
      { success: true },
      { success: false, error },
      { success: true },
    ]);
    await page.pass(100_000);
    assert.equal(page.posts.length, 1, 'a refused event is not sent again');
    await outcome(page, tracker.startSurvey(survey));
    assert.match(page.posts[1]!.body.sdk, /\{"rejected":1\}$/);
  });

  const refusals = [
    [401, undefined, 'unauthorized'],
    [403, undefined, 'unauthorized'],
    [413, undefined, 'tooLarge'],
    [400, undefined, 'validation'],
    [400, { error: { code: 'validation', message: 'unreadable', details: [] } }, 'validation'],
  ] as const;
  for (const [status, body, code] of refusals) {
    test(`refused with status ${status}${body ? ' and an error' : ''} gives ${code} and is not repeated`, async () => {
      const { page, tracker } = start();
      page.answer = () => ({ status, body });
      const { success, error } = await outcome(page, tracker.startSurvey(survey));
      assert.equal(success, false);
      assert.equal(error?.code, code);
      assert.equal(error.message, body?.error.message ?? `status ${status}`);
      await page.pass(100_000);
      assert.equal(page.posts.length, 1);
    });
  }

  for (const [status, code] of [
    [500, 'server'],
    [503, 'server'],
    [429, 'rateLimited'],
    [408, 'server'],
    [0, 'network'],
  ] as const) {
    test(`that meets ${status || 'no answer'} settles with ${code} after 10 s, stays queued, and arrives at last`, async () => {
      const { page, tracker } = start();
      page.answer = () => ({ status });
      const result = tracker.startSurvey(survey);
      await page.pass(9_800);
      assert.equal(await Promise.race([result, 'pending']), 'pending');
      await page.pass(200);
      assert.equal((await result).error?.code, code);
      const [logged] = page.logs;
      // No answer may be an ad blocker.
      if (!status) assert.equal(logged, undefined, 'and the console stays quiet');
      else
        assert.deepEqual([logged![0], (logged![3] as Result).error?.code], ['error', code], 'and is logged');
      page.answer = accepted;
      await page.pass(61_000);
      const ids = new Set(page.events().map(({ id }) => id));
      assert.equal(ids.size, 1);
      const tries = page.posts.length;
      await page.pass(100_000);
      assert.equal(page.posts.length, tries);
    });
  }

  test('that is never answered settles with network after 10 s', async () => {
    const { page, tracker } = start();
    page.answer = () => undefined;
    const result = tracker.startSurvey(survey);
    await page.pass(10_100);
    assert.equal((await result).error?.code, 'network');
  });
});

test('a call that gets an index, as from forEach, is made now', async () => {
  const { page, tracker } = start();
  [survey, survey].forEach(tracker.startSurvey);
  await page.pass(500);
  assert.deepEqual(
    page.events().map(({ time }) => time),
    [1_800_000_000_000, 1_800_000_000_001],
  );
});

describe('a Sync method', () => {
  test('blocks, and returns the plain result', () => {
    const { page, tracker } = start();
    assert.deepEqual(tracker.startSurveySync(survey), { success: true });
    assert.equal(page.posts[0]?.way, 'xhr');
    assert.equal(page.posts[0]?.headers['X-Api-Key'], 'key');
    page.answer = () => ({ status: 401 });
    assert.equal(tracker.startSurveySync(survey).error?.code, 'unauthorized');
  });

  test('keeps the order of what it amounts to', () => {
    const { page, tracker } = start();
    tracker.signInSync({ email: 'ada@example.com' });
    tracker.startSurveySync({ ...survey, email: 'grace@example.com' });
    const sent = page.posts.map(({ way, body }) =>
      [way, ...body.events.map(({ signal }) => signal)].join(' '),
    );
    const expected = ['identity/signin', 'identity/signout', 'identity/signin', 'survey/start'];
    assert.deepEqual(
      sent,
      expected.map((signal) => `xhr ${signal}`),
    );
  });

  test('falls back to a beacon where the browser refuses, and tells success', async () => {
    const { page, tracker } = start();
    page.mayBlock = false;
    assert.deepEqual(tracker.startSurveySync(survey), { success: true });
    assert.deepEqual(
      page.posts.map(({ way }) => way),
      ['xhr', 'beacon'],
    );
    await page.pass(2_000);
    assert.deepEqual(
      page.posts.map(({ way }) => way),
      ['xhr', 'beacon', 'fetch'],
      'a verdict is still sought',
    );
    assert.equal(new Set(page.events().map(({ id }) => id)).size, 1);
  });

  test('tells network when nothing took the event, and keeps it', async () => {
    const { page, tracker } = start();
    page.answer = () => ({ status: 0 });
    assert.equal(tracker.startSurveySync(survey).error?.code, 'network', 'what may block tells what it met');
    page.mayBlock = false;
    page.takesBeacon = () => false;
    assert.equal(tracker.startSurveySync(survey).error?.code, 'network', 'no beacon took it either');
    page.mayBlock = true;
    page.answer = () => ({ status: 503 });
    assert.equal(tracker.updateSurveySync(survey).error?.code, 'server');
    page.answer = accepted;
    await page.pass(10_000);
    assert.deepEqual(
      new Set(page.posts.at(-1)!.body.events.map(({ signal }) => signal)),
      new Set(['survey/start', 'survey/update']),
    );
  });

  test('that is told to come later waits as long as Retry-After says', async () => {
    const { page, tracker } = start();
    page.answer = (post) =>
      post.way === 'xhr' ? { status: 429, headers: { 'Retry-After': '20' } } : accepted(post);
    assert.equal(tracker.startSurveySync(survey).error?.code, 'rateLimited');
    await page.pass(19_000);
    assert.equal(page.posts.length, 1);
    await page.pass(4_000);
    assert.equal(page.posts.length, 2);
  });
});

describe('a TagMgr method', () => {
  test('always tells success, and validates in the page alone', async () => {
    const { page, tracker } = start();
    page.answer = () => ({ status: 400 });
    assert.deepEqual(await tracker.startSurveyTagMgr(survey), { success: true });
    assert.deepEqual(await tracker.startSurveyTagMgr({} as never), { success: true });
    await page.pass(500);
    assert.equal(page.events().length, 1);
    await tracker.setApiKey('');
    assert.deepEqual(await tracker.startSurveyTagMgr(survey), { success: true });
  });
});
