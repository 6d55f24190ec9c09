import assert from 'node:assert/strict';
import { test } from 'node:test';
import { engineItem } from './engine-input.ts';

const categoriesOf = (fields: Record<string, unknown>) =>
  engineItem({
    itemPid: 'a',
    itemUrl: 'https://shop.example/a',
    urlKey: 'shop.example/a',
    available: true,
    fields,
    languages: {},
    countries: {},
    addedAt: 1,
    revision: 1,
    removed: false,
  }).categories;

test('an item is of its categories, the narrowest first, or else of its category', () => {
  const table: [Record<string, unknown>, string[]][] = [
    [{ categories: ['Shoes', 'Shoes > Boots'], category: 'Shoes' }, ['Shoes > Boots', 'Shoes']],
    [{ category: 'Shoes' }, ['Shoes']],
    [{ category: ['Shoes', 'Gifts'] }, ['Gifts', 'Shoes']],
    [{ categories: 'Shoes' }, ['Shoes']],
    [{ categories: null, category: 7 }, []],
    [{}, []],
  ];
  for (const [fields, expected] of table)
    assert.deepEqual(categoriesOf(fields), expected, JSON.stringify(fields));
});
