import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepare } from '../build.ts';
import { interactionsOf, logOf, shopSessions } from '../log/interaction-log.fixture.ts';
import { holdOutLast, holdOutNewest } from './hold-out.ts';
import { tuneEngine } from './tuner.ts';

const sessions = shopSessions({ sessions: 400, families: 6 });
const prepared = prepare({
  log: logOf(interactionsOf(sessions.map((items) => items.join(' ')).join('\n'))),
  sessionGap: 0,
});

test('the newest sessions are held out whole and nothing of them is trained on', () => {
  const { train, cases } = holdOutNewest(prepared, 1000);
  assert.equal(train.sessions.count, 360);
  const total = prepared.sessions.item.length - train.sessions.item.length;
  assert.ok(cases.length > 0 && cases.length <= total - 40, 'a session of n items makes n - 1 cases');
  for (const { session, next } of cases) {
    assert.ok(session.length > 0);
    assert.notEqual(session.at(-1), next, 'this log repeats no item at once');
  }
});

test('a session without an end is a few of the cases, whoever has it: others are held out beside it', () => {
  const robot = Array.from({ length: 20_000 }, (_, step) => sessions[step % 300]![0]);
  const lines = [...sessions.map((items) => items.join(' ')), robot.join(' ')];
  const visited = prepare({ log: logOf(interactionsOf(lines.join('\n'))), sessionGap: 0 });
  const { train, cases } = holdOutNewest(visited, 1000);
  assert.equal(train.sessions.count, 360);
  const others = holdOutNewest(prepared, 1000).cases.length;
  assert.ok(cases.length > others && cases.length <= others + 200, String(cases.length));
});

test('one item of each visitor is held out, ranked among strangers', () => {
  const { train, cases } = holdOutLast({ prepared, mostCases: 50, negatives: 10 });
  assert.equal(prepared.sessions.item.length - train.sessions.item.length, 50);
  for (const { session, next, candidates } of cases) {
    assert.equal(candidates?.length, 11);
    assert.equal(candidates?.[0], next);
    for (const stranger of candidates?.slice(1) ?? []) assert.ok(!session.includes(stranger));
  }
});

test('tuning never hurts on the cases it sees and reports its way', () => {
  const steps: string[] = [];
  const { found, cases } = tuneEngine(prepared, { at: 5, onProgress: ({ step }) => steps.push(step) });
  assert.ok(cases > 50);
  const value = (name: string): number => found[name]!.hitRate + found[name]!.reciprocalRank;
  assert.ok(value('auto') > value('related'));
  assert.ok(value('auto') >= value('session') * 0.98);
  assert.equal(steps.at(-1), 'tuned');
});

test('without time the defaults come back, without a log too, and an abort is heard', () => {
  assert.ok(tuneEngine(prepared, { budgetMs: 0, at: 5 }).knobs.blend);
  const empty = prepare({ log: logOf([]) });
  assert.equal(tuneEngine(empty).cases, 0);
  assert.throws(() => tuneEngine(prepared, { signal: AbortSignal.abort(new Error('stop')) }), /stop/);
});

test('neighbours are asked where what counts is known by several items together, and their votes counted ahead otherwise', () => {
  // where one goes on from a hub is told by where one came from, and a hub leads to more places than it has votes for
  const paths = Array.from({ length: 720 }, (_, n) => `from${n % 61} hub${n % 3} to${n % 61}-${n % 3}`);
  const hubs = prepare({ log: logOf(interactionsOf(paths.join('\n'))), sessionGap: 0 });
  assert.equal(tuneEngine(hubs, { at: 5, budgetMs: 0 }).knobs.votes, 'asked');
  assert.equal(tuneEngine(prepared, { at: 5, budgetMs: 0 }).knobs.votes, 'ahead');
});
