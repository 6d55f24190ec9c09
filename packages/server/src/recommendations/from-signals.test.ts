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
  assert.deepEqual(telling, ['cart/add', 'cart/purchase', 'browse']);
});
