import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Job, positionBefore } from './job.ts';
import { LANES, laneOf } from './lane-of.ts';
import { job, jobs, namesOf, otherKeyOfTheLaneOf, yardOf } from './ready-jobs.fixture.ts';
import type { Admit, ReadyJobs } from './ready-jobs.ts';

const BEGINNING = positionBefore(0);
const everyone: Admit = () => ({ admitted: true });
const atMost =
  (limit: number): Admit =>
  (_key, running) => ({ admitted: running < limit });

/** Starts all that may start and answers the keys in their order. */
function startAll(yard: ReadyJobs, admit: Admit = everyone, now = 0): string[] {
  const started: string[] = [];
  for (let next = yard.next(admit, now); next !== null; next = yard.next(admit, now)) started.push(next.key);
  return started;
}

/** As a read of the siding does. */
function feed(yard: ReadyJobs, found: Job[], { all }: { all: boolean }): void {
  yard.order(laneOf('a'), 1);
  yard.feed('a', found, { to: BEGINNING, all, now: 0 });
}

test('keys take turns, whatever the order in which their jobs came', () => {
  const table: [came: string, started: string][] = [
    ['', ''],
    ['a', 'a'],
    ['aab', 'aba'],
    ['aaaaabbc', 'abcabaaa'],
    ['cbbaaaaa', 'cbabaaaa'],
  ];
  for (const [came, started] of table) {
    const yard = yardOf();
    yard.take([...came].map((key) => job(key)));
    assert.equal(startAll(yard).join(''), started, came);
  }
});

test('a key at its limit leaves the round until one of its jobs ends', () => {
  const yard = yardOf();
  const [first, ...rest] = jobs('a', 3);
  yard.take([first!, ...rest, job('b')]);
  assert.deepEqual(startAll(yard, atMost(1)), ['a', 'b']);
  assert.deepEqual(startAll(yard, atMost(1)), []);
  yard.finished(first!);
  assert.deepEqual(startAll(yard, atMost(1)), ['a']);
});

test('a key at its limit is asked for again when the limit may have widened, and not while it is held', () => {
  const yard = yardOf();
  yard.take(jobs('a', 3));
  assert.deepEqual(startAll(yard, atMost(1)), ['a']);
  yard.recheckAdmission('a');
  assert.deepEqual(startAll(yard, atMost(1)), []);
  yard.recheckAdmission('a');
  assert.deepEqual(startAll(yard, atMost(2)), ['a']);
  yard.hold('a', 5);
  yard.recheckAdmission('a');
  yard.recheckAdmission('unknown');
  assert.deepEqual(startAll(yard), []);
});

test('a key that is refused for a time is asked for again at that time, and not before', () => {
  const yard = yardOf();
  yard.take([job('a'), job('b')]);
  const untilFive: Admit = (key) => (key === 'a' ? { admitted: false, until: 5 } : { admitted: true });
  assert.deepEqual(startAll(yard, untilFive), ['b']);
  assert.equal(yard.release(4), 5);
  assert.deepEqual(startAll(yard, everyone, 4), []);
  assert.equal(yard.release(5), Number.POSITIVE_INFINITY);
  assert.deepEqual(startAll(yard, everyone, 5), ['a']);
});

test('a key that is refused without a time although nothing of it runs is asked for again a second later', () => {
  const yard = yardOf();
  yard.take([job('a')]);
  assert.deepEqual(
    startAll(yard, () => ({ admitted: false })),
    [],
  );
  assert.equal(yard.release(0), 1000);
  yard.release(1000);
  assert.deepEqual(startAll(yard, everyone, 1000), ['a']);
});

test('a hold can be prolonged, shortened and lifted', () => {
  const table: [holds: number[], releasedAt: number][] = [
    [[10], 10],
    [[10, 20], 20],
    [[20, 10], 10],
    [[20, 0], 0],
  ];
  for (const [holds, releasedAt] of table) {
    const yard = yardOf();
    yard.take([job('a')]);
    for (const until of holds) yard.hold('a', until);
    for (let now = 0; now <= 20; now++) {
      yard.release(now);
      assert.deepEqual(startAll(yard, everyone, now), now === releasedAt ? ['a'] : [], `${holds} at ${now}`);
    }
  }
});

test('a job that is in hand is not taken twice until it is settled', () => {
  const yard = yardOf();
  const once = job('a');
  const again = { ...once };
  yard.take([once, again]);
  assert.deepEqual(startAll(yard), ['a']);
  yard.take([again]);
  yard.finished(once);
  yard.take([again]);
  assert.deepEqual(startAll(yard), []);
  yard.settled(once);
  yard.take([again]);
  assert.deepEqual(startAll(yard), ['a']);
});

test('what has no room is surplus, and its key is fed from the siding until that is empty', () => {
  const yard = yardOf(3, 4);
  const lane = laneOf('a');
  const track = yard.stateOf(lane);
  const [one, two, three, ...rest] = jobs('a', 6);
  yard.take([one!, two!, three!, ...rest]);
  assert.equal(track.jobs.length, 3);
  assert.deepEqual(namesOf(track.surplus), ['a']);
  assert.deepEqual(namesOf(track.hungry), [], 'nothing stands on the siding before it was moved there');
  yard.moved('a', { all: true, earliest: 0 });
  assert.deepEqual(namesOf(track.surplus), []);
  assert.deepEqual(namesOf(track.hungry), [], 'there is enough in hand');
  yard.next(everyone, 0);
  yard.next(everyone, 0);
  assert.deepEqual(namesOf(track.hungry), ['a']);

  feed(yard, rest.slice(0, 2), { all: false });
  assert.deepEqual(namesOf(track.hungry), []);
  const late = job('a');
  yard.take([late]);
  assert.equal(late.slot, null, 'whoever comes now queues up behind the siding');
  assert.equal(startAll(yard).length, 3);
  feed(yard, rest.slice(2), { all: true });
  assert.deepEqual(namesOf(track.hungry), [], 'the siding is empty, and the latecomer has not been moved');
  assert.equal(startAll(yard).length, 1);
  yard.moved('a', { all: true, earliest: 0 });
  assert.deepEqual(namesOf(track.hungry), ['a']);
  feed(yard, [late], { all: true });
  assert.deepEqual(startAll(yard), ['a']);
  const straight = job('a');
  yard.take([straight]);
  assert.ok(track.jobs.includes(straight), 'with the siding empty the way is straight again');
});

test('surplus that is moved in part stays surplus', () => {
  const yard = yardOf(1);
  yard.take(jobs('a', 3));
  yard.moved('a', { all: false, earliest: 0 });
  assert.deepEqual(namesOf(yard.stateOf(laneOf('a')).surplus), ['a']);
});

test('surplus need not be moved while its key has enough in hand or on the siding, or is held', () => {
  const yard = yardOf(4, 4);
  const { stranded, hungry } = yard.stateOf(laneOf('a'));
  const start = (count: number) => Array.from({ length: count }, () => yard.next(everyone, 0));
  yard.take(jobs('a', 6));
  assert.deepEqual(namesOf(stranded), [], 'four in hand are enough');
  start(3);
  assert.deepEqual(namesOf(stranded), ['a'], 'with one left the move should come');
  yard.hold('a', 10);
  assert.deepEqual(namesOf(stranded), []);
  yard.release(10);
  assert.deepEqual(namesOf(stranded), ['a']);
  yard.moved('a', { all: true, earliest: 0 });
  yard.take([job('a')]);
  assert.deepEqual([namesOf(stranded), namesOf(hungry)], [[], ['a']], 'the siding comes first');
  feed(yard, jobs('a', 1, 'a'), { all: true });
  start(2);
  assert.deepEqual([namesOf(stranded), namesOf(hungry)], [['a'], []], 'and when it is empty, the newcomer');
});

test('jobs may come to a siding at any time, also while it is read', () => {
  const yard = yardOf();
  const lane = laneOf('a');
  const { hungry } = yard.stateOf(lane);
  yard.onSiding('a', 70);
  assert.deepEqual(
    [...yard.order(lane, 9)],
    [['a', { after: positionBefore(70), limit: 4 }]],
    'nothing is before',
  );
  yard.onSiding('a', 60);
  const behind = { dueAt: 90, id: 'x' };
  yard.feed('a', jobs('a', 1, 'a'), { to: behind, all: true, now: 0 });
  assert.deepEqual(namesOf(hungry), ['a'], 'what came meanwhile may not have been seen');
  assert.deepEqual(yard.order(lane, 9).get('a')!.after, positionBefore(60));
  yard.feed('a', [], { to: behind, all: true, now: 0 });
  assert.deepEqual(namesOf(hungry), []);
});

test('of many hungry keys only so many are fed at once', () => {
  const yard = yardOf();
  const keys = ['a', otherKeyOfTheLaneOf('a')];
  for (const key of keys) yard.onSiding(key, 0);
  assert.deepEqual([...yard.order(laneOf('a'), 1).keys()], ['a']);
  assert.deepEqual([...yard.order(laneOf('a'), 2).keys()], keys);
});

test('a held key is not fed', () => {
  const yard = yardOf();
  yard.onSiding('a', 0);
  const track = yard.stateOf(laneOf('a'));
  assert.deepEqual(namesOf(track.hungry), ['a']);
  yard.hold('a', 10);
  assert.deepEqual(namesOf(track.hungry), []);
  yard.release(10);
  assert.deepEqual(namesOf(track.hungry), ['a']);
});

test('held keys can be unloaded to make room, others stay', () => {
  const yard = yardOf();
  const other = otherKeyOfTheLaneOf('a');
  yard.take([...jobs('a', 3), ...jobs(other, 2)]);
  yard.hold('a', 10);
  const track = yard.stateOf(laneOf('a'));
  yard.unloadHeld(laneOf('a'));
  assert.equal(track.jobs.length, 2);
  assert.deepEqual(namesOf(track.surplus), ['a']);
  assert.deepEqual(startAll(yard), [other, other]);
});

test('a lane can be unloaded but for what runs, and a lane that is dropped is forgotten', () => {
  const yard = yardOf();
  const lane = laneOf('a');
  yard.take(jobs('a', 3));
  const running = yard.next(everyone, 0)!;
  yard.unload(lane);
  assert.deepEqual(yard.stateOf(lane).jobs, [running]);
  assert.equal(yard.stateOf(lane).inFlight, 1);
  assert.deepEqual(startAll(yard), []);
  yard.drop(lane);
  assert.equal(running.slot, null);
  const again = { ...running };
  yard.take([again]);
  yard.finished(running);
  yard.settled(running);
  assert.equal(again.slot, 0, 'the earlier run of a lane that came back means nothing');
  assert.deepEqual(startAll(yard, atMost(1)), ['a']);
});

test('a key that keeps up gets larger portions of its siding, a slow one the first again', () => {
  const yard = yardOf(1, 4);
  yard.take(jobs('a', 2));
  yard.moved('a', { all: true, earliest: 0 });
  const portions = [0, 50, 100, 150, 700, 2000].map((now) => {
    const fresh = jobs('a', 1, 'a');
    assert.deepEqual(yard.feed('a', fresh, { to: BEGINNING, all: false, now }), fresh);
    startAll(yard);
    return yard.order(laneOf('a'), 1).get('a')!.limit;
  });
  assert.deepEqual(portions, [4, 8, 16, 16, 16, 4]);
});

test('keys spread over all lanes', () => {
  const lanes = new Set(Array.from({ length: 1000 }, (_, n) => laneOf(`sub_${n}`)));
  assert.equal(lanes.size, LANES);
});
