import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createLiteralIndex } from './literal-index.ts';

describe('createLiteralIndex', () => {
  for (const count of [1, 500]) {
    test(`finds what the text holds in each place, among ${count} others`, () => {
      const index = createLiteralIndex<string>();
      for (const place of ['whole', 'start', 'end', 'anywhere'] as const) {
        for (const text of ['ab', 'abc', 'b', 'bc']) index.add({ place, text }, `${place} ${text}`);
        for (let i = 0; i < count; i++) index.add({ place, text: `other ${i}` }, 'other');
      }
      const found = new Set<string>();
      index.find('abc', (item) => found.add(item));
      assert.deepEqual([...found].sort(), [
        'anywhere ab',
        'anywhere abc',
        'anywhere b',
        'anywhere bc',
        'end abc',
        'end bc',
        'start ab',
        'start abc',
        'whole abc',
      ]);
    });
  }

  test('the empty text stands at the start of everything', () => {
    const index = createLiteralIndex<string>();
    index.add({ place: 'start', text: '' }, 'all');
    const found: string[] = [];
    for (const text of ['', 'a']) index.find(text, (item) => found.push(item));
    assert.deepEqual(found, ['all', 'all']);
  });
});
