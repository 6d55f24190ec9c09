import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { CatalogRecord } from '../../catalog/index.ts';
import { createItemPages } from './item-pages.ts';

const item = (itemPid: string, more: Partial<CatalogRecord> = {}): CatalogRecord => ({
  itemPid,
  itemUrl: 'https://shop.example/boots',
  urlKey: 'shop.example/boots',
  available: true,
  fields: { title: itemPid },
  languages: {},
  countries: {},
  addedAt: 1,
  revision: 1,
  removed: false,
  ...more,
});

/** Pages of a process that has heard of the items in this order. */
function pagesAfter(heard: readonly CatalogRecord[]) {
  const known = new Map<string, CatalogRecord>();
  const pages = createItemPages();
  for (const record of heard) {
    pages.replace(known.get(record.itemPid), record);
    known.set(record.itemPid, record);
  }
  return { ...pages, find: (key: string) => pages.find(key)?.itemPid, known: [...known.values()] };
}

test('an item that takes the place of another has its page, whichever of the two is told of first', () => {
  const [old, successor, gone] = [item('sku-9'), item('sku-10'), item('sku-9', { removed: true })];
  for (const heard of [
    [old, successor, gone],
    [old, gone, successor],
    [successor, gone],
    [gone, successor],
  ])
    assert.equal(pagesAfter(heard).find('shop.example/boots'), 'sku-10');
});

test('an item is found by its page in every language and country, and by none that it has left', () => {
  const boots = item('boots', {
    languages: { nl: { item_url: 'https://shop.example/nl/laarzen?utm_source=mail' } },
    countries: { BE: { item_url: 'https://shop.be/boots' }, FR: { price: 9 } },
  });
  const PAGES = ['shop.example/boots', 'shop.example/nl/laarzen', 'shop.be/boots'];
  assert.deepEqual(PAGES.map(pagesAfter([boots]).find), ['boots', 'boots', 'boots']);
  const moved = { ...boots, countries: {} };
  assert.deepEqual(PAGES.map(pagesAfter([boots, moved]).find), ['boots', 'boots', undefined]);
});

test('a page belongs to the item on it that was added last, in a process that saw every change and in a new one', () => {
  const KEYS = ['shop.example/1', 'shop.example/2', 'shop.example/3'];
  const ADDED: Record<string, number> = { a: 2, b: 1, c: 2, d: 3 };
  const change = fc
    .record({
      itemPid: fc.constantFrom(...Object.keys(ADDED)),
      urlKey: fc.constantFrom(...KEYS),
      other: fc.constantFrom(...KEYS),
      removed: fc.boolean(),
    })
    .map(({ itemPid, other, ...record }) =>
      item(itemPid, {
        ...record,
        addedAt: ADDED[itemPid]!,
        countries: { BE: { item_url: `https://${other}` } },
      }),
    );
  fc.assert(
    fc.property(fc.array(change, { maxLength: 20 }), (heard) => {
      const { find, known, sharersOf } = pagesAfter(heard);
      const fresh = pagesAfter(known.toReversed());
      for (const key of KEYS) {
        const onIt = known.filter(
          ({ removed, urlKey, countries }) =>
            !removed && (urlKey === key || countries.BE!.item_url === `https://${key}`),
        );
        const newest = ['d', 'c', 'a', 'b'].find((pid) => onIt.some(({ itemPid }) => itemPid === pid));
        assert.deepEqual([find(key), fresh.find(key)], [newest, newest]);
        const sharers = new Set(onIt.length > 1 ? onIt : []);
        assert.deepEqual([new Set(sharersOf(key)), new Set(fresh.sharersOf(key))], [sharers, sharers]);
      }
    }),
  );
});
