import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PayloadOf } from './payload-types.ts';
import { validateSignal } from './validate.ts';

test('payloads that the types allow pass the validator', () => {
  const added: PayloadOf<'cart/add'> = {
    cartId: 7,
    items: [{ sku: 's', quantity: '2.5', itemAttributes: { size: '43' } }],
    profileAttributes: { profileAge: 42, profileOptinSms: true, profileTier: 'gold', custom: 'x' },
    eventAttributes: { channel: 'web', custom: 'x' },
  };
  const signedUp: PayloadOf<'signUp'> = { objectType: 'webinar', idType: 'external', customerId: 'c' };
  const browsed: PayloadOf<'browse'> = { sections: [['home']], elements: [{ type: 'product', id: '1' }] };
  assert.ok(validateSignal('cart/add', added).payload);
  assert.ok(validateSignal('signUp', signedUp).payload);
  assert.ok(validateSignal('browse', browsed).payload);
});

test('payloads that the types refuse fail the validator', () => {
  // @ts-expect-error a cart item needs a quantity
  const added: PayloadOf<'addToCart'> = { cartId: 'c', items: [{ sku: 's' }] };
  // @ts-expect-error no such object type
  const signedUp: PayloadOf<'signup'> = { objectType: 'fax' };
  // @ts-expect-error attributes of items are strings
  const reviewed: PayloadOf<'review/item'> = { items: [{ name: 'n', itemAttributes: { size: 43 } }] };
  // @ts-expect-error sections are paths
  const browsed: PayloadOf<'browse'> = { sections: ['home'] };
  assert.ok(validateSignal('addToCart', added).error);
  assert.ok(validateSignal('signup', signedUp).error);
  assert.ok(validateSignal('review/item', reviewed).error);
  assert.ok(validateSignal('browse', browsed).error);
});
