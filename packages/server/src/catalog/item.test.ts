import assert from 'node:assert/strict';
import { test } from 'node:test';
import { itemOf, viewOf } from './item.ts';

test('each field is seen in the nearest language that has it, and in the country before all (D11)', () => {
  const item = itemOf({
    item_pid: '1',
    item_url: 'https://shop.example/1',
    fields: { title: 'Boots', price: 1, brand: 'Acme' },
    languages: { nl: { title: 'Laarzen', price: 2 }, 'nl-BE': { price: 3 }, de: { title: 'Stiefel' } },
    countries: { BE: { price: 4, available: true } },
  });
  const table: [languages: string[], country: string | undefined, title: string, price: number][] = [
    [['nl-be', 'de'], undefined, 'Laarzen', 3],
    [['nl-be-x-shop', ''], undefined, 'Laarzen', 3],
    [['nl', 'de'], undefined, 'Laarzen', 2],
    [['nl-nl', 'en'], undefined, 'Laarzen', 2],
    [['fr', 'en'], undefined, 'Boots', 1],
    [['fr', 'de'], undefined, 'Stiefel', 1],
    [['de-at', 'nl-be'], undefined, 'Stiefel', 3],
    [['nl-be', 'de'], 'BE', 'Laarzen', 4],
    [['fr', 'en'], 'FR', 'Boots', 1],
  ];
  for (const [languages, country, title, price] of table) {
    const seen = { item_url: 'https://shop.example/1', title, price, brand: 'Acme' };
    assert.deepEqual(viewOf(item, languages, country), seen, `${languages} ${country}`);
  }
});
