/** What is said of JSON as text. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { faultAt, repeatedNames } from './json-text.ts';

test('a text that is no JSON is so from the first character on that no JSON has there', () => {
  const table: [text: string, at: number][] = [
    ['', 0],
    [' ', 1],
    ['hello', 0],
    ['tru5', 3],
    ['nul', 3],
    ['{"a":', 5],
    ['{"a": hello}', 6],
    ['{"a" 1}', 5],
    ["{'a': 1}", 1],
    ['{"a": 1,}', 8],
    ['{"a": 1]', 7],
    ['{"a": {"b": []} x', 16],
    ['[1, ]', 4],
    ['[1 2]', 3],
    ['[[], {}, [', 10],
    ['01', 1],
    ['-', 1],
    ['-x', 1],
    ['1.', 2],
    ['1.e5', 2],
    ['1e+', 3],
    ['.5', 0],
    ['"a', 2],
    ['"a\nb"', 2],
    ['"a\\', 3],
    ['"a\\q"', 3],
    ['"\\u12', 5],
    ['"\\u12x4"', 5],
    ['{} {}', 3],
    ['[1]\n]', 4],
  ];
  for (const [text, at] of table) assert.equal(faultAt(text), at, text);
});

test('the position is the longest part from which JSON can still come, wherever a text is broken', () => {
  const broken = fc
    .tuple(fc.json(), fc.nat(), fc.constantFrom('', '"', '\\', '{', ']', ',', ':', 'x', '1', '-', '\n'))
    .map(([text, at, put]) => {
      const from = at % (text.length + 1);
      return text.slice(0, from) + put + text.slice(from + (put === '' ? 1 : 0));
    });
  fc.assert(
    fc.property(broken, (text) => {
      const at = faultAt(text);
      if (isJson(text)) assert.equal(at, text.length);
      else assert.ok(at <= text.length && canBecomeJson(text.slice(0, at)));
      if (at < text.length) assert.ok(!canBecomeJson(text.slice(0, at + 1)));
    }),
  );
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** What V8 says of it: the end is what it did not expect. */
function canBecomeJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    const { message } = error as Error;
    return (
      /end of JSON input|Unterminated string/.test(message) || message.includes(`position ${text.length}`)
    );
  }
}

test('a million escapes, brackets or digits are walked through', () => {
  const many = 1_000_000;
  assert.equal(faultAt(`"${'\\n'.repeat(many)}`), 2 * many + 1);
  assert.equal(faultAt('['.repeat(many)), many);
  assert.equal(faultAt(`${'1'.repeat(many)}x`), many);
});

test('members that come twice are named once each by their path, however they are written', () => {
  const table: [text: string, members: string[]][] = [
    ['7', []],
    ['"a"', []],
    ['{"a": 1, "b": {"a": 1, "b": 2}, "c": [{"a": 1}, {"a": 1}]}', []],
    ['["a", "a", {"a": ["a", "a"], "b": "a"}]', []],
    ['{"a": "{\\"a\\": 1, \\"a\\": 2}", "b": "a\\\\", "c": "\\""}', []],
    ['{"a": 1, "A": 2, "": 3, " ": 4, "__proto__": 5, "constructor": 6}', []],
    ['{"a": 1, "a": 1}', ['a']],
    ['{"a":1,"a":2,"a":3,"b":1}', ['a']],
    ['{"a": 1, "\\u0061": 2}', ['a']],
    ['{"\\\\": 1, "\\u005c": 2}', ['\\']],
    ['{"": 1, "": 2}', ['']],
    ['[[0], {"x": [1, {"y": {"z": 1, "z": 2}}]}]', ['[1].x[1].y.z']],
    [
      '{"a": {"b": 1, "b": 2}, "c": 1, "a": [[], [{"d": 1, "d": 1}]], "c": 2}',
      ['a.b', 'a', 'a[1][0].d', 'c'],
    ],
  ];
  for (const [text, members] of table)
    assert.deepEqual(
      repeatedNames(text).map(({ member }) => member),
      members,
      text,
    );
});

test('JSON as JavaScript writes it has no member twice', () => {
  fc.assert(fc.property(fc.json(), (text) => assert.deepEqual(repeatedNames(text), [])));
});

test('a path is cut, and of very many members a thousand are looked for', () => {
  const deep = `${'{"abc":'.repeat(50_000)}{"a":1,"a":2}${'}'.repeat(50_000)}`;
  assert.equal(repeatedNames(deep)[0]!.member.length, 500);
  const many = `[${new Array(50_000).fill('{"a":1,"a":2}').join()}]`;
  assert.equal(repeatedNames(many).length, 1000);
});
