/** Which interactions a signal tells of. Pure. */
import type { NewInteraction } from './interactions.ts';

/** A signal as the ingestion knows it. */
export interface SignalFact {
  tenantId: string;
  /** Name on the wire, such as `cart/add`. */
  signal: string;
  payload: unknown;
  /** Epoch milliseconds. */
  time: number;
  /** Null for an anonymous signal, which is nobody's history. */
  profile: { id: string; systemId: number; doNotTrack: boolean } | null;
  /** What a cart signal is about, where its items do not say so: what is new in a replaced cart, or bought without naming it. */
  lines?: readonly Record<string, unknown>[];
}

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

const TELLING_CARTS = new Set(['cart/add', 'cart/replace', 'cart/purchase']);

/**
 * Whether a signal may tell of interactions, before it is known whose it is.
 *
 * @example tellsOfItems({ signal: 'survey/start', payload: { idType: 'email', email: 'ada@example.com' } }) // false
 */
export function tellsOfItems({ signal, payload }: Pick<SignalFact, 'signal' | 'payload'>): boolean {
  const { idType, elements } = (payload ?? {}) as { idType?: unknown; elements?: unknown };
  if (idType === undefined) return false;
  return TELLING_CARTS.has(signal) || (signal === 'browse' && elements !== undefined);
}

/**
 * Carts tell what was put into them and bought, browsing what was looked at; other signals are not about items.
 *
 * @example interactionsOf({ tenantId, signal: 'cart/add', payload: { items: [{ sku: 'a' }] }, time, profile })
 */
export function interactionsOf({ signal, payload, time, profile, lines }: SignalFact): NewInteraction[] {
  if (profile === null || profile.doNotTrack) return [];
  const { items, elements } = (payload ?? {}) as { items?: unknown; elements?: unknown };
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
