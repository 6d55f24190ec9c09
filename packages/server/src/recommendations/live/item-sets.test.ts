import assert from 'node:assert/strict';
import { test } from 'node:test';
import { membersOf } from '@signalbox/recommendation-engine/structures/bitset';
import fc from 'fast-check';
import type { CatalogRecord } from '../../catalog/index.ts';
import { type Condition, OPERATORS, passesAll, testsOf } from '../widgets/condition.ts';
import { createItemSets } from './item-sets.ts';

const record = (fields: Record<string, unknown>, itemPid = 'x'): CatalogRecord => ({
  itemPid,
  itemUrl: '',
  urlKey: '',
  fields,
  languages: {},
  countries: {},
  available: true,
  addedAt: 0,
  removed: false,
  revision: 1,
});
/** Few values, in all the forms that a field has. */
const value = fc.constantFrom<unknown>(
  ...[null, 'a', 'A', 'b', '', ' ', '10', '10.0', '007', '9 EUR', 9, 10, 10.5, true, false, '1970-01-01'],
  ...[['a', 'b'], ['b'], [10], [null, ''], [], { deep: 1 }],
);
const fields = fc.dictionary(fc.constantFrom('brand', 'price'), value);
const inCountries = fc.option(
  fc.dictionary(
    fc.constantFrom('BE', 'FR'),
    fc.record({ price: value, available: fc.boolean() }, { requiredKeys: [] }),
  ),
);
const own = fc.tuple(fields, fc.boolean(), inCountries);
const condition: fc.Arbitrary<Condition> = fc.record({
  field: fc.constantFrom('brand', 'price', 'item_pid', 'added_at', 'available'),
  operator: fc.constantFrom(...OPERATORS),
  value,
});

test('what is kept up to date item by item is what would be computed anew, and what each condition says of each item', () => {
  fc.assert(
    fc.property(
      fc.array(own, { maxLength: 8 }),
      fc.array(condition, { maxLength: 3 }),
      fc.constantFrom(undefined, 'BE'),
      fc.array(fc.tuple(fc.nat(20), fc.option(own)), { maxLength: 12 }),
      (first, conditions, country, changes) => {
        const recordOf = ([fields, available, countries]: (typeof first)[number], n: number) => ({
          ...record(fields, `${n}`),
          available,
          countries: countries ?? {},
        });
        const items: (CatalogRecord | undefined)[] = first.map(recordOf);
        const tests = testsOf(conditions, { country });
        const sets = createItemSets(() => items);
        const rules = [{ tests, factor: 3 }];
        sets.allowed('old', () => ({ tests }));
        sets.factors('old', () => rules);
        for (const [number, own] of changes) {
          const item = own === null ? undefined : recordOf(own, number);
          while (items.length < number) items.push(undefined);
          items[number] = item;
          sets.changed(number, item);
        }
        const passing = items.flatMap((item, number) =>
          item !== undefined && passesAll(item, tests) ? [number] : [],
        );
        for (const key of ['old', 'new']) {
          const set = sets.allowed(key, () => ({ tests }));
          const members = new Int32Array(64);
          assert.deepEqual([...members.subarray(0, membersOf(set, members))], passing);
          const factors = sets.factors(key, () => rules);
          assert.deepEqual(
            [...items.keys()].filter((number) => factors[number] !== 1),
            passing,
          );
        }
      },
    ),
  );
});

test('a field that tells nearly all items apart is tested item by item, to the same end', () => {
  const items = Array.from({ length: 3000 }, (_, n) => record({ title: `title ${n}`, brand: `b${n % 3}` }));
  const sets = createItemSets(() => items);
  const tests = testsOf([
    { field: 'title', operator: 'contains', value: '99' },
    { field: 'brand', operator: 'equals', value: 'B1' },
  ]);
  const expected = items.filter(
    ({ fields }) => String(fields.title).includes('99') && fields.brand === 'b1',
  ).length;
  assert.ok(expected > 0);
  assert.equal(sets.allowed('one', () => ({ tests })).count, expected);
  items[0] = record({ title: 'title 99, again', brand: 'b1' });
  sets.changed(0, items[0]);
  assert.equal(sets.allowed('one', () => ({ tests })).count, expected + 1);
  assert.equal(sets.allowed('two', () => ({ tests })).count, expected + 1);
});

test('what is asked for again and again stays, however many others come', () => {
  const sets = createItemSets(() => [record({})]);
  const computed: string[] = [];
  const ask = (key: string) =>
    sets.allowed(key, () => {
      computed.push(key);
      return { tests: [] };
    });
  for (let n = 0; n < 1000; n++) {
    ask('always');
    ask(`once ${n}`);
  }
  assert.equal(computed.filter((key) => key === 'always').length, 1);
  ask('once 0');
  assert.equal(computed.at(-1), 'once 0');
});

test('rules multiply, nothing raises what is buried, and no product is more than a score can hold', () => {
  const items = ['plain', 'good', 'best', 'buried'].map((name) => record({ name }));
  const sets = createItemSets(() => items);
  const rule = (value: string[], factor: number) => ({
    tests: testsOf([{ field: 'name', operator: 'in', value }]),
    factor,
  });
  const rules = [
    rule(['good', 'buried'], 2),
    rule(['good'], 3),
    ...Array.from({ length: 50 }, () => rule(['best', 'buried'], 1000)),
    rule(['buried'], 0),
  ];
  const factors = sets.factors('all', () => rules);
  assert.deepEqual([...factors.subarray(0, 4)], [1, 6, Math.fround(1e12), 0]);
});
