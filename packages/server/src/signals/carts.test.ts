import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CartSignal, isCartOpen, linesOf, transactionOf } from './carts.ts';

/** Of all its pieces, to the cent. */
const priceOf = (quantity: number) => Number((quantity * 0.1).toFixed(2));

/** `add a2` puts two of a into the cart, `purchase` buys it, `other:add a1` is about another cart. */
function toSignal(text: string): CartSignal {
  const [, cartId = 'c', name, items = ''] = /^(?:(\w+):)?(\w+) ?(.*)$/.exec(text)!;
  return {
    signal: `cart/${name}`,
    payload: {
      cartId,
      items: items
        .split(' ')
        .filter(Boolean)
        .map((item) => ({
          sku: item[0],
          quantity: Number(item.slice(1)),
          netprice: priceOf(Number(item.slice(1))),
        })),
    },
  };
}
const told = (lines: ReturnType<typeof linesOf>) =>
  lines?.map(({ sku, quantity, netprice }) => {
    assert.equal(netprice, priceOf(quantity), 'the price of all its pieces');
    return `${sku}${quantity}`;
  });

const TABLE: [history: string[], signal: string, lines: string[] | undefined][] = [
  [['add a1 b2'], 'purchase', ['a1', 'b2']],
  [['add a1', 'add a2 b1'], 'purchase', ['a3', 'b1']],
  [['add a3 b1', 'remove a1 b1 c1'], 'purchase', ['a2']],
  [['add a1', 'replace b2'], 'purchase', ['b2']],
  [['add a1', 'clear', 'add b1'], 'purchase', ['b1']],
  [['add a1', 'purchase'], 'purchase', []],
  [['other:add a1'], 'purchase', []],
  [['add a1 b1'], 'purchase b1', undefined],
  [[], 'replace a1', ['a1']],
  [['add a1 b2'], 'replace a3 b1 c1', ['a2', 'c1']],
];
for (const [history, signal, lines] of TABLE) {
  const about = lines === undefined ? 'what it says' : lines.join(' ') || 'nothing';
  test(`after ${history.join(', ') || 'nothing'}: ${signal} is about ${about}`, () => {
    assert.deepEqual(told(linesOf(toSignal(signal), history.map(toSignal))), lines);
  });
}

test('a person has an open cart while any of the carts holds something', () => {
  const table: [history: string[], open: boolean][] = [
    [[], false],
    [['add a1'], true],
    [['add a1', 'remove a1'], false],
    [['add a1', 'other:add b1', 'purchase'], true],
    [['add a1', 'other:add b1', 'purchase', 'other:clear'], false],
    [['add a1', 'replace '], false],
  ];
  for (const [history, open] of table)
    assert.equal(isCartOpen(history.map(toSignal)), open, history.join(', '));
});

test('a purchase belongs to the transaction that it names', () => {
  const payload = { cartId: 'c', transactionId: 't-1' };
  assert.equal(transactionOf({ signal: 'cart/purchase', payload }), 't-1');
  assert.equal(transactionOf({ signal: 'cart/clear', payload }), undefined);
  assert.equal(transactionOf(toSignal('purchase a1')), undefined);
});
