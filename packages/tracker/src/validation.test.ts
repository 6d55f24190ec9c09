import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { items, outcome, sent, start, survey } from '../testing/fake-tracker.ts';

describe('validation', () => {
  test('in the page answers with the error, logs it, and sends nothing', async () => {
    const { page, tracker } = start();
    const { success, error } = await tracker.startSurvey({ objectId: 's' } as never);
    assert.equal(success, false);
    assert.equal(error?.code, 'validation');
    assert.deepEqual(error.details, [
      { path: 'objectName', rule: 'required', message: 'objectName is required' },
    ]);
    assert.equal(page.logs[0]?.[0], 'error');
    await page.pass(1000);
    assert.equal(page.posts.length, 0);
  });

  test('sends the cleaned payload, and logs a hint for a name in the wrong case', async () => {
    const { page, tracker } = start();
    const payload = { ...survey, ObjectName: 'x', items: [{ id: 'i', name: 'n', type: 'x'.repeat(30) }] };
    await outcome(page, tracker.startSurvey(payload));
    assert.deepEqual(sent(page), [
      ['survey/start', { ...survey, items: [{ id: 'i', name: 'n', type: 'x'.repeat(25) }] }],
    ]);
    assert.deepEqual(page.logs[0], [
      'warn',
      'Tracker:',
      'survey/start',
      'ObjectName is not used: did you mean objectName?',
    ]);
  });

  test('does not mind what other scripts put into every object', async () => {
    const { page, tracker } = start();
    Object.defineProperty(Object.prototype, 'extend', {
      value: () => {},
      enumerable: true,
      configurable: true,
    });
    try {
      const payload = { ...survey, profileAttributes: { profileTier: 'gold' } };
      assert.deepEqual(await outcome(page, tracker.startSurvey(payload)), { success: true });
      assert.deepEqual(await outcome(page, tracker.signIn({ email: 'ada@example.com' })), { success: true });
      assert.ok(!Object.hasOwn(start().tracker, 'extendSync'));
    } finally {
      delete (Object.prototype as { extend?: unknown }).extend;
    }
  });

  test('answers whatever a payload throws', async () => {
    const { tracker } = start({}, { options: { clientValidationEnabled: false } });
    for (const thrown of [Symbol('s'), Object.create(null), null, new Error('e')]) {
      const payload = {
        get objectId(): string {
          throw thrown;
        },
        objectName: 'n',
      };
      assert.equal((await tracker.startSurvey(payload)).error?.code, 'validation');
      assert.equal(tracker.startSurveySync(payload).error?.code, 'validation');
    }
  });

  test('of the page can be left to the server', async () => {
    const { page, tracker } = start({}, { options: { clientValidationEnabled: false } });
    page.answer = ({ body }) => ({
      status: 200,
      body: {
        results: body.events.map(() => ({
          success: false,
          error: { code: 'validation', message: 'm', details: [] },
        })),
      },
    });
    const result = await outcome(page, tracker.startSurvey({ objectid: 7 } as never));
    assert.deepEqual(result.error?.message, 'm');
    assert.deepEqual(sent(page), [['survey/start', { objectid: 7 }]]);
  });

  test('of the server can be ignored: success comes at once', async () => {
    const { page, tracker } = start({}, { options: { serverValidationEnabled: false } });
    page.answer = () => ({ status: 400 });
    assert.deepEqual(await tracker.startSurvey(survey), { success: true });
    assert.equal((await tracker.startSurvey({} as never)).success, false);
    await page.pass(500);
    assert.equal(page.posts.length, 1);
  });

  test('that is disabled makes every result a success, whatever happens', async () => {
    const { page, tracker } = start({}, { options: { disableValidations: true } });
    page.answer = () => ({ status: 401 });
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    for (const payload of [survey, {}, cycle, 'text', 7, null, undefined]) {
      assert.deepEqual(await tracker.startSurvey(payload as never), { success: true });
      assert.deepEqual(tracker.startSurveySync(payload as never), { success: true });
    }
    assert.deepEqual(await tracker.setApiHost('ftp://x'), { success: true });
    assert.deepEqual(await tracker.setCartId({} as never), { success: true });
    await tracker.addToCart({ items });
    assert.deepEqual(await tracker.setCartId('c'), { success: true });
    await tracker.setApiKey('');
    assert.deepEqual(await tracker.startSurvey(survey), { success: true });
    await page.pass(500);
  });

  test('never lets a payload throw', async () => {
    const { tracker } = start();
    const thrower = Object.defineProperty({}, 'objectId', {
      enumerable: true,
      get: () => assert.fail('read'),
    });
    const cycle: Record<string, unknown> = { ...survey };
    cycle.profileAttributes = cycle;
    for (const payload of [thrower, cycle, 'text', 7, [survey], () => survey]) {
      assert.equal((await tracker.startSurvey(payload as never)).error?.code, 'validation');
      assert.equal(tracker.startSurveySync(payload as never).error?.code, 'validation');
      assert.deepEqual(await tracker.startSurveyTagMgr(payload as never), { success: true });
    }
  });

  test('needs a key first', async () => {
    const { page, tracker } = start();
    await tracker.setApiKey('');
    const { success, error } = await tracker.startSurvey(survey);
    assert.equal(success, false);
    assert.deepEqual(error, { code: 'noKey', message: 'no key set', details: [] });
    assert.deepEqual(tracker.startSurveySync(survey).error?.code, 'noKey');
    await tracker.setAuthKey('other');
    assert.deepEqual(await outcome(page, tracker.startSurvey(survey)), { success: true });
    assert.equal(page.posts[0]?.headers['X-Api-Key'], 'other');
  });
});
