import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createVocabulary, idAt, indexOfId, packVocabulary } from './vocabulary.ts';

test('every id of a packed vocabulary is found at its number, whatever its characters', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ unit: 'binary' }), { maxLength: 60 }), (raw) => {
      // lone surrogates have no UTF-8 form and cannot arrive over the wire
      const ids = raw.filter((id) => id.isWellFormed());
      const vocabulary = packVocabulary(ids);
      for (const [number, id] of ids.entries()) {
        assert.equal(indexOfId(vocabulary, id), number);
        assert.equal(idAt(vocabulary, number), id);
      }
    }),
    { examples: [[['\ufeff', '\ufeffa', 'a\ufeff', 'a']]] },
  );
});

test('ids of any length are found, before and after longer ones', () => {
  const ids = ['a', 'é', 'a'.repeat(300), 'é'.repeat(300), `${'a'.repeat(2000)}€`, ''];
  const vocabulary = packVocabulary(ids);
  for (const id of [...ids, ...ids.toReversed()]) assert.equal(indexOfId(vocabulary, id), ids.indexOf(id));
});

test('an unknown id has no number and an unknown number no id', () => {
  const vocabulary = packVocabulary(['a', 'b']);
  assert.equal(indexOfId(vocabulary, 'c'), -1);
  assert.equal(indexOfId(packVocabulary([]), 'a'), -1);
  assert.throws(() => idAt(vocabulary, 2), RangeError);
});

test('interning the same id twice gives the same number', () => {
  const vocabulary = createVocabulary(['x']);
  assert.deepEqual([vocabulary.intern('y'), vocabulary.intern('x'), vocabulary.intern('y')], [1, 0, 1]);
  assert.equal(vocabulary.count, 2);
  assert.equal(indexOfId(vocabulary.pack(), 'y'), 1);
});
