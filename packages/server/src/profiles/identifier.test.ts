import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { groupIdentifications } from './groups.ts';
import { type Identification, identifiersOf, normalEmail } from './identifier.ts';
import { selectorsOf } from './selector.ts';

test('emails are compared without case and surrounding space', () => {
  const table: [string, string][] = [
    ['ada@example.com', 'ada@example.com'],
    [' Ada@Example.COM\t', 'ada@example.com'],
    ['ÅSA@example.se', 'åsa@example.se'],
    ['A\u030asa@example.se', 'åsa@example.se'],
  ];
  for (const [given, normal] of table) assert.equal(normalEmail(given), normal);
});

test('an identification yields the identifiers that it names, in a form that can be stored', () => {
  const email = (value: string) => ({ kind: 'email', value });
  const external = (value: string) => ({ kind: 'external', value });
  const table: [Identification, object[]][] = [
    [{}, []],
    [{ email: null, externalId: '' }, []],
    [{ email: ' ' }, []],
    [{ email: 'Ada@example.com' }, [email('ada@example.com')]],
    [{ externalId: 'C-1' }, [external('C-1')]],
    [{ email: 'a@b.c', externalId: ' C-1' }, [email('a@b.c'), external(' C-1')]],
    [{ externalId: 'nul\0and\ud800lone' }, [external('nul\ufffdand\ufffdlone')]],
  ];
  for (const [given, wanted] of table) assert.deepEqual(identifiersOf(given), wanted);
});

test('an identifier too long for an index is replaced by a digest that tells it from others', () => {
  const [one] = identifiersOf({ externalId: 'x'.repeat(5000) });
  const [other] = identifiersOf({ externalId: 'x'.repeat(5001) });
  assert.ok(one!.value.length < 100);
  assert.notEqual(one!.value, other!.value);
  assert.deepEqual(identifiersOf({ externalId: 'x'.repeat(5000) }), [one]);
  assert.equal(identifiersOf({ externalId: 'x'.repeat(512) })[0]!.value.length, 512);
});

test('identifications that share an identifier, directly or through others, are one person', () => {
  const table: [Identification[], number[][]][] = [
    [[], []],
    [
      [{ email: 'a@x' }, { email: 'A@x' }, { email: 'b@x' }],
      [[0, 1], [2]],
    ],
    [[{ email: 'a@x' }, { externalId: '1' }, { email: 'a@x', externalId: '1' }], [[0, 1, 2]]],
    [
      [
        { email: 'a@x', externalId: '1' },
        { email: 'b@x', externalId: '2' },
        { email: 'b@x', externalId: '1' },
      ],
      [[0, 1, 2]],
    ],
    [
      [{ email: '1' }, { externalId: '1' }],
      [[0], [1]],
    ],
  ];
  for (const [given, wanted] of table) {
    assert.deepEqual(
      groupIdentifications(given).map(({ members }) => members.toSorted((a, b) => a - b)),
      wanted,
    );
  }
});

test('the order in which identifications come makes no difference to who is one person', () => {
  const identification = fc.record({
    email: fc.option(fc.constantFrom('a@x', 'b@x', 'c@x', 'd@x', 'e@x')),
    externalId: fc.option(fc.constantFrom('1', '2', '3', '4', '5')),
  });
  const groupsOf = (given: readonly Identification[]) =>
    new Set(groupIdentifications(given).map(({ identifiers }) => [...identifiers.keys()].sort().join(', ')));
  const shuffled = fc
    .array(identification, { maxLength: 12 })
    .chain((given) =>
      fc.tuple(
        fc.constant(given),
        fc.shuffledSubarray(given, { minLength: given.length, maxLength: given.length }),
      ),
    );
  fc.assert(
    fc.property(shuffled, ([given, permuted]) => assert.deepEqual(groupsOf(permuted), groupsOf(given))),
  );
});

test('an identifier in an address means an email, an external id or a profile id, and a system id only when called one', () => {
  const id = 'prf_01k7vw53ga9s79t30f3w61wytt';
  assert.deepEqual(selectorsOf('ada@example.com'), [
    { email: 'ada@example.com' },
    { externalId: 'ada@example.com' },
  ]);
  assert.deepEqual(selectorsOf('42'), [{ externalId: '42' }]);
  assert.deepEqual(selectorsOf(id), [{ id }, { externalId: id }]);
  assert.deepEqual(selectorsOf('42', 'system'), [{ systemId: 42 }]);
  assert.deepEqual(selectorsOf('2147483648', 'system'), []);
  assert.deepEqual(selectorsOf('x', 'system'), []);
  assert.deepEqual(selectorsOf('42', 'email'), [{ email: '42' }]);
  assert.deepEqual(selectorsOf('a@b', 'external'), [{ externalId: 'a@b' }]);
});
