/**
 * What a cart holds, folded from the cart signals of a person. A purchase may leave out what it buys, and a cart that is replaced does not
 * say what is new in it: the follower adds that. Pure.
 */
import { DAY } from '../kernel/time/clock.ts';

export interface CartSignal {
  /** Name on the wire. */
  signal: string;
  payload: Record<string, unknown>;
}

/** An item as it was reported, with the number of pieces in the cart. */
export type CartLine = Record<string, unknown> & { sku: string; quantity: number };

/** A person who comes back to a cart after that has to say what is bought. */
export const CART_MS = 30 * DAY;

/**
 * What a signal is about where its items do not say so: all that is in the cart for a purchase without items, and what is new for a cart
 * that was replaced.
 *
 * @param earlier cart signals of the same person, of any cart, the oldest first
 */
export function linesOf(
  { signal, payload }: CartSignal,
  earlier: readonly CartSignal[],
): CartLine[] | undefined {
  const cart = () => cartAfter(earlier.filter((one) => one.payload.cartId === payload.cartId));
  if (signal === 'cart/replace') return newIn(itemsOf(payload), cart());
  if (signal === 'cart/purchase' && itemsOf(payload).length === 0) return cart();
  return undefined;
}

/** The transaction that a purchase belongs to, if it says so. */
export function transactionOf({ signal, payload }: CartSignal): string | undefined {
  const { transactionId } = payload;
  return signal === 'cart/purchase' && typeof transactionId === 'string' ? transactionId : undefined;
}

/** Whether any cart of a person holds something. */
export function isCartOpen(signals: readonly CartSignal[]): boolean {
  const carts = Map.groupBy(signals, ({ payload }) => payload.cartId);
  return [...carts.values()].some((own) => cartAfter(own).length > 0);
}

/** What there is more of than before. */
function newIn(items: readonly CartLine[], before: readonly CartLine[]): CartLine[] {
  const had = new Map(before.map(({ sku, quantity }) => [sku, quantity]));
  return items.flatMap((item) => changed(item, { ...item, quantity: had.get(item.sku) ?? 0 }, -1) ?? []);
}

/**
 * @example
 * cartAfter([{ signal: 'cart/add', payload: { cartId: 'c-1', items: [{ sku: 'a', quantity: 2 }] } }]);
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

export function itemsOf({ items }: Record<string, unknown>): CartLine[] {
  if (!Array.isArray(items)) return [];
  return items.flatMap((item: Record<string, unknown>) =>
    typeof item?.sku === 'string'
      ? { ...item, sku: item.sku, quantity: typeof item.quantity === 'number' ? item.quantity : 1 }
      : [],
  );
}
