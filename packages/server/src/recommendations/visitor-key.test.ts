import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPeople } from './visitor-key.ts';

test('a person is looked for under every key, each once, the own contact first', () => {
  const people = createPeople();
  people.link('phone', 17);
  people.link('laptop', 17);
  people.link('desk', 18);
  people.link('c16', 17); // contact 16 was merged into 17
  const seventeen = ['c17', 'vphone', 'vlaptop', 'c16'];
  const table: [Parameters<typeof people.keysOf>[0], string[]][] = [
    [{}, []],
    [{ contact: 5 }, ['c5']],
    [{ visitor: 'unknown' }, ['vunknown']],
    [{ contact: 5, visitor: 'unknown' }, ['c5', 'vunknown']],
    [{ contact: 17 }, seventeen],
    [{ contact: 16 }, seventeen],
    [{ visitor: 'phone' }, seventeen],
    [{ contact: 17, visitor: 'laptop' }, seventeen],
    [{ contact: 16, visitor: 'phone' }, seventeen],
    [{ contact: 18, visitor: 'phone' }, ['c18', 'vdesk', ...seventeen]],
    [{ contact: 17, visitor: 'unknown' }, [...seventeen, 'vunknown']],
  ];
  for (const [person, keys] of table) assert.deepEqual(people.keysOf(person), keys, JSON.stringify(person));
});

test('a contact that is unlinked leaves its visitors and merged contacts on their own', () => {
  const people = createPeople();
  people.link('phone', 17);
  people.link('c16', 17);
  people.link('desk', 18);
  people.unlink(17);
  for (const [person, keys] of [
    [{ contact: 17 }, ['c17']],
    [{ contact: 16 }, ['c16']],
    [{ visitor: 'phone' }, ['vphone']],
    [{ visitor: 'desk' }, ['c18', 'vdesk']],
  ] as const)
    assert.deepEqual(people.keysOf(person), keys);
  assert.equal(people.keyOf({ visitor: 'phone', contact: null }), 'vphone');
});
