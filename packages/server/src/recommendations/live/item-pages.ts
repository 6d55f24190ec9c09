/**
 * Which item a page belongs to (D13). Of several on one page, the sizes of a shoe or an item and its successor, it is the one
 * that was added last, in whatever order a process hears of them. Nearly every page of a million has one item, and costs a
 * reference; only those that are shared have a list.
 */
import { type CatalogRecord, urlKey } from '../../catalog/index.ts';

export interface ItemPages {
  find(key: string): CatalogRecord | undefined;
  /** All items of a page that has several; undefined for any other. */
  sharersOf(key: string): Iterable<CatalogRecord> | undefined;
  /** Puts an item in the place of what it was before. */
  replace(before: CatalogRecord | undefined, now: CatalogRecord): void;
}

export function createItemPages(): ItemPages {
  const newest = new Map<string, CatalogRecord>();
  /** All items of a page that has several, by their ids. */
  const shared = new Map<string, Map<string, CatalogRecord>>();

  function put(key: string, item: CatalogRecord): void {
    const known = newest.get(key);
    let items = shared.get(key);
    if (items === undefined && known !== undefined && known.itemPid !== item.itemPid) {
      items = new Map([[known.itemPid, known]]);
      shared.set(key, items);
    }
    items?.set(item.itemPid, item);
    newest.set(key, known === undefined ? item : newerOf(known, item));
  }

  function drop(key: string, { itemPid }: CatalogRecord): void {
    const items = shared.get(key);
    if (items === undefined) {
      newest.delete(key);
      return;
    }
    items.delete(itemPid);
    if (newest.get(key)!.itemPid === itemPid) newest.set(key, items.values().reduce(newerOf));
    if (items.size === 1) shared.delete(key);
  }

  return {
    find: (key) => newest.get(key),
    sharersOf: (key) => shared.get(key)?.values(),
    replace(before, now) {
      const keys = now.removed ? [] : pagesOf(now);
      const left = before === undefined || before.removed ? [] : pagesOf(before);
      for (const key of left) if (!keys.includes(key)) drop(key, now);
      for (const key of keys) put(key, now);
    },
  };
}

/** The later of the two where they are the same item, which is added anew at most. */
const newerOf = (one: CatalogRecord, other: CatalogRecord): CatalogRecord =>
  one.addedAt > other.addedAt || (one.addedAt === other.addedAt && one.itemPid > other.itemPid) ? one : other;

/** Each page once: its own, and those of languages and countries. */
function pagesOf({ urlKey: own, languages, countries }: CatalogRecord): string[] {
  const keys = own === '' ? [] : [own];
  for (const { item_url } of [...Object.values(languages), ...Object.values(countries)]) {
    const key = typeof item_url === 'string' ? urlKey(item_url) : null;
    if (key !== null && !keys.includes(key)) keys.push(key);
  }
  return keys;
}
