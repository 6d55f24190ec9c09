import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InteractionItem } from './api.ts';
import { itemsOfJsonLd, soleItem } from './item.ts';

const product = { '@type': 'Product', sku: 'A-1' };
const offer = { price: '9.95', priceCurrency: 'EUR' };

test('the items that JSON-LD is about', () => {
  const table: [name: string, data: unknown, expected: InteractionItem[]][] = [
    ['a product', { ...product, offers: offer }, [{ pid: 'A-1', price: 9.95, currency: 'EUR' }]],
    ['several types', { ...product, '@type': ['Product', 'Book'] }, [{ pid: 'A-1' }]],
    ['a type as address', { ...product, '@type': 'https://schema.org/Product' }, [{ pid: 'A-1' }]],
    [
      'a list of offers',
      { ...product, offers: [offer, { price: 1 }] },
      [{ pid: 'A-1', price: 9.95, currency: 'EUR' }],
    ],
    [
      'an aggregate',
      { ...product, offers: { lowPrice: 5, priceCurrency: 'USD' } },
      [{ pid: 'A-1', price: 5, currency: 'USD' }],
    ],
    [
      'a price specification',
      { ...product, offers: [{ priceSpecification: [offer] }] },
      [{ pid: 'A-1', price: 9.95, currency: 'EUR' }],
    ],
    ['a price that is none', { ...product, offers: { price: '1.299,00' } }, [{ pid: 'A-1' }]],
    ['a number as id', { ...product, sku: 77 }, [{ pid: '77' }]],
    ['another id', { '@type': 'Product', productID: 'B' }, [{ pid: 'B' }]],
    ['a group', { '@type': 'ProductGroup', productGroupID: 'G' }, [{ pid: 'G' }]],
    ['a graph', { '@graph': [{ '@type': 'Organization' }, product] }, [{ pid: 'A-1' }]],
    ['an item page', { '@type': 'ItemPage', mainEntity: product }, [{ pid: 'A-1' }]],
    ['an array', [product, { '@type': 'Product', sku: 'A-2' }], [{ pid: 'A-1' }, { pid: 'A-2' }]],
    ['a list', { '@type': 'ItemList', itemListElement: [{ '@type': 'ListItem', item: product }] }, []],
    ['related products', { '@type': 'Article', mentions: product }, []],
    ['nothing', null, []],
    ['a text', 'Product', []],
  ];
  for (const [name, data, expected] of table) {
    assert.deepEqual(JSON.parse(JSON.stringify(itemsOfJsonLd(data))), expected, name);
  }
});

test('beside a variant its group is no item of its own', () => {
  const group = { '@type': 'ProductGroup', productGroupID: 'G', url: 'https://shop.example/g' };
  const variant = { ...product, isVariantOf: { '@id': '#g' } };
  const table: [name: string, data: unknown, pid: string | undefined][] = [
    ['the group first', [group, variant], 'A-1'],
    ['the variant first, in a graph', { '@graph': [variant, group] }, 'A-1'],
    ['in two texts', [[group], { '@graph': [variant] }], 'A-1'],
    ['variants within their group', { ...group, hasVariant: [variant] }, 'G'],
    ['a variant without an id', [group, { ...variant, sku: undefined }], 'G'],
    ['several variants', [group, variant, { ...variant, sku: 'A-2' }], undefined],
    ['a product that is no variant', [group, product], undefined],
  ];
  for (const [name, data, pid] of table) assert.equal(soleItem(itemsOfJsonLd(data))?.pid, pid, name);
});

test('a page is about an item only if it is the only one', () => {
  const table: [items: InteractionItem[], expected: InteractionItem | undefined][] = [
    [[], undefined],
    [[{ pid: 'a' }], { pid: 'a' }],
    [[{ pid: 'a', price: 1 }, { pid: 'a' }], { pid: 'a', price: 1 }],
    [[{ pid: 'a' }, { pid: 'b' }], undefined],
    [[{ url: 'https://x.example/' }, { pid: 'a' }], { pid: 'a' }],
    [[{ url: 'https://x.example/' }, { url: 'https://y.example/' }], undefined],
  ];
  for (const [items, expected] of table) assert.deepEqual(soleItem(items), expected);
});
