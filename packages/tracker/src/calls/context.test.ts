import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { outcome, sent, start, survey } from '../../testing/fake-tracker.ts';

describe('the context', () => {
  test('is merged into every later event; the event wins, null cancels', async () => {
    const { page, tracker } = start();
    await tracker.setContext({ profileAttributes: { a: '1', b: '2', c: '3' } });
    await tracker.setContext({ profileAttributes: { b: null, d: '4' }, categories: 'x' });
    await outcome(page, tracker.startSurvey({ ...survey, profileAttributes: { a: 'own', c: null } }));
    await outcome(page, tracker.updateSurvey({ ...survey, categories: null }));
    await outcome(page, tracker.signUp({ objectType: 'site', profileAttributes: null }));
    assert.deepEqual(sent(page), [
      ['survey/start', { ...survey, profileAttributes: { a: 'own', d: '4' }, categories: 'x' }],
      ['survey/update', { ...survey, profileAttributes: { a: '1', c: '3', d: '4' } }],
      ['signup', { objectType: 'site' }],
    ]);
    assert.deepEqual(page.logs, [], 'fields that a signal does not have are left out without a word');
  });

  test('ends with clearContext, with signOut and with another person', async () => {
    const { page, tracker } = start();
    const attributes = async () => {
      await outcome(page, tracker.startSurvey(survey));
      return page.events().at(-1)?.payload.profileAttributes;
    };
    const context = { profileAttributes: { a: '1' } };
    await tracker.setContext(context);
    assert.deepEqual(await attributes(), { a: '1' });
    await tracker.clearContext();
    assert.equal(await attributes(), undefined);
    await tracker.setContext(context);
    await outcome(page, tracker.signOut());
    assert.equal(await attributes(), undefined);
    await outcome(page, tracker.signIn({ email: 'ada@example.com' }));
    await tracker.setContext(context);
    await outcome(page, tracker.startSurvey({ ...survey, email: 'grace@example.com' }));
    assert.equal(
      page.events().at(-1)?.payload.profileAttributes,
      undefined,
      "the first one's context is not the second one's",
    );
    assert.equal(await attributes(), undefined);
  });
});
