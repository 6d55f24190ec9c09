import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { accepted, createStorages, openFakePage } from '../testing/fake-page.ts';
import { outcome, sent, start, survey } from '../testing/fake-tracker.ts';
import { createTracker } from './tracker.ts';

describe('identification', () => {
  const email = 'ada@example.com';
  const ada = { idType: 'email', email };
  const grace = { idType: 'email', email: 'grace@example.com' };

  test('of an email signs in first, once per tab, and is filled into later events', async () => {
    const { page, tracker } = start();
    await outcome(page, tracker.startSurvey({ ...survey, email }));
    await outcome(page, tracker.updateSurvey(survey));
    await outcome(page, tracker.updateSurvey({ ...survey, email: ' Ada@Example.com' }));
    const { page: next, tracker: later } = start({ storages: page.storages });
    await outcome(next, later.completeSurvey(survey));
    assert.deepEqual(sent(page), [
      ['identity/signin', ada],
      ['survey/start', { ...survey, ...ada }],
      ['survey/update', { ...survey, ...ada }],
      ['survey/update', { ...survey, ...ada, email: ' Ada@Example.com' }],
    ]);
    assert.deepEqual(sent(next), [['survey/complete', { ...survey, ...ada }]]);
  });

  test('by another email signs out and in, in this order, in one request', async () => {
    const { page, tracker } = start();
    await outcome(page, tracker.signIn({ email, profileAttributes: { profileTier: 'gold' } }));
    await outcome(page, tracker.startSurvey({ ...survey, email: grace.email }));
    assert.deepEqual(
      page.posts[1]?.body.events.map(({ signal, payload }) => [signal, payload]),
      [
        ['identity/signout', ada],
        ['identity/signin', grace],
        ['survey/start', { ...survey, ...grace }],
      ],
    );
    await outcome(page, tracker.signIn({ email }));
    assert.deepEqual(
      page.posts[2]?.body.events.map(({ signal, payload }) => [signal, payload]),
      [
        ['identity/signout', grace],
        ['identity/signin', ada],
      ],
    );
  });

  test('that is repeated is not sent again, unless it tells more or is always wanted', async () => {
    const { page, tracker } = start();
    const gold = { ...ada, profileAttributes: { profileTier: 'gold' } } as const;
    const count = async (call: () => Promise<unknown>) => {
      const before = page.events().length;
      assert.deepEqual(await outcome(page, call()), { success: true });
      return page.events().length - before;
    };
    assert.equal(await count(() => tracker.signIn({ email })), 1);
    assert.equal(await count(() => tracker.signIn({ email })), 0);
    assert.equal(await count(() => tracker.signIn(gold as never)), 1);
    assert.equal(await count(() => tracker.signIn(gold as never)), 0);
    assert.equal(await count(() => tracker.startSurvey({ ...survey, email })), 1);
    await tracker.setOptions({ performSignInAlways: true });
    assert.equal(await count(() => tracker.signIn({ email })), 1);
    assert.equal(await count(() => tracker.startSurvey({ ...survey, email })), 2);
    assert.equal(
      await count(() => tracker.startSurvey(survey)),
      1,
      'an email that was filled in was not given',
    );
  });

  test('by customer id is kept too, but does not sign in by itself and is not a change of email', async () => {
    const { page, tracker } = start();
    const external = { idType: 'external', customerId: 'C1' } as const;
    await outcome(page, tracker.startSurvey({ ...survey, ...external }));
    await outcome(page, tracker.signIn(external));
    await outcome(page, tracker.updateSurvey(survey));
    await outcome(page, tracker.updateSurvey({ ...survey, email }));
    await outcome(page, tracker.signIn({ idType: 'external', customerId: 'c1' }));
    assert.deepEqual(sent(page), [
      ['survey/start', { ...survey, ...external }],
      ['identity/signin', external],
      ['survey/update', { ...survey, ...external }],
      ['identity/signin', ada],
      ['survey/update', { ...survey, ...ada }],
      ['identity/signin', { idType: 'external', customerId: 'c1' }],
    ]);
  });

  test('by customer id beside the known email is news, which links the two', async () => {
    const { page, tracker } = start();
    const both = { ...ada, customerId: 'C9' };
    await outcome(page, tracker.signIn({ email }));
    await outcome(page, tracker.signIn({ email, customerId: 'C9' }));
    await outcome(page, tracker.signIn({ email, customerId: 'C9' }));
    await outcome(page, tracker.startSurvey(survey));
    assert.deepEqual(sent(page), [
      ['identity/signin', ada],
      ['identity/signin', both],
      ['survey/start', { ...survey, ...both }],
    ]);
  });

  test('by an email in an event of a customer id signs in by both', async () => {
    const { page, tracker } = start();
    const both = { idType: 'external', customerId: 'C2', email } as const;
    await outcome(page, tracker.startSurvey({ ...survey, ...both }));
    await outcome(page, tracker.updateSurvey(survey));
    assert.deepEqual(sent(page), [
      ['identity/signin', both],
      ['survey/start', { ...survey, ...both }],
      ['survey/update', { ...survey, ...both }],
    ]);
  });

  test('by another email is another person, also after a sign-in by customer id, and gets no context of the first', async () => {
    const { page, tracker } = start();
    const external = { idType: 'external', customerId: 'C1' } as const;
    await outcome(page, tracker.signIn({ email }));
    await outcome(page, tracker.signIn(external));
    await tracker.setContext({ profileAttributes: { profileTier: 'gold' } });
    await outcome(page, tracker.signIn({ email: grace.email }));
    assert.deepEqual(sent(page), [
      ['identity/signin', ada],
      ['identity/signin', external],
      ['identity/signout', external],
      ['identity/signin', grace],
    ]);
  });

  for (const [name, refusal] of [
    ['for its key', { status: 401 }],
    ['by a verdict', { status: 200, body: { results: [{ success: false }, { success: false }] } }],
  ] as const) {
    test(`that the server refused ${name} is sent again with the next call, and is nobody until then`, async () => {
      const { page, tracker } = start();
      const tries = [() => tracker.signIn({ email }), () => tracker.startSurvey({ ...survey, email })];
      for (const call of tries) {
        page.answer = () => refusal;
        assert.equal((await outcome(page, call())).success, false);
        page.answer = accepted;
        const before = page.events().length;
        await outcome(page, tracker.updateSurvey(survey));
        await outcome(page, call());
        const [anonymous, signIn] = sent(page).slice(before);
        assert.deepEqual(
          [anonymous, signIn],
          [
            ['survey/update', survey],
            ['identity/signin', ada],
          ],
        );
        await outcome(page, tracker.signOut({}));
      }
    });
  }

  test('that was refused does not sign out who has come since', async () => {
    const { page, tracker } = start();
    page.answer = () => ({
      status: 200,
      body: { results: [{ success: false }, { success: true }, { success: true }] },
    });
    tracker.signIn({ email });
    await outcome(page, tracker.signIn({ email: grace.email }));
    page.answer = accepted;
    await outcome(page, tracker.startSurvey(survey));
    assert.deepEqual(sent(page).at(-1), ['survey/start', { ...survey, ...grace }]);
  });

  for (const [name, next] of [
    ['was under another key', { key: 'new', hours: 0 }],
    ['is too old by now', { key: 'key', hours: 80 }],
  ] as const) {
    test(`stays when an earlier one, which nobody answered, ${name}`, async (t) => {
      const before = start();
      before.page.answer = () => undefined;
      before.tracker.signIn({ email });
      before.page.fire('pagehide');
      before.page.close();
      const storages = { ...createStorages(), local: before.page.storages.local };
      const page = openFakePage({ storages, now: 1_800_000_000_000 + next.hours * 3_600_000 });
      t.after(page.close);
      // With locks, what the earlier page left is found a moment after the call.
      const request = async (_name: string, options: unknown, run = options as (lock: object) => unknown) => {
        await Promise.resolve();
        return run({});
      };
      Object.assign(navigator, { locks: { request } });
      page.answer = (post) => (post.body.key === next.key ? accepted(post) : { status: 401 });
      const tracker = createTracker({}, next.key);
      await outcome(page, tracker.signIn({ email }));
      await page.pass(2000);
      await outcome(page, tracker.startSurvey(survey));
      assert.deepEqual(sent(page).at(-1), ['survey/start', { ...survey, ...ada }]);
    });
  }

  test('that names nobody is left to the server where the page does not validate', async () => {
    const { page, tracker } = start({}, { options: { clientValidationEnabled: false } });
    for (const payload of [{}, { idType: 'external' }]) await outcome(page, tracker.signIn(payload as never));
    assert.deepEqual(sent(page), [
      ['identity/signin', {}],
      ['identity/signin', { idType: 'external' }],
    ]);
  });

  test('by a blank email is none', async () => {
    const { page, tracker } = start();
    await outcome(page, tracker.signIn({ email }));
    assert.equal((await tracker.signIn({ email: '  ' })).error?.details[0]?.path, 'email');
    assert.deepEqual(sent(page), [['identity/signin', ada]]);
  });

  test('ends with signOut, which tells who it was', async () => {
    const { page, tracker } = start();
    await outcome(page, tracker.signIn({ email }));
    await outcome(page, tracker.signOut());
    await outcome(page, tracker.startSurvey(survey));
    assert.deepEqual(sent(page), [
      ['identity/signin', ada],
      ['identity/signout', ada],
      ['survey/start', survey],
    ]);
  });

  test('of an invalid event changes nothing', async () => {
    const { page, tracker } = start();
    await tracker.startSurvey({ email } as never);
    await outcome(page, tracker.startSurvey(survey));
    assert.deepEqual(sent(page), [['survey/start', survey]]);
    assert.equal((await tracker.signIn({})).error?.details[0]?.path, 'email');
  });

  test('works without storage, for the life of the page', async () => {
    const storages = createStorages();
    storages.session.getItem =
      storages.session.setItem =
      storages.local.setItem =
        () => {
          throw new Error('denied');
        };
    const { page, tracker } = start({ storages });
    await outcome(page, tracker.signIn({ email }));
    await outcome(page, tracker.startSurvey(survey));
    await outcome(page, tracker.signOut());
    await outcome(page, tracker.startSurvey(survey));
    assert.deepEqual(sent(page).slice(1), [
      ['survey/start', { ...survey, ...ada }],
      ['identity/signout', ada],
      ['survey/start', survey],
    ]);
  });
});
