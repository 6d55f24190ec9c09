import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CatalogRecord, itemOf } from '../../catalog/index.ts';
import { type Condition, conditionViolations, type Operator, passesAll, testsOf } from './condition.ts';

const ADDED = Date.UTC(2026, 0, 15, 9, 30);
const item = (
  fields: Record<string, unknown>,
  more: { available?: boolean; countries?: Record<string, Record<string, unknown>> } = {},
): CatalogRecord => ({
  ...itemOf({ item_pid: 'sku', item_url: 'https://shop.example/sku', fields, ...more }),
  urlKey: '',
  addedAt: ADDED,
  revision: 1,
  removed: false,
});

/** Which of these conditions hold of a value. */
const ASKED: [Operator, unknown][] = [
  ['less_than', 50],
  ['at_most', '45'],
  ['at_least', 45],
  ['greater_than', 50],
  ['equals', 45],
  ['in', ['x', '45.00']],
  ['exists', undefined],
];
const OF_VALUES: [value: unknown, holds: string][] = [
  [45, 'less_than at_most at_least equals in exists'],
  ['45', 'less_than at_most at_least equals in exists'],
  ['45.00', 'less_than at_most at_least equals in exists'],
  [' 45.0 ', 'less_than at_most at_least equals in exists'],
  [-1.5, 'less_than at_most exists'],
  ['.5', 'less_than at_most exists'],
  ['450', 'at_least greater_than exists'],
  // Names, however they look: 007 is not 7, and a number does not tell the long ones apart.
  ['007', 'exists'],
  ['1e1', 'exists'],
  ['0x10', 'exists'],
  ['12345678901234567890', 'exists'],
  ['100 EUR', 'exists'],
  ['Infinity', 'exists'],
  [true, 'exists'],
  [{ amount: 45 }, 'exists'],
  [[null, 45], 'less_than at_most at_least equals in exists'],
  [['', 'x'], 'in exists'],
  ['', ''],
  [' ', ''],
  [null, ''],
  [[], ''],
  [[null, ''], ''],
];
for (const [value, expected] of OF_VALUES)
  test(`of the value ${JSON.stringify(value)} hold: ${expected || 'none'}`, () => {
    const holding = (negated: boolean) =>
      ASKED.filter(([operator, operand]) => {
        const asked = negated ? (NEGATED[operator] ?? operator) : operator;
        return passesAll(item({ n: value }), testsOf([{ field: 'n', operator: asked, value: operand }]));
      }).map(([operator]) => operator);
    const names = expected.split(' ').filter((name) => name !== '');
    assert.deepEqual(holding(false), names);
    const isNegatedTo = ([operator]: [Operator, unknown]) =>
      names.includes(operator) !== (NEGATED[operator] !== undefined);
    assert.deepEqual(
      holding(true),
      ASKED.filter(isNegatedTo).map(([operator]) => operator),
    );
  });
const NEGATED: Partial<Record<Operator, Operator>> = {
  equals: 'not_equals',
  in: 'not_in',
  exists: 'missing',
};

test('texts have their own order, without case, and none with numbers or with nothing', () => {
  const table: [value: unknown, operator: Operator, operand: unknown, holds: boolean][] = [
    ['Boots', 'less_than', 'hats', true],
    ['Boots', 'at_most', 'BOOTS', true],
    ['2026-02-01', 'greater_than', '2026-01-15', true],
    ['9', 'less_than', '10', true],
    ['9', 'greater_than', 'M', false],
    ['9', 'less_than', 'M', false],
    ['', 'less_than', 'M', false],
    [true, 'greater_than', 'm', false],
    [{ a: 1 }, 'less_than', 'zzz', false],
    ['', 'equals', '', true],
    ['Boots', 'not_equals', '', true],
    ['12345678901234567890', 'equals', '12345678901234567891', false],
    [true, 'equals', 'TRUE', true],
  ];
  for (const [value, operator, operand, holds] of table) {
    const tests = testsOf([{ field: 'n', operator, value: operand }]);
    const what = JSON.stringify([value, operator, operand]);
    assert.equal(passesAll(item({ n: value }), tests), holds, what);
  }
});

test('an object that calls itself a text is compared, and fails nothing', () => {
  const odd = item({ n: { toString: 1, valueOf: 1 } });
  for (const operator of ['equals', 'contains', 'less_than'] as const)
    assert.equal(passesAll(odd, testsOf([{ field: 'n', operator, value: 'x' }])), false);
});

test('when an item was added is compared with times, as people write them or in milliseconds', () => {
  const table: [Operator, unknown, boolean][] = [
    ['greater_than', '2026-01-01', true],
    ['greater_than', '2026-01-15', true],
    ['less_than', '2026-01-16', true],
    ['greater_than', '2026-01-16', false],
    ['equals', '2026-01-15T10:30:00+01:00', true],
    ['at_most', '2026-01-15T09:30', true],
    ['less_than', '2026-01-15T09:30Z', false],
    ['at_least', ADDED, true],
    ['at_least', String(ADDED), true],
    ['greater_than', ADDED, false],
    ['in', ['2025-01-01', '2026-01-15T09:30Z'], true],
  ];
  for (const [operator, value, holds] of table) {
    const tests = testsOf([{ field: 'added_at', operator, value }]);
    assert.equal(passesAll(item({}), tests), holds, `${operator} ${value}`);
  }
  const since: Condition[] = [{ field: 'added_at', operator: 'at_least', context_field: 'season_starts' }];
  for (const [season_starts, holds] of [
    ['2026-01-01', true],
    ['2026-03-01', false],
    ['spring', false],
    ['', true],
  ] as const)
    assert.equal(passesAll(item({}), testsOf(since, { context: item({ season_starts }) })), holds);
});

test('whether an item is available is a field too, by the country where items are shown', () => {
  const table: [what: string, of: CatalogRecord, everywhere: boolean, inBelgium: boolean][] = [
    ['offered everywhere', item({ available: 'in the shop' }), true, true],
    ['offered nowhere', item({}, { available: false }), false, false],
    ['offered in Belgium', item({}, { countries: { BE: {} } }), true, true],
    ['offered in France', item({}, { countries: { FR: {} } }), true, false],
    ['sold out in Belgium', item({}, { countries: { BE: { available: false }, FR: {} } }), true, false],
    ['sold out', item({}, { available: false, countries: { BE: { available: true } } }), false, false],
  ];
  for (const [what, one, everywhere, inBelgium] of table)
    for (const value of [true, 'true', false]) {
      const holds = (country?: string) =>
        passesAll(one, testsOf([{ field: 'available', operator: 'equals', value }], { country }));
      const isAsked = value !== false;
      assert.deepEqual([holds(), holds('BE')], [everywhere === isAsked, inBelgium === isAsked], what);
    }
});

test('an operand that could match nothing is refused, with a word on what could', () => {
  const table: [Condition, string | null][] = [
    [{ field: 'price', operator: 'less_than', value: true }, 'must be a number, a text that is not empty'],
    [{ field: 'price', operator: 'less_than', value: '' }, 'must be a number, a text that is not empty'],
    [{ field: 'price', operator: 'less_than', value: ['1', 2] }, null],
    [{ field: 'price', operator: 'less_than', value: null }, 'must be a text, a number, true, false'],
    [{ field: 'price', operator: 'equals', value: '' }, null],
    [{ field: 'added_at', operator: 'at_least', value: 'yesterday' }, 'must be epoch milliseconds, a time'],
    [{ field: 'added_at', operator: 'in', value: ['2026-01-15', '2026-02-30'] }, 'must be epoch'],
    [{ field: 'added_at', operator: 'at_least', value: '2026-01-15' }, null],
    [{ field: 'added_at', operator: 'at_least', value: ADDED }, null],
    [{ field: 'added_at', operator: 'starts_with', value: '2026' }, 'compares texts, and added_at is a time'],
    [{ field: 'added_at', operator: 'exists' }, null],
    [{ field: 'added_at', operator: 'at_least', context_field: 'season_starts' }, null],
    [{ field: 'available', operator: 'equals', value: 'yes' }, 'must be true, false'],
    [{ field: 'available', operator: 'equals', value: true }, null],
  ];
  for (const [condition, message] of table) {
    const found = conditionViolations([condition], 'filters');
    const what = JSON.stringify([condition, found]);
    assert.equal(found.length, message === null ? 0 : 1, what);
    if (message !== null) assert.ok(found[0]!.message.startsWith(message), what);
  }
});
