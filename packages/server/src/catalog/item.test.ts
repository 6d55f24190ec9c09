import assert from 'node:assert/strict';
import { test } from 'node:test';
import { itemOf, viewOf } from './item.ts';

test('each field is seen in the nearest language that has it, and in the country before all (D11)', () => {
  const item = itemOf({
    item_pid: '1',
    item_url: 'https://shop.example/1',
    fields: { title: 'Boots', price: 1, brand: 'Acme' },
    languages: { nl: { title: 'Laarzen', price: 2 }, 'nl-BE': { price: 3 } },
    countries: { BE: { price: 4, available: true } },
  });
  const table: [language: string, country: string | undefined, title: string, price: number][] = [
    ['nl-be', undefined, 'Laarzen', 3],
    ['nl-be-x-shop', undefined, 'Laarzen', 3],
    ['nl', undefined, 'Laarzen', 2],
    ['nl-nl', undefined, 'Laarzen', 2],
    ['fr', undefined, 'Boots', 1],
    ['nl-be', 'BE', 'Laarzen', 4],
    ['fr', 'FR', 'Boots', 1],
  ];
  for (const [language, country, title, price] of table) {
    const seen = { item_url: 'https://shop.example/1', title, price, brand: 'Acme' };
    assert.deepEqual(viewOf(item, language, country), seen, `${language} ${country}`);
  }
});
