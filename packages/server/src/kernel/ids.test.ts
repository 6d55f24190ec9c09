import assert from 'node:assert/strict';
import { test } from 'node:test';
import { guid, isGuid, newId, newIdAt, timeOfId } from './ids.ts';

test('a guid is a UUID of version 7 that carries the current time', () => {
  const before = Date.now();
  const id = guid();
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const time = Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
  assert.ok(time >= before - 1 && time <= Date.now() + 1, `time of ${id}`);
});

test('ids made one after the other ascend and never repeat, also within one millisecond', () => {
  for (const make of [guid, () => newId('evt')]) {
    const ids = Array.from({ length: 20_000 }, make);
    assert.deepEqual(ids, [...ids].sort());
    assert.equal(new Set(ids).size, ids.length);
  }
});

test('a prefixed id has its prefix and 26 characters of Crockford base 32', () => {
  assert.match(newId('sub'), /^sub_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
});

test('isGuid accepts the canonical form only', () => {
  const table: [string, boolean][] = [
    [guid(), true],
    ['00000000-0000-0000-0000-000000000000', true],
    [guid().toUpperCase(), true],
    [guid().replaceAll('-', ''), false],
    [`${guid()} `, false],
    ['not-a-guid', false],
    ['', false],
  ];
  for (const [text, expected] of table) assert.equal(isGuid(text), expected, text);
});

test('an id made for a time gives that time back, and is no id of another prefix', () => {
  for (const time of [0, 1, Date.UTC(2026, 5, 1), 2 ** 47])
    assert.equal(timeOfId('dl', newIdAt('dl', time)), time);
  for (const wrong of ['', 'dl_', newId('sub'), `${newId('dl')}0`, newId('dl').toUpperCase()]) {
    assert.equal(timeOfId('dl', wrong), null, wrong);
  }
});

test('a text with a time that the database cannot read is no id', () => {
  assert.equal(timeOfId('dl', newIdAt('dl', Date.UTC(10_000, 0, 1))), null);
  assert.equal(timeOfId('dl', `dl_7${'z'.repeat(25)}`), null);
});
