import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signalNames } from '@signalbox/signals';
import { interactionsOf, tellsOfItems } from './from-signals.ts';

test('no signal that tells of interactions is passed over', () => {
  const things = { items: [{ sku: 'a', quantity: 1 }], elements: [{ id: 'b' }] };
  const profile = { id: 'prf_1', systemId: 1, doNotTrack: false };
  const telling = signalNames.filter((signal) => {
    const payload = { idType: 'email', email: 'ada@example.com', ...things };
    const interactions = interactionsOf({ tenantId: 't', signal, payload, time: 0, profile });
    assert.equal(tellsOfItems({ signal, payload }), interactions.length > 0, signal);
    assert.equal(tellsOfItems({ signal, payload: things }), false, 'what nobody did');
    return interactions.length > 0;
  });
  assert.deepEqual(telling, ['cart/add', 'cart/replace', 'cart/purchase', 'browse']);
});

test('the value of a line is its net price, which is of all its pieces, or else so many times its base price', () => {
  const profile = { id: 'prf_1', systemId: 1, doNotTrack: false };
  const items = [
    { sku: 'a', quantity: 2, netprice: 39.8, baseprice: 25 },
    { sku: 'b', quantity: 2, baseprice: 25 },
    { sku: 'c', quantity: 2, netprice: 0, baseprice: 25 },
    { sku: 'd', quantity: 2 },
  ];
  const bought = interactionsOf({
    tenantId: 't',
    signal: 'cart/purchase',
    payload: { items },
    time: 0,
    profile,
  });
  assert.deepEqual(
    bought.map(({ value }) => value),
    [39.8, 50, 0, null],
  );
});
