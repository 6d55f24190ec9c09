/** What is refused of JSON although it can be read. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiError } from '../../errors.ts';
import { isHeld, prototypeViolations, requireHeldNumbers } from './json-body.ts';

function refusedMembers(text: string): string[] {
  try {
    requireHeldNumbers(text);
    return [];
  } catch (error) {
    return (error as ApiError).violations.map(({ member }) => member);
  }
}

test('a number is held when its digits come back, or when it is a fraction as other languages print it', () => {
  const held = [
    ...['0', '-0', '0.0', '0e999', '1', '-1.50', '1e2', '100E-2', '0.1', '1e21', '5e22', '1E+300', '5e-324'],
    ...['9007199254740991', '9007199254740992', '-9007199254740992', '100000000000000000000', '1e308'],
    ...['0.1000000000000000000000', '3.141592653589793', '0.10000000000000001', '1.7976931348623157e308'],
  ];
  const altered = [
    ...['9007199254740993', '12345678901234567890', '-12345678901234567890', '1e400', '-1e400', '1e-400'],
    ...['9007199254740993.0', '9007199254740993e0', '12345678901234567.8e1', '3.14159265358979323846'],
  ];
  for (const text of held) assert.equal(isHeld(text, Number(text)), true, text);
  for (const text of altered) assert.equal(isHeld(text, Number(text)), false, text);
  // The cheap look must see whatever the thorough one would refuse.
  for (const text of altered) {
    for (const [around, member] of [
      [`[${text}]`, '[0]'],
      [`{"a":${text}}`, 'a'],
      [`{"a": [1,${text}\n]}`, 'a[1]'],
    ] as const)
      assert.deepEqual(refusedMembers(around), [member], around);
  }
});

test('all numbers that cannot be held are named by their path, texts and other numbers are not', () => {
  const text = `{"a": {"b": [1, 12345678901234567890, "12345678901234567890"]}, "c": ":1e400", "d": 1e400, "e": 7}`;
  assert.deepEqual(refusedMembers(text), ['d', 'a.b[1]']);
});

test('members that would change a prototype are named by their path, however they are spelt', () => {
  const message = 'is not a permitted member';
  const text =
    '{"a":[{"__proto__":1}],"\\u005f_proto__":{"x":1},"constructor":{"prototype":{}},"b":{"constructor":1}}';
  assert.deepEqual(prototypeViolations(text), [
    { member: '__proto__', message },
    { member: 'constructor', message },
    { member: 'a[0].__proto__', message },
  ]);
});
