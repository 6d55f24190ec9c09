import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signalNames } from '@signalbox/signals';
import fc from 'fast-check';
import type { FollowedSignal } from '../../kernel/module.ts';
import { interactionsOf, tellsOfItems } from './from-signals.ts';

const profile = { id: 'prf_1', systemId: 64 };

test('no signal that tells of interactions is passed over', () => {
  const payload = { items: [{ sku: 'a', quantity: 1 }], elements: [{ id: 'b' }] };
  const telling = signalNames.filter((signal) => {
    const interactions = interactionsOf({ signal, payload, time: 0, profile });
    assert.equal(tellsOfItems(signal), interactions.length > 0, signal);
    return interactions.length > 0;
  });
  assert.deepEqual(telling, ['cart/add', 'cart/replace', 'cart/purchase', 'browse']);
});

test('the value of a line is its net price, which is of all its pieces, or else so many times its base price', () => {
  const items = [
    { sku: 'a', quantity: 2, netprice: 39.8, baseprice: 25 },
    { sku: 'b', quantity: 2, baseprice: 25 },
    { sku: 'c', quantity: 2, netprice: 0, baseprice: 25 },
    { sku: 'd', quantity: 2 },
  ];
  const bought = interactionsOf({ signal: 'cart/purchase', payload: { items }, time: 0, profile });
  assert.deepEqual(
    bought.map(({ value }) => value),
    [39.8, 50, 0, null],
  );
});

test('the lines of a cart go before its items, and a purchase that was counted before tells of nothing', () => {
  const payload = { items: [{ sku: 'a', quantity: 3 }] };
  const told = (lines: FollowedSignal['lines'] & object) =>
    interactionsOf({ signal: 'cart/purchase', payload, time: 0, profile, lines }).map((one) => [
      one.itemPid,
      one.quantity,
    ]);
  assert.deepEqual(told([{ sku: 'b', quantity: 1 }]), [['b', 1]]);
  assert.deepEqual(told([]), []);
});

const sku = fc.constantFrom('a', 'b', 'c');
const lines = fc.array(fc.record({ sku, quantity: fc.integer({ min: 1, max: 3 }) }), { maxLength: 3 });
const signals = fc.array(
  fc.record(
    {
      signal: fc.constantFrom('cart/add', 'cart/replace', 'cart/purchase', 'browse', 'cart/clear'),
      payload: fc.record({ items: lines, elements: fc.array(fc.record({ id: sku }), { maxLength: 3 }) }),
      time: fc.integer({ min: 0, max: 5 }),
      profile: fc.constantFrom(profile, { id: 'prf_2', systemId: 65 }),
      lines,
    },
    { requiredKeys: ['signal', 'payload', 'time', 'profile'] },
  ),
  { maxLength: 8 },
);

test('the same signals tell of the same interactions in any order and any split', () => {
  fc.assert(
    fc.property(
      signals.chain((all) =>
        fc.record({
          all: fc.constant(all),
          shuffled: fc.shuffledSubarray(all, { minLength: all.length }),
          cut: fc.nat(all.length),
        }),
      ),
      ({ all, shuffled, cut }) => {
        const told = (part: typeof all) => part.flatMap(interactionsOf);
        const inAnyOrder = (rows: object[]) => rows.map((row) => JSON.stringify(row)).sort();
        const parts = [...told(shuffled.slice(cut)), ...told(shuffled.slice(0, cut))];
        assert.deepEqual(inAnyOrder(parts), inAnyOrder(told(all)));
      },
    ),
  );
});
