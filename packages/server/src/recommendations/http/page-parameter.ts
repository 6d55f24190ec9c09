/** The operation that a path names, and the page inside it (D10). Pure. */

export interface Operation {
  personalised: boolean;
  /** Undefined on `/r`; empty when `/rp/` names none. */
  itemPid?: string;
  /** Base64 of a page, still encoded; undefined on `/r` and `/r/`. */
  item?: string;
}

/**
 * Reads the raw path: a decoded one no longer tells `/` from `%2F`. The last slash alone decides personalisation.
 *
 * @example operationOf('/api/<guid>/rp/sku-1/aHR0cDovL2E/') // { personalised: true, itemPid: 'sku-1', item: 'aHR0cDovL2E' }
 */
export function operationOf(path: string): Operation {
  // '', 'api', customer, 'r' | 'rp', rest
  const afterCustomer = path.indexOf('/', 5) + 1;
  const related = path.startsWith('rp/', afterCustomer);
  const rest = path.slice(afterCustomer + (related ? 3 : 2));
  if (!related && rest === '') return { personalised: path.endsWith('/') };
  const personalised = rest.endsWith('/');
  const body = personalised ? rest.slice(0, -1) : rest;
  if (!related) return { personalised, item: body };
  const slash = body.indexOf('/');
  if (slash < 0) return { personalised, itemPid: decoded(body), item: '' };
  return { personalised, itemPid: decoded(body.slice(0, slash)), item: body.slice(slash + 1) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
const UTF8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The address of a page from its Base64: either alphabet, padded or not, percent-encoded or not. Null when it is not the
 * Base64 of an absolute http(s) address.
 */
export function pageOf(item: string): string | null {
  // A value that ends in a slash must be percent-encoded (D10): a raw one is a slash too many.
  if (item.endsWith('/')) return null;
  const text = decoded(item);
  if (!BASE64.test(text)) return null;
  const bare = text.replace(/=+$/, '');
  if (bare.length % 4 === 1 || (text !== bare && text.length % 4 !== 0)) return null;
  try {
    const page = UTF8.decode(Buffer.from(bare, 'base64'));
    const url = URL.parse(page);
    return /^https?:\/\//i.test(page) && url !== null && url.hostname !== '' ? page : null;
  } catch {
    return null;
  }
}
