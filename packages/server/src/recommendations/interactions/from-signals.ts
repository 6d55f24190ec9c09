/** Which interactions a signal tells of. Pure. */
import type { FollowedSignal } from '../../kernel/module.ts';
import type { NewInteraction } from './record.ts';

type Entry = Record<string, unknown>;

const entries = (value: unknown): Entry[] =>
  Array.isArray(value) ? value.filter((one): one is Entry => typeof one === 'object' && one !== null) : [];
const id = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value : typeof value === 'number' ? String(value) : null;
const number = (value: unknown): number | null => (typeof value === 'number' ? value : null);

/** A line of a cart. Its `netprice` is that of all its pieces already; its `baseprice` is that of one. */
function line(item: Entry): Pick<NewInteraction, 'quantity' | 'value'> {
  const quantity = number(item.quantity);
  const price = number(item.baseprice);
  return { quantity, value: number(item.netprice) ?? (price === null ? null : price * (quantity ?? 1)) };
}

const TELLING = new Set(['cart/add', 'cart/replace', 'cart/purchase', 'browse']);

/**
 * Whether a signal with this name may tell of interactions.
 *
 * @example tellsOfItems('survey/start') // false
 */
export const tellsOfItems = (signal: string): boolean => TELLING.has(signal);

/**
 * Carts tell what was put into them and bought, browsing tells what was looked at; other signals are not about items. Nothing
 * depends on other signals, so the order in which they come does not matter.
 *
 * @example interactionsOf({ signal: 'cart/add', payload: { items: [{ sku: 'a' }] }, time, profile })
 */
export function interactionsOf({
  signal,
  payload: { items, elements },
  time,
  profile,
  lines,
}: Pick<FollowedSignal, 'signal' | 'payload' | 'time' | 'profile' | 'lines'>): NewInteraction[] {
  const who = { contact: profile.systemId, at: time };
  const carted = (kind: NewInteraction['kind']) =>
    (lines ?? entries(items)).flatMap((item) => {
      const itemPid = id(item.sku);
      return itemPid === null ? [] : [{ ...who, ...line(item), kind, itemPid }];
    });
  switch (signal) {
    case 'cart/add':
    case 'cart/replace':
      return carted('addToCart');
    case 'cart/purchase':
      return carted('purchase');
    case 'browse':
      return entries(elements).flatMap((element) => {
        const itemPid = id(element.id);
        return itemPid === null ? [] : [{ ...who, kind: 'view' as const, itemPid }];
      });
    default:
      return [];
  }
}
