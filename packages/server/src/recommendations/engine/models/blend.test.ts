import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildEngine, DEFAULT_KNOBS } from '../build.ts';
import { openEngine } from '../engine.ts';
import { interactionsOf, logOf } from '../log/interaction-log.fixture.ts';
import type { BlendWeights } from './blend.ts';

/** What `auto` answers first to a visitor with these items. */
function firstFor(session: string, { text, blend }: { text: string; blend: BlendWeights }): string {
  const log = logOf(interactionsOf(text));
  const engine = openEngine(buildEngine({ log, sessionGap: 0, knobs: { ...DEFAULT_KNOBS, blend } }));
  const [first] = engine.predict({
    algorithm: 'auto',
    session: session.split(' ').map(engine.numberOf),
    size: 5,
  });
  return engine.idOf(first!.item);
}

test('an item that visitors go on with is told from one that they leave', () => {
  const text = 'song song song ad song song\nad song song other\nad song song song';
  const blend = { again: 1, seen: -0.1, next: 0.1 };
  assert.equal(firstFor('ad song', { text, blend }), 'song');
  assert.notEqual(firstFor('song ad', { text, blend }), 'ad');
});

test('what was together with anything that a person had counts, however long ago it was', () => {
  const late = Array.from({ length: 20 }, (_, n) => `late${n}`);
  const text = ['old1 partner', 'old2 partner', ...late.map((item, n) => `${item} near${n % 7}`)].join('\n');
  const session = ['old1', 'old2', ...late.slice(0, 7)].join(' ');
  assert.equal(firstFor(session, { text, blend: { company: 1, seen: -9, seenLast: -9 } }), 'partner');
  assert.notEqual(firstFor(session, { text, blend: { basket: 1, seen: -9, seenLast: -9 } }), 'partner');
});
