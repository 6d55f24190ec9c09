/**
 * What a cart holds, told from the signals of a person that name it. A purchase may leave out what it buys, and a cart that is
 * replaced does not say what is new in it: whoever builds on signals is told. Pure.
 */

export interface CartSignal {
  /** Name on the wire. */
  signal: string;
  /** Epoch milliseconds. */
  time: number;
  payload: Record<string, unknown>;
}

/** An item as it was told, of which a cart has so many. */
export type CartLine = Record<string, unknown> & { sku: string; quantity: number };

/** Whether a signal has to be heard with those before it. */
export const leansOnHistory = (signal: string): boolean =>
  signal === 'cart/replace' || signal === 'cart/purchase';

/**
 * What a signal is about, where its items do not say so: all that is in the cart for a purchase without items, what is new for a cart
 * that was replaced, and nothing for a transaction that was told of before (a page of thanks that is opened again).
 *
 * @param history of the same person, whatever the cart, the oldest first
 */
export function linesOf(
  { signal, payload }: Pick<CartSignal, 'signal' | 'payload'>,
  history: readonly CartSignal[],
): CartLine[] | undefined {
  const { cartId, transactionId } = payload;
  const cart = () => cartAfter(history.filter((earlier) => earlier.payload.cartId === cartId));
  if (signal === 'cart/replace') return newIn(itemsOf(payload), cart());
  const isRepeated =
    transactionId !== undefined &&
    history.some(
      (earlier) => earlier.signal === 'cart/purchase' && earlier.payload.transactionId === transactionId,
    );
  if (isRepeated) return [];
  return itemsOf(payload).length > 0 ? undefined : cart();
}

/** What there is more of than before. */
function newIn(items: readonly CartLine[], before: readonly CartLine[]): CartLine[] {
  const had = new Map(before.map(({ sku, quantity }) => [sku, quantity]));
  return items.flatMap((item) => changed(item, { ...item, quantity: had.get(item.sku) ?? 0 }, -1) ?? []);
}

/**
 * @example
 * cartAfter([{ signal: 'cart/add', time, payload: { cartId: 'c-1', items: [{ sku: 'a', quantity: 2 }] } }]);
 * // [{ sku: 'a', quantity: 2 }]
 */
export function cartAfter(signals: readonly CartSignal[]): CartLine[] {
  const lines = new Map<string, CartLine>();
  for (const { signal, payload } of signals) {
    // Replaced, cleared or bought: what it held is gone.
    if (signal !== 'cart/add' && signal !== 'cart/remove') lines.clear();
    if (signal === 'cart/clear' || signal === 'cart/purchase') continue;
    for (const item of itemsOf(payload)) {
      const line = changed(lines.get(item.sku), item, signal === 'cart/remove' ? -1 : 1);
      if (line === undefined) lines.delete(item.sku);
      else lines.set(item.sku, line);
    }
  }
  return [...lines.values()];
}

/** The line with an item more, or without it; undefined when nothing is left. `netprice` is that of all pieces. */
function changed(line: CartLine | undefined, item: CartLine, sign: 1 | -1): CartLine | undefined {
  if (sign === 1 && line === undefined) return item;
  if (line === undefined) return undefined;
  const quantity = line.quantity + sign * item.quantity;
  if (!(quantity > 0)) return undefined;
  const netprice =
    sign === -1
      ? scaled(line.netprice, quantity / line.quantity)
      : typeof line.netprice === 'number' && typeof item.netprice === 'number'
        ? amount(line.netprice + item.netprice)
        : undefined;
  return { ...line, ...(sign === 1 ? item : {}), quantity, netprice };
}

const scaled = (price: unknown, share: number): number | undefined =>
  typeof price === 'number' ? amount(price * share) : undefined;

/** Without the noise of binary fractions. */
const amount = (value: number): number => Math.round(value * 1e6) / 1e6;

function itemsOf({ items }: Record<string, unknown>): CartLine[] {
  if (!Array.isArray(items)) return [];
  return items.flatMap((item: Record<string, unknown>) =>
    typeof item?.sku === 'string'
      ? { ...item, sku: item.sku, quantity: typeof item.quantity === 'number' ? item.quantity : 1 }
      : [],
  );
}
