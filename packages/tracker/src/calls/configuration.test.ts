import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FakePage } from '../../testing/fake-page.ts';
import { outcome, start, survey } from '../../testing/fake-tracker.ts';

describe('query parameters', () => {
  test('are not read until they are named, and travel as header and member', async () => {
    const { page, tracker } = start({ search: '?mid=m%2D7&tp=t+1&=nameless' });
    await outcome(page, tracker.startSurvey(survey));
    await tracker.setMarketingIdQueryParamName('mid');
    await tracker.setTrackingParamQueryParamName('tp');
    await outcome(page, tracker.startSurvey(survey));
    await tracker.unsetMarketingIdQueryParamName();
    await tracker.unsetTrackingParamQueryParamName();
    await outcome(page, tracker.startSurvey(survey));
    const seen = page.posts.map(({ headers, body }) => [
      headers['X-Marketing-ID'],
      body.events[0]?.marketingId,
      headers['X-Tracking-Param'],
      body.events[0]?.trackingParam,
    ]);
    assert.deepEqual(seen, [
      [undefined, undefined, undefined, undefined],
      ['m-7', 'm-7', 't 1', 't 1'],
      [undefined, undefined, undefined, undefined],
    ]);
  });

  test('travel as members alone where no header can hold them', async () => {
    const { page, tracker } = start({ search: `?mid=%C3%A9t%C3%A9&tp=${'x'.repeat(20_000)}` });
    await tracker.setMarketingIdQueryParamName('mid');
    await tracker.setTrackingParamQueryParamName('tp');
    await outcome(page, tracker.startSurvey(survey));
    const { headers, body } = page.posts[0]!;
    assert.equal(headers['X-Marketing-ID'], undefined);
    assert.equal(body.events[0]?.marketingId, 'été');
    assert.equal(headers['X-Tracking-Param'], undefined);
    assert.equal(body.events[0]?.trackingParam, 'x'.repeat(20_000));
  });

  test('of different pages do not share a request', async () => {
    const { page, tracker } = start({ search: '?a=1&b=2' });
    await tracker.setMarketingIdQueryParamName('a');
    tracker.startSurvey(survey);
    tracker.updateSurvey(survey);
    await tracker.setMarketingIdQueryParamName('b');
    tracker.completeSurvey(survey);
    await page.pass(1000);
    assert.deepEqual(
      page.posts.map(({ headers, body }) => [headers['X-Marketing-ID'], body.events.length]),
      [
        ['1', 2],
        ['2', 1],
      ],
    );
  });
});

describe('configuration', () => {
  test('takes https hosts, and http on this machine', async () => {
    const { page, tracker } = start();
    for (const host of [
      'http://signals.example',
      'ftp://x',
      'signals.example',
      'http://localhost.evil.example',
      'http://localhost:80@evil.example',
      'http://127.0.0.1:x@evil.example/',
      'https://',
      '',
      undefined,
    ]) {
      const { error } = await tracker.setApiHost(host as string);
      assert.deepEqual([error?.code, error?.details[0]?.path], ['validation', 'host'], `${host}`);
    }
    for (const host of [
      'https://s.example/base',
      'http://localhost',
      'http://localhost:8400/',
      'http://127.0.0.1:1',
    ]) {
      assert.deepEqual(await tracker.setApiHost(host), { success: true }, host);
      await outcome(page, tracker.startSurvey(survey));
      assert.equal(page.posts.at(-1)?.url, `${host.replace(/\/$/, '')}/signals/v1`);
    }
    assert.deepEqual(await tracker.setApiHost(new URL('https://u.example') as never), { success: true });
  });

  test('that comes with the script is held to the same rules, and said to be wrong', async () => {
    const { page, tracker } = start({}, { host: 'http://signals.example', options: { loud: true } as never });
    await outcome(page, tracker.startSurvey(survey));
    assert.equal(page.posts[0]?.url, '/signals/v1');
    assert.deepEqual(
      page.logs.map(([level]) => level),
      ['error', 'error'],
    );
  });

  test('replaces the host name in what is sent', async () => {
    const { page, tracker } = start();
    await tracker.setHostname('www.example');
    await outcome(page, tracker.startSurvey(survey));
    assert.match(page.posts[0]!.body.sdk, / www\.example /);
    assert.doesNotMatch(JSON.stringify(page.posts[0]!.body), /shop\.example/);
  });

  test('warns that setProfileIdQueryParamKey does nothing', async () => {
    const { page, tracker } = start();
    assert.deepEqual(await tracker.setProfileIdQueryParamKey('p'), { success: true });
    assert.equal(page.logs[0]?.[0], 'warn');
  });

  const throwing = () => {
    throw new Error('the page wants a console without errors');
  };
  for (const [name, console] of Object.entries({
    'has been taken away': { log() {} },
    throws: { error: throwing, warn: throwing },
  })) {
    test(`does without a console that ${name}`, async (t) => {
      const { tracker } = start();
      t.mock.property(globalThis, 'console', console as unknown as Console);
      assert.equal((await tracker.browse({} as never)).error?.code, 'validation');
      assert.equal(tracker.browseSync({} as never)!.success, false);
      assert.equal((await tracker.setApiHost('')).success, false);
    });
  }

  test('refuses what cannot be read, and goes on as before', async () => {
    const { page, tracker } = start();
    const getter = {
      get any(): string {
        throw new Error('mine');
      },
    };
    page.storages.session.setItem('_sb.cart', '5');
    const results = [
      tracker.setContext({ profileAttributes: { tier: 'gold' } }),
      tracker.setContext(getter),
      tracker.setContext({ profileAttributes: getter }),
      tracker.setOptions(getter as never),
      tracker.setApiHost(Symbol('host') as never),
      tracker.setHostname(Object.create(null)),
      tracker.setApiKey(Symbol('key') as never),
      tracker.setAuthKey(Object.create(null)),
      tracker.setCartId('not where another script has been at the storage'),
    ];
    const codes = (await Promise.all(results)).map(({ error }) => error?.code);
    assert.deepEqual(codes, [undefined, ...Array(8).fill('validation')]);
    assert.deepEqual(await outcome(page, tracker.startSurvey(survey)), { success: true });
    const [{ url, body }] = page.posts as [FakePage['posts'][0]];
    assert.deepEqual([url, body.key], ['/signals/v1', 'key']);
    assert.deepEqual(body.events[0]!.payload.profileAttributes, { tier: 'gold' });
  });

  test('takes a key that is a number as text', async () => {
    const { page, tracker } = start();
    await tracker.setApiKey(7n as never);
    assert.deepEqual(await outcome(page, tracker.startSurvey(survey)), { success: true });
    assert.deepEqual([page.posts[0]!.headers['X-Api-Key'], page.posts[0]!.body.key], ['7', '7']);
  });

  test('refuses options that do not exist or have another type', async () => {
    const { tracker } = start();
    assert.equal((await tracker.setOptions({ loud: true } as never)).error?.details[0]?.path, 'loud');
    assert.equal((await tracker.setOptions({ logLevel: true } as never)).error?.details[0]?.path, 'logLevel');
    assert.equal((await tracker.setOptions({ disableValidations: 'yes' } as never)).success, false);
    assert.equal(
      (await tracker.setOptions({ logLevel: 'ERROR' } as never)).error?.details[0]?.path,
      'logLevel',
    );
    const half = await tracker.setOptions({ clientValidationEnabled: false, loud: true } as never);
    assert.equal(half.error?.details[0]?.path, 'loud');
    assert.equal((await tracker.startSurvey({} as never)).error?.code, 'validation', 'nothing is half done');
    assert.deepEqual(await tracker.setOptions({}), { success: true });
  });

  test('logs from its level on, or not at all', async () => {
    const { page, tracker } = start();
    const levels = async () => {
      page.logs.length = 0;
      await tracker.startSurvey({ objectid: 'x' } as never);
      return page.logs.map(([level]) => level);
    };
    assert.deepEqual(await levels(), ['warn', 'error']);
    await tracker.setOptions({ logLevel: 'error' });
    assert.deepEqual(await levels(), ['error']);
    await tracker.setOptions({ logLevel: 'silent' });
    assert.deepEqual(await levels(), []);
    await tracker.setOptions({ logLevel: 'debug', enableLogsToConsole: false });
    assert.deepEqual(await levels(), []);
  });
});
