import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { compileTypePattern, matchSegments } from './type-pattern.ts';

const SENT = 'com.svc.deliveries.email.sent';

const MATCHES: readonly (readonly [pattern: string, type: string])[] = [
  ['*', SENT],
  ['**', SENT],
  ['*', 'a'],
  ['com.*', SENT],
  ['com.svc.*', SENT],
  ['svc.*', SENT],
  ['*.sent', SENT],
  ['*.email.*', SENT],
  ['svc.*.sent', SENT],
  ['svc.*.email.*', SENT],
  ['com.svc.deliveries.email.sent', SENT],
  ['svc.deliveries.email.sent', SENT],
  ['*svc.deliveries.email.sent*', SENT],
  ['svc.deliveries.email.sent', 'svc.deliveries.email.sent'],
  ['com.x', 'com.com.x'],
  ['*ab', 'aab'],
  ['*ab*ab', 'abab'],
  ['a*a', 'aa'],
  ['*aba*', 'ababa'],
  ['a.b*', 'a.b'],
  ['[a-z]+.*', '[a-z]+.x'],
  ['a?c', 'a?c'],
];

const MISSES: readonly (readonly [pattern: string, type: string])[] = [
  ['svc.deliveries', SENT],
  ['deliveries.*', SENT],
  ['SVC.*', SENT],
  ['*.Sent', SENT],
  ['COM.*', SENT],
  ['x', 'com.com.x'],
  ['svc.*', 'COM.svc.x'],
  ['svc.*', 'org.svc.x'],
  ['a*a', 'a'],
  ['ab*ba', 'aba'],
  ['*ab*ab', 'ab'],
  ['*aa*aa*', 'aaa'],
  ['a.c', 'abc'],
  ['a?c', 'abc'],
  ['[a-z]', 'b'],
  ['svc.\\*', 'svc.x'],
  ['', 'a'],
];

describe('compileTypePattern', () => {
  for (const [pattern, type] of MATCHES) {
    test(`"${pattern}" matches ${type}`, () => assert.equal(compileTypePattern(pattern).matches(type), true));
  }
  for (const [pattern, type] of MISSES) {
    test(`"${pattern}" does not match ${type}`, () =>
      assert.equal(compileTypePattern(pattern).matches(type), false));
  }

  test('agrees with a regular expression on anything', () => {
    const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*', 'com.'), maxLength: 8 });
    const type = fc.string({ unit: fc.constantFrom('a', 'b', '.', 'com.'), maxLength: 10 });
    fc.assert(
      fc.property(pattern, type, (source, text) => {
        const oracle = new RegExp(`^(com\\.)?${source.replaceAll('.', '\\.').replaceAll('*', '.*')}$`);
        const whole = new RegExp(`^${source.replaceAll('.', '\\.').replaceAll('*', '.*')}$`);
        assert.equal(compileTypePattern(source).matches(text), whole.test(text) || oracle.test(text));
      }),
      { numRuns: 2000 },
    );
  });

  const pathological: readonly (readonly [name: string, pattern: string, text: string])[] = [
    ['many stars that all match but the last', `${'*a'.repeat(500)}*b`, 'a'.repeat(20_000)],
    [
      'many stars with the missing letter in the middle',
      `${'*a'.repeat(250)}*b${'*a'.repeat(250)}*`,
      'a'.repeat(20_000),
    ],
    [
      'long repetitive segments',
      `*${'a'.repeat(50)}b*${'a'.repeat(50)}c*`,
      `${'a'.repeat(9_999)}b`.repeat(2),
    ],
    ['stars alone', '*'.repeat(5_000), 'a'.repeat(20_000)],
  ];
  for (const [name, pattern, text] of pathological) {
    test(`passes over each character at most once: ${name}`, () => {
      let passed = 0;
      matchSegments(pattern.split('*'), text, (haystack, segment, from) => {
        const at = haystack.indexOf(segment, from);
        passed += (at === -1 ? haystack.length : at + segment.length) - from;
        return at;
      });
      assert.ok(passed <= text.length, `${passed} steps over ${text.length} characters`);
    });
  }
});
