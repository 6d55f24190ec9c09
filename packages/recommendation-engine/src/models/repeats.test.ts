import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepare } from '../build.ts';
import { interactionsOf, logOf } from '../log/interaction-log.fixture.ts';
import { idAt } from '../structures/vocabulary.ts';
import { buildRepeats } from './repeats.ts';

function repeatsOf(text: string): Record<string, number> {
  const { sessions, items, itemCount } = prepare({ log: logOf(interactionsOf(text)), sessionGap: 0 });
  const odds = buildRepeats(sessions, itemCount);
  return Object.fromEntries(Array.from(odds, (value, item) => [idAt(items, item), value]));
}

test('an item that is gone on with stands above one that is left, and one that ends sessions between them', () => {
  const { song, ad, end } = repeatsOf('song song song ad song song\nad song song end\nad song song song');
  assert.ok(song! > 0 && ad! < 0, `${song} ${ad}`);
  assert.equal(end, 0);
});

test('the more steps tell the same of an item, the further it stands from the others', () => {
  const few = repeatsOf('a a b c\nc b c b');
  const many = repeatsOf('a a b c\nc b c b\n'.repeat(20).trim());
  assert.ok(many.a! > few.a! && few.a! > 0);
});

test('where nobody ever goes on with an item, or nobody does anything else, no item stands out', () => {
  for (const text of ['a b c\nb a', 'a a a\nb b'])
    assert.deepEqual(
      Object.values(repeatsOf(text)).map(Number),
      Object.values(repeatsOf(text)).map(() => 0),
    );
});
