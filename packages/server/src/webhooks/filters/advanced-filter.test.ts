import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compileAdvancedFilters, validateAdvancedFilters } from './advanced-filter.ts';

const text = (length: number) => 'x'.repeat(length);
const times = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item);
const notNull = { key: 'a', operator: 'isNotNull' };

function accepts(filter: object, event: object): boolean {
  const { violations, filters } = validateAdvancedFilters([filter]);
  assert.deepEqual(violations, []);
  return compileAdvancedFilters(filters)({ type: 'test', ...event });
}

describe('validateAdvancedFilters', () => {
  const normalised: readonly (readonly [input: object, filter: object])[] = [
    [
      { key: 'subject', operator: 'stringIn', value: 'A' },
      { key: 'subject', operator: 'stringIn', values: ['A'] },
    ],
    [
      { key: 'subject', operator: 'stringIn', values: 'A' },
      { key: 'subject', operator: 'stringIn', values: ['A'] },
    ],
    [
      { key: 'subject', operator: 'stringIn', value: ['a', 'b', 'a'] },
      { key: 'subject', operator: 'stringIn', values: ['a', 'b', 'a'] },
    ],
    [
      { key: 'data.n', operator: 'numberIn', value: ['5', 6, '-0.5', '1e3', '2.5E-1'] },
      { key: 'data.n', operator: 'numberIn', values: [5, 6, -0.5, 1000, 0.25] },
    ],
    [
      { key: 'data.n', operator: 'numberLessThan', value: '5' },
      { key: 'data.n', operator: 'numberLessThan', values: [5] },
    ],
    [
      {
        key: 'data.n',
        operator: 'numberInRange',
        values: [
          [1, 5],
          ['-3', '7.5'],
          [2, 2],
        ],
      },
      {
        key: 'data.n',
        operator: 'numberInRange',
        values: [
          [1, 5],
          [-3, 7.5],
          [2, 2],
        ],
      },
    ],
    [
      { key: 'data.b', operator: 'boolEquals', value: ['true', false, 'false'] },
      { key: 'data.b', operator: 'boolEquals', values: [true, false, false] },
    ],
    [
      { key: 'data.x', operator: 'isNotNull' },
      { key: 'data.x', operator: 'isNotNull' },
    ],
    [
      { key: 'data.x', operator: 'stringIn', value: text(512) },
      { key: 'data.x', operator: 'stringIn', values: [text(512)] },
    ],
    [
      { key: 'data.x', operator: 'stringIn', value: '😀'.repeat(512) },
      { key: 'data.x', operator: 'stringIn', values: ['😀'.repeat(512)] },
    ],
  ];
  for (const [input, filter] of normalised) {
    test(`takes ${JSON.stringify(input).slice(0, 90)}, and its normal form as itself`, () => {
      assert.deepEqual(validateAdvancedFilters([input]), { violations: [], filters: [filter] });
      assert.deepEqual(validateAdvancedFilters([filter]), { violations: [], filters: [filter] });
    });
  }

  test('takes nothing as no filters', () => {
    for (const input of [undefined, []])
      assert.deepEqual(validateAdvancedFilters(input), { violations: [], filters: [] });
  });

  const refused: readonly (readonly [
    name: string,
    input: unknown,
    ...violations: (readonly [string, RegExp])[],
  ])[] = [
    ['null', null, ['', /list/]],
    ['an object', {}, ['', /list/]],
    [
      'filters that are not objects',
      [null, 'a', []],
      ['[0]', /object/],
      ['[1]', /object/],
      ['[2]', /object/],
    ],
    [
      'an empty filter',
      [{}],
      ['[0].key', /required/],
      ['[0].operator', /required/],
      ['[0].value', /required/],
    ],
    ['wrong types', [{ key: 1, operator: 2, value: 3 }], ['[0].key', /string/], ['[0].operator', /string/]],
    ['an empty key', [{ ...notNull, key: '' }], ['[0].key', /empty/]],
    [
      'a key with empty parts',
      ['a.', '.a', 'a..b', '.'].map((key) => ({ ...notNull, key })),
      ['[0].key', /empty part/],
      ['[1].key', /empty part/],
      ['[2].key', /empty part/],
      ['[3].key', /empty part/],
    ],
    ['a key that is too long', [{ ...notNull, key: text(513) }], ['[0].key', /512/]],
    [
      'unknown members',
      [{ ...notNull, vlaue: 1, Key: 'a' }],
      ['[0].vlaue', /not a member/],
      ['[0].Key', /not a member/],
    ],
    [
      'an own __proto__',
      [JSON.parse('{"key":"a","operator":"isNotNull","__proto__":{}}')],
      ['[0].__proto__', /not a member/],
    ],
    [
      'an operator in the wrong case',
      [{ key: 'a', operator: 'StringIn', value: 'a' }],
      ['[0].operator', /did you mean stringIn\?/],
    ],
    [
      'a misspelt null test',
      [{ key: 'a', operator: 'IsNotNull' }],
      ['[0].operator', /did you mean isNotNull\?/],
    ],
    [
      'an operator of Object.prototype',
      [{ key: 'a', operator: 'constructor', value: 'a' }],
      ['[0].operator', /the operators are numberIn, /],
    ],
    [
      'both value and values',
      [{ key: 'a', operator: 'stringIn', value: 'a', values: ['a'] }],
      ['[0].values', /left out/],
    ],
    ['no value', [{ key: 'a', operator: 'stringIn' }], ['[0].value', /required/]],
    [
      'no value in the list',
      [{ key: 'a', operator: 'stringIn', values: [] }],
      ['[0].values', /at least one/],
    ],
    [
      'a value for a null test',
      [
        { ...notNull, value: null },
        { ...notNull, values: [] },
      ],
      ['[0].value', /takes no value/],
      ['[1].values', /takes no value/],
    ],
    [
      'a string operator with other types',
      [{ key: 'a', operator: 'stringIn', value: [5, true, null, {}, ['a']] }],
      ['[0].value[0]', /string/],
      ['[0].value[1]', /string/],
      ['[0].value[2]', /string/],
      ['[0].value[3]', /string/],
      ['[0].value[4]', /string/],
    ],
    ['null for a value', [{ key: 'a', operator: 'stringIn', value: null }], ['[0].value', /string/]],
    [
      'an empty string',
      [
        { key: 'a', operator: 'stringContains', value: '' },
        { key: 'a', operator: 'stringContains', values: ['a', ''] },
      ],
      ['[0].value', /empty/],
      ['[1].values[1]', /empty/],
    ],
    [
      'a string that is too long',
      [{ key: 'a', operator: 'stringIn', value: ['a', text(513)] }],
      ['[0].value[1]', /512/],
    ],
    [
      'strings that no database holds',
      [{ key: 'a', operator: 'stringIn', value: ['\u0000', '\ud800'] }],
      ['[0].value[0]', /stored/],
      ['[0].value[1]', /stored/],
    ],
    [
      'what is not a number',
      [
        {
          key: 'a',
          operator: 'numberIn',
          value: ['', ' 5', '0x1', '5,0', 'NaN', '1e999', Number.NaN, true, [1]],
        },
      ],
      ...times(9, 0).map((_, i) => [`[0].value[${i}]`, /number/] as const),
    ],
    [
      'what is not a boolean',
      [{ key: 'a', operator: 'boolEquals', value: ['TRUE', 1, 'yes', null] }],
      ...times(4, 0).map((_, i) => [`[0].value[${i}]`, /true or false/] as const),
    ],
    [
      'what is not a range',
      [{ key: 'a', operator: 'numberInRange', value: [[1], [1, 2, 3], ['a', 'b'], 5, [1, null]] }],
      ...times(5, 0).map((_, i) => [`[0].value[${i}]`, /pair of numbers/] as const),
    ],
    [
      'a pair outside a list',
      [{ key: 'a', operator: 'numberInRange', value: [1, 5] }],
      ['[0].value[0]', /\[\[1, 5\], \[10, 20\]\]/],
      ['[0].value[1]', /pair/],
    ],
    [
      'a range that begins above its end',
      [
        {
          key: 'a',
          operator: 'numberNotInRange',
          value: [
            [1, 2],
            ['3', 2],
          ],
        },
      ],
      ['[0].value[1]', /above its end/],
    ],
    ['26 filters', times(26, notNull), ['', /at most 25 filters, not 26/]],
    [
      '26 values in one filter',
      [{ key: 'a', operator: 'numberIn', value: times(26, 1) }],
      ['', /at most 25 values in total, not 26/],
    ],
    [
      '26 values in two filters',
      times(2, { key: 'a', operator: 'numberInRange', value: times(13, [1, 2]) }),
      ['', /at most 25 values in total, not 26/],
    ],
    [
      'the second of two filters',
      [notNull, { key: 'a', operator: 'nope', value: 1 }],
      ['[1].operator', /not an operator/],
    ],
  ];
  for (const [name, input, ...violations] of refused) {
    test(`refuses ${name}, naming every member`, () => {
      const verdict = validateAdvancedFilters(input, 'body.filters');
      assert.deepEqual(verdict.filters, []);
      assert.deepEqual(
        verdict.violations.map(({ member }) => member),
        violations.map(([member]) => `body.filters${member}`),
      );
      violations.forEach(([, message], i) => {
        assert.match(verdict.violations[i]?.message ?? '', message);
      });
    });
  }

  test('takes 25 filters and 25 values', () => {
    assert.equal(
      validateAdvancedFilters(times(25, { key: 'a', operator: 'stringIn', value: 'a' })).filters.length,
      25,
    );
    assert.equal(
      validateAdvancedFilters([{ key: 'a', operator: 'numberIn', value: times(25, 1) }]).filters.length,
      1,
    );
  });

  test('names members under advanced_filters by default', () => {
    assert.equal(validateAdvancedFilters([notNull, {}]).violations[0]?.member, 'advanced_filters[1].key');
  });

  test('does not look into what is over the limits, however much it is', () => {
    assert.equal(validateAdvancedFilters(times(100_000, 0)).violations.length, 26);
    const values = times(100_000, 'no number');
    assert.equal(validateAdvancedFilters([{ key: 'a', operator: 'numberIn', values }]).violations.length, 26);
  });
});

describe('compileAdvancedFilters', () => {
  test('no filters accept everything', () =>
    assert.equal(compileAdvancedFilters([])({ type: 'test' }), true));

  test('all filters must hold, also several on one key', () => {
    const between = compileAdvancedFilters([
      { key: 'data.n', operator: 'numberGreaterThan', values: [1] },
      { key: 'data.n', operator: 'numberLessThan', values: [3] },
    ]);
    const verdicts = [1, 2, 3].map((n) => between({ type: 'test', data: { n } } as { type: string }));
    assert.deepEqual(verdicts, [false, true, false]);
  });

  test('many values are looked up as few are', () => {
    const many = { key: 'data.n', operator: 'numberIn', value: times(20, 0).map((_, i) => i) };
    assert.deepEqual(
      [0, 19, 20, -0].map((n) => accepts(many, { data: { n } })),
      [true, true, false, true],
    );
    const none = { key: 'data.s', operator: 'stringNotIn', value: ['A', 'b', 'c', 'd', 'e'] };
    assert.deepEqual(
      ['a', 'E', 'f'].map((s) => accepts(none, { data: { s } })),
      [false, false, true],
    );
  });

  test('case is ignored on both sides, beyond ASCII too', () => {
    assert.ok(accepts({ key: 'data.s', operator: 'stringIn', value: 'ÄRGER' }, { data: { s: 'ärger' } }));
    assert.ok(
      accepts(
        { key: 'data.s', operator: 'stringEndsWith', value: 'ΣΑΣ' },
        { data: { s: 'μας σας'.toUpperCase() } },
      ),
    );
  });

  test('a word begins with its first letters and contains them, also where the last of them is a sigma', () => {
    const table: [operator: string, value: string, text: string][] = [
      ['stringBeginsWith', 'ΚΟΣ', 'ΚΟΣΜΟΣ'],
      ['stringContains', 'ΟΣ', 'ΚΟΣΜΟ'],
      ['stringContains', 'κος', 'ΚΟΣΜΟ'],
      ['stringIn', 'ΚΟΣΜΟΣ', 'κοσμοσ'],
      ['stringEndsWith', 'μος', 'ΚΟΣΜΟΣ'],
    ];
    for (const [operator, value, s] of table) {
      assert.ok(accepts({ key: 'data.s', operator, value }, { data: { s } }), `${s} ${operator} ${value}`);
    }
  });

  const attributes: readonly (readonly [filter: object, event: object, verdict: boolean])[] = [
    [{ key: 'priority', operator: 'stringIn', value: '5' }, { priority: 5 }, true],
    [{ key: 'priority', operator: 'stringBeginsWith', value: ['5', '1'] }, { priority: 52 }, true],
    [{ key: 'sampled', operator: 'stringIn', value: 'TRUE' }, { sampled: true }, true],
    [{ key: 'sampled', operator: 'stringNotIn', value: 'true' }, { sampled: true }, false],
    [{ key: 'priority', operator: 'numberIn', value: '5' }, { priority: 5 }, true],
    [{ key: 'priority', operator: 'numberIn', value: '5' }, { priority: '5' }, false],
    [{ key: 'type', operator: 'stringEndsWith', value: '.SENT' }, { type: 'com.svc.sent' }, true],
    [{ key: 'data.priority', operator: 'stringIn', value: '5' }, { data: { priority: 5 } }, false],
    [{ key: 'data', operator: 'stringIn', value: '5' }, { data: 5 }, false],
    [{ key: 'data', operator: 'stringIn', value: 'plain' }, { data: 'Plain' }, true],
    [{ key: 'data', operator: 'numberIn', value: 5 }, { data: [4, 5] }, true],
  ];
  for (const [filter, event, verdict] of attributes) {
    test(`${JSON.stringify(filter)} ${verdict ? 'accepts' : 'refuses'} ${JSON.stringify(event)}`, () => {
      assert.equal(accepts(filter, event), verdict);
    });
  }

  test('keys see own members of objects only', () => {
    const event = { data: { list: ['a', 'b'], text: 'abc', object: { a: 1 }, number: 5 } };
    const invisible = [
      '__proto__',
      'constructor',
      'constructor.name',
      'toString',
      'data.__proto__',
      'data.constructor',
      'data.hasOwnProperty',
      'data.list.length',
      'data.list.0',
      'data.text.length',
      'data.text.0',
      'data.object.__proto__.constructor',
      'data.number.constructor',
      'data.object.a.b',
    ];
    for (const key of invisible) assert.ok(accepts({ key, operator: 'isNullOrUndefined' }, event), key);
    const own = JSON.parse('{"data":{"__proto__":"x","constructor":"y","length":3}}');
    assert.ok(accepts({ key: 'data.__proto__', operator: 'stringIn', value: 'x' }, own));
    assert.ok(accepts({ key: 'data.constructor', operator: 'stringIn', value: 'y' }, own));
    assert.ok(accepts({ key: 'data.length', operator: 'numberIn', value: 3 }, own));
  });

  test('objects, and arrays within arrays, fit nothing but are not null', () => {
    for (const held of [{ a: 1 }, {}, [['a']], [{ a: 'a' }]]) {
      const event = { data: { key: held } };
      assert.equal(accepts({ key: 'data.key', operator: 'stringIn', value: 'a' }, event), false);
      assert.equal(accepts({ key: 'data.key', operator: 'stringNotIn', value: 'a' }, event), true);
      assert.equal(accepts({ key: 'data.key', operator: 'isNotNull' }, event), true);
    }
  });
});
