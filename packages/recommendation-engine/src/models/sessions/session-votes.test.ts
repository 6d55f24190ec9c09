import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shopSessions } from '../../log/interaction-log.fixture.ts';
import type { LiveSessions } from './session-index.ts';
import { openSessionNeighbours } from './session-neighbours.ts';
import { PLAIN, sessionsOf } from './session-scores.fixture.ts';
import { buildSessionVotes, openSessionVotes } from './session-votes.ts';
import { DEFAULT_SESSION_KNOBS, type SessionKnobs } from './session-weights.ts';

const NO_LIVE: LiveSessions = { count: 0, withItem: () => undefined, itemsOf: () => [] };

function score(
  text: string,
  query: string,
  { live = NO_LIVE, own = -1, ...turned }: Partial<SessionKnobs> & { live?: LiveSessions; own?: number } = {},
): Record<string, number> {
  const { index, scoresOf } = sessionsOf(text);
  const knobs = { ...PLAIN, ...turned };
  const votes = buildSessionVotes({ index, knobs });
  return scoresOf(openSessionVotes({ votes, index, knobs, live }), query, own);
}

const SHOP = shopSessions({ sessions: 200, families: 3 })
  .map((items) => items.join(' '))
  .join('\n');
const TURNED: [string, Partial<SessionKnobs>][] = [
  ['as they are by default', {}],
  ['with a fade of age', { recency: 24 }],
  ['with few sessions looked at', { sample: 7 }],
  ['with rare items as they are', { rareMatch: 0, rareItem: 0 }],
];
for (const [name, turned] of TURNED) {
  test(`of one item the votes are those of its neighbours, ${name}`, () => {
    const { index, scoresOf, numberOf } = sessionsOf(SHOP);
    const knobs = { ...DEFAULT_SESSION_KNOBS, ...turned };
    const ahead = openSessionVotes({
      votes: buildSessionVotes({ index, knobs }),
      index,
      knobs,
      live: NO_LIVE,
    });
    const asked = openSessionNeighbours({ index, knobs });
    for (const id of ['f0i0', 'f1i3', 'f2i7']) {
      assert.ok(numberOf(id) >= 0);
      const expected = scoresOf(asked, id);
      assert.ok(Object.keys(expected).length > 3, id);
      assert.deepEqual(scoresOf(ahead, id), expected, id);
    }
  });
}

// with itemDecay 1/ln 2 what the item before the newest one says counts a quarter
test('of two items each counts by its own sessions, the earlier one by a quarter', () => {
  assert.deepEqual(score('a b x\nb y\na z', 'a b'), { a: 1.5, b: 2.25, x: 1.25, y: 1, z: 0.25 });
});

test('the less an item counts, the fewer candidates it brings along: those that it is strongest in', () => {
  const partners = Array.from({ length: 99 }, (_, n) => `a p${n}`).join('\n');
  const found = (query: string) => Object.keys(score(`${partners}\na p7\nb\nc`, query));
  assert.equal(found('b a').length, 101);
  assert.equal(found('a b').length, 26);
  const few = found('a b c');
  assert.equal(few.length, 9);
  assert.ok(few.includes('a') && few.includes('p7'));
});

test('a session since then votes as one of before, the own one does not, and each tells of items that came later', () => {
  // numbers by first occurrence: a 0, b 1; 2 and 3 are new
  const sessions = [
    [0, 1],
    [2, 0],
    [0, 2],
  ];
  const live: LiveSessions = {
    count: sessions.length,
    withItem: (item) => sessions.flatMap((items, session) => (items.includes(item) ? [session] : [])),
    itemsOf: (session) => sessions[session]!,
  };
  const text = 'a b\nb a\nlater';
  assert.deepEqual(score(text, 'a', { live }), { a: 5, b: 3, later: 2 });
  assert.deepEqual(score(text, 'a', { live, own: 1 }), { a: 4, b: 3, later: 1 });
  const faded = score(text, 'a', { live, own: 0, matchDecay: 1 / Math.LN2, backward: 0.1 });
  assert.deepEqual(faded, { a: 0.4, b: 0.55, later: 0.55 });
});

test('an unknown session has no votes', () => {
  assert.deepEqual(score('a b', 'nobody'), {});
});
