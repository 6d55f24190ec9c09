import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildEngine, DEFAULT_KNOBS } from '../build.ts';
import { openItemFacts } from '../catalog/item-facts.ts';
import { openEngine } from '../engine.ts';
import { interactionsOf, logOf } from '../log/interaction-log.fixture.ts';
import { ScoreBoard } from '../structures/score-board.ts';
import { type BlendWeights, openBlend } from './blend.ts';
import { createContext } from './context.ts';
import type { TasteModel } from './latent/latent.ts';

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

test('what one signal knows well is not crowded out by what another likes a little, however many items that is', () => {
  const itemCount = 500;
  const known = 30;
  const likesTheRest: TasteModel = {
    prepare: () => true,
    scoresOf: (items, from, count) =>
      Float32Array.from({ length: count }, (_, i) => (items[from + i]! < known ? -1 : 1)),
    scansAll: true,
    itemCount,
  };
  const blend = openBlend(
    {
      session: {
        algorithm: 'session',
        score(_, board) {
          for (let item = 0; item < known; item++) board.add(item, item === 0 ? 1 : 0.02);
        },
      },
      covisits: {
        itemCount: 0,
        offsets: new Uint32Array(1),
        items: new Int32Array(),
        weights: new Float32Array(),
      },
      basketPartners: () => {},
      again: () => 0,
      factors: likesTheRest,
      weights: null,
      facts: openItemFacts(buildEngine({ log: logOf([]) }).catalog),
      popularity: () => 0,
      recentPopularity: () => 0,
      itemCount,
    },
    { sessionRoot: 7, factors: 1 },
  );
  const board = new ScoreBoard(itemCount);
  blend.model.score(Object.assign(createContext(), { wanted: known }), board);
  const best = Array.from({ length: board.count }, (_, i) => board.touched[i]!).sort(
    (a, b) => board.values[b]! - board.values[a]!,
  );
  assert.deepEqual(
    best.slice(0, known).sort((a, b) => a - b),
    Array.from({ length: known }, (_, item) => item),
  );
});
