import assert from 'node:assert/strict';
import { test } from 'node:test';
import { combineTraits, type Traits, traitsOf } from './traits.ts';

test('permissions among the attributes become opt-ins, the rest stays what it is', () => {
  assert.deepEqual(
    traitsOf({
      profileTier: 'gold',
      profileAge: 36,
      profileOptinMail: true,
      profileOptinSms: false,
      vip: 'yes',
    }),
    { attributes: { profileTier: 'gold', profileAge: 36, vip: 'yes' }, optIns: { mail: true, sms: false } },
  );
});

test('what PostgreSQL cannot hold is replaced, and what is no attribute is left out', () => {
  const given = JSON.parse(
    '{"a\\u0000b": "c\\u0000\\ud83d", "__proto__": "kept", "x": null, "y": ["z"], "profileOptinPush": "yes"}',
  );
  const { attributes, optIns } = traitsOf(given);
  assert.deepEqual(Object.entries(attributes), [
    ['a\ufffdb', 'c\ufffd\ufffd'],
    ['__proto__', 'kept'],
  ]);
  assert.deepEqual(optIns, {});
});

test('when two profiles become one, the later attribute wins and a refusal always does', () => {
  const earlier: Traits = {
    attributes: { a: 1, b: 'x' },
    optIns: { mail: false, sms: true },
    doNotTrack: true,
  };
  const later: Traits = {
    attributes: { b: 'y', c: true },
    optIns: { mail: true, push: true },
    doNotTrack: false,
  };
  assert.deepEqual(combineTraits(earlier, later), {
    attributes: { a: 1, b: 'y', c: true },
    optIns: { mail: false, sms: true, push: true },
    doNotTrack: true,
  });
  assert.equal(combineTraits(later, earlier).optIns.mail, false);
});
