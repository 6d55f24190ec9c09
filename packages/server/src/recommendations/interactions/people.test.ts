import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newIdIn } from '../../kernel/ids.ts';
import { ALL_LANES, laneOf } from '../../kernel/lanes/lane-of.ts';
import { contactKey, createPeople, laneOfKey, visitorKey } from './people.ts';

test('a person is looked for under every key, each once, the own contact first', () => {
  const people = createPeople();
  people.link('vphone', 17);
  people.link('vlaptop', 17);
  people.link('vdesk', 18);
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

test('whoever was known to be a contact stays known when that is merged, and merged again', () => {
  const people = createPeople();
  people.link('vphone', 3);
  people.link('c3', 2);
  people.link('c2', 1);
  const all = ['c1', 'c2', 'c3', 'vphone'];
  for (const person of [{ contact: 1 }, { contact: 3 }, { visitor: 'phone' }])
    assert.deepEqual(people.keysOf(person), all);
  people.link('c1', 3);
  assert.deepEqual(people.keysOf({ visitor: 'phone' }).toSorted(), all, 'a ring has an end');
});

test('of more keys than a person can have the newest are known, so that nobody makes requests for one dear', () => {
  const people = createPeople();
  for (let visit = 0; visit < 5000; visit++) people.link(`vvisit-${visit}`, 17);
  const keys = people.keysOf({ contact: 17 });
  assert.deepEqual([keys.length, keys[0], keys[1], keys.at(-1)], [201, 'c17', 'vvisit-4800', 'vvisit-4999']);
  assert.deepEqual(people.keysOf({ visitor: 'visit-4799' }), ['vvisit-4799']);
  people.link('vvisit-4799', 18);
  assert.deepEqual(people.keysOf({ contact: 18 }), ['c18', 'vvisit-4799']);
  people.link('c16', 18);
  for (let visit = 0; visit < 200; visit++) people.link(`vlater-${visit}`, 18);
  assert.deepEqual(
    people.keysOf({ contact: 18 }).slice(0, 3),
    ['c18', 'c16', 'vlater-1'],
    'who was merged stays',
  );
});

test('a visitor who is called like a contact is a visitor', () => {
  const people = createPeople();
  people.link('vc17', 18);
  assert.deepEqual(people.keysOf({ contact: 17 }), ['c17']);
  assert.deepEqual(people.keysOf({ contact: 18 }), ['c18', 'vc17']);
  assert.equal(people.keyOf({ visitor: null, contact: 17 }), 'c17');
});

test('a contact that is unlinked leaves its visitors and merged contacts on their own', () => {
  const people = createPeople();
  people.link('vphone', 17);
  people.link('c16', 17);
  people.link('vdesk', 18);
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

test('a contact lies in the lane of the number, a visitor in that of the profile whose id it is, or of the text', () => {
  const lane = ALL_LANES[17]!;
  const table: [key: string, lane: number][] = [
    [contactKey(3 * 64 + 17), lane],
    [visitorKey(newIdIn('prf', lane)), lane],
    [visitorKey('anonymous-1'), laneOf('vanonymous-1')],
    [visitorKey('prf_1'), laneOf('vprf_1')],
    [visitorKey(`@${lane}/x`), laneOf(`v@${lane}/x`)],
  ];
  for (const [key, expected] of table) assert.equal(laneOfKey(key), expected, key);
});
