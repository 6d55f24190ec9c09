import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idAt } from '../structures/vocabulary.ts';
import { logOf, MONDAY } from './interaction-log.fixture.ts';
import type { Interaction } from './interactions.ts';
import { type SessionLog, sessionise } from './sessions.ts';

const MINUTE = 60_000;
const at = (visitor: string, item: string, minutes: number): Interaction => ({
  visitor,
  item,
  time: MONDAY + minutes * MINUTE,
});

function spelled(sessions: SessionLog, log: ReturnType<typeof logOf>): string[] {
  return Array.from({ length: sessions.count }, (_, s) =>
    Array.from(sessions.item.subarray(sessions.offsets[s], sessions.offsets[s + 1]), (item) =>
      idAt(log.items, item),
    ).join(' '),
  );
}

test('half an hour of silence ends a session and the session that ended last comes last', () => {
  const log = logOf([
    at('ann', 'a', 0),
    at('bob', 'x', 5),
    at('ann', 'b', 30),
    at('ann', 'c', 61),
    at('bob', 'y', 34),
  ]);
  assert.deepEqual(spelled(sessionise(log), log), ['a b', 'x y', 'c']);
});

test('interactions that arrive late are put where they belong, equal times keep their order', () => {
  const log = logOf([at('ann', 'c', 2), at('ann', 'a', 0), at('ann', 'b', 0)]);
  assert.deepEqual(spelled(sessionise(log), log), ['a b c']);
});

test('without a gap a visitor is one session', () => {
  const log = logOf([at('ann', 'a', 0), at('ann', 'b', 100_000)]);
  assert.deepEqual(spelled(sessionise(log, Number.POSITIVE_INFINITY), log), ['a b']);
});

test('an empty log has no sessions', () => {
  assert.equal(sessionise(logOf([])).count, 0);
});
