import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CartSignal, linesOf } from './carts.ts';

/** Of all its pieces, to the cent. */
const priceOf = (quantity: number) => Number((quantity * 0.1).toFixed(2));

/** `add a2` puts two of a into the cart, `purchase` buys it, `other:add a1` is about another cart. */
function toSignal(text: string, time = 0): CartSignal {
  const [, cartId = 'c', name, items = ''] = /^(?:(\w+):)?(\w+) ?(.*)$/.exec(text)!;
  return {
    signal: `cart/${name}`,
    time,
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

test('a transaction that was told of before is about nothing, whatever its items', () => {
  const order = (transactionId: string): CartSignal => {
    const signal = toSignal('purchase a1');
    return { ...signal, payload: { ...signal.payload, transactionId } };
  };
  assert.deepEqual(linesOf(order('t-1'), [order('t-1')]), []);
  assert.equal(linesOf(order('t-2'), [order('t-1')]), undefined);
});
