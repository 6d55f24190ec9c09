import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Job, type Place, placeBefore } from './job.ts';
import { LANES, laneOf } from './lane-of.ts';
import { type Admit, createYard, type Yard } from './yard.ts';

const BEGINNING = placeBefore(0);
let ids = 0;
const job = (key: string, siding = ''): Job => {
  const id = String(++ids).padStart(36, '0');
  // Not in the order in which they come.
  const dueAt = (ids * 7919) % 10;
  return { id, row: id, lane: laneOf(key), siding, key, dueAt, attempt: 0, payload: null };
};
const jobs = (key: string, count: number, siding = '') =>
  Array.from({ length: count }, () => job(key, siding));
const everyone: Admit = () => ({ admitted: true });
const atMost =
  (limit: number): Admit =>
  (_key, running) => ({ admitted: running < limit });
const yardOf = (room = 100, portion = 4) => createYard({ room, portions: [portion, 4 * portion] });

/** Starts all that may start and answers the keys in their order. */
function startAll(yard: Yard, admit: Admit = everyone, now = 0): string[] {
  const started: string[] = [];
  for (let next = yard.next(admit, now); next !== null; next = yard.next(admit, now)) started.push(next.key);
  return started;
}

/** As a read of the siding does. */
function feed(yard: Yard, found: Job[], { all }: { all: boolean }): void {
  yard.order(laneOf('a'), 1);
  yard.feed('a', found, { to: BEGINNING, all, now: 0 });
}

const namesOf = (keys: ReadonlySet<{ name: string }>) => [...keys].map(({ name }) => name);

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
  const track = yard.track(lane);
  const [one, two, three, ...rest] = jobs('a', 6);
  yard.take([one!, two!, three!, ...rest]);
  assert.equal(track.jobs.size, 3);
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
  assert.equal(track.jobs.has(late.id), false, 'whoever comes now queues up behind the siding');
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
  assert.ok(track.jobs.has(straight.id), 'with the siding empty the way is straight again');
});

test('surplus that is moved in part stays surplus', () => {
  const yard = yardOf(1);
  yard.take(jobs('a', 3));
  yard.moved('a', { all: false, earliest: 0 });
  assert.deepEqual(namesOf(yard.track(laneOf('a')).surplus), ['a']);
});

test('surplus need not be moved while its key has enough in hand or on the siding, or is held', () => {
  const yard = yardOf(4, 4);
  const { stranded, hungry } = yard.track(laneOf('a'));
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
  const { hungry } = yard.track(lane);
  yard.onSiding('a', 70);
  assert.deepEqual(
    [...yard.order(lane, 9)],
    [['a', { after: placeBefore(70), limit: 4 }]],
    'nothing is before',
  );
  yard.onSiding('a', 60);
  const behind = { dueAt: 90, id: 'x' };
  yard.feed('a', jobs('a', 1, 'a'), { to: behind, all: true, now: 0 });
  assert.deepEqual(namesOf(hungry), ['a'], 'what came meanwhile may not have been seen');
  assert.deepEqual(yard.order(lane, 9).get('a')!.after, placeBefore(60));
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
  const track = yard.track(laneOf('a'));
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
  const track = yard.track(laneOf('a'));
  yard.unloadHeld(laneOf('a'));
  assert.equal(track.jobs.size, 2);
  assert.deepEqual(namesOf(track.surplus), ['a']);
  assert.deepEqual(startAll(yard), [other, other]);
});

test('a lane can be unloaded but for what runs, and a lane that is dropped is forgotten', () => {
  const yard = yardOf();
  const lane = laneOf('a');
  yard.take(jobs('a', 3));
  const running = yard.next(everyone, 0)!;
  yard.unload(lane);
  assert.deepEqual([...yard.track(lane).jobs.values()], [running]);
  assert.equal(yard.track(lane).inFlight, 1);
  assert.deepEqual(startAll(yard), []);
  yard.drop(lane);
  assert.equal(yard.has(running), false);
  const again = { ...running };
  yard.take([again]);
  yard.finished(running);
  yard.settled(running);
  assert.ok(yard.has(again), 'the earlier run of a lane that came back means nothing');
  assert.deepEqual(startAll(yard, atMost(1)), ['a']);
});

function otherKeyOfTheLaneOf(key: string): string {
  for (let n = 0; ; n++) if (laneOf(`other${n}`) === laneOf(key)) return `other${n}`;
}

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

const isBehind = (one: Place, other: Place) =>
  one.dueAt > other.dueAt || (one.dueAt === other.dueAt && one.id > other.id);

/** A main line and sidings as the database has them, and a yard that is served from them as by lines.ts. */
function createRailway(room: number, portion: number) {
  const yard = yardOf(room, portion);
  const keys = ['a', otherKeyOfTheLaneOf('a')];
  const lane = laneOf('a');
  const stored = new Map<string, Job>();
  const running: Job[] = [];
  const runs = new Map<string, number>();
  const limits = new Map<string, number>();
  const held = new Map<string, number>();
  let now = 0;
  let unread: Job[] = [];
  const at = (siding: string) =>
    [...stored.values()].filter((one) => one.siding === siding).sort((a, b) => (isBehind(a, b) ? 1 : -1));
  const railway = {
    yard,
    runs,
    stored,
    enqueue(which: number, count: number) {
      for (const one of jobs(keys[which]!, count)) {
        stored.set(one.id, one);
        unread.push(one);
        runs.set(one.id, 0);
      }
    },
    /** As a flood comes: onto the siding, announced. */
    enqueueOnSiding(which: number, count: number) {
      for (const one of jobs(keys[which]!, count, keys[which]!)) {
        stored.set(one.id, one);
        runs.set(one.id, 0);
        yard.onSiding(one.key, one.dueAt);
      }
    },
    read(count: number) {
      yard.take(unread.splice(0, count).filter(({ id }) => stored.has(id)));
    },
    reread() {
      unread = at('');
    },
    move(count: number) {
      const surplus = namesOf(yard.track(lane).surplus);
      const line = at('');
      const earliest = new Map<string, number>();
      for (const one of line.slice(0, count)) {
        if (!surplus.includes(one.key) || yard.track(lane).jobs.has(one.id)) continue;
        stored.set(one.id, { ...one, siding: one.key });
        if (!earliest.has(one.key)) earliest.set(one.key, one.dueAt);
      }
      for (const key of surplus) yard.moved(key, { all: count >= line.length, earliest: earliest.get(key) });
    },
    /** What comes while the read is under way is not in its answer. */
    feed(count: number, meanwhile = () => {}) {
      const answers = [...yard.order(lane, 9)].map(([name, { after }]) => {
        const found = at(name)
          .filter((one) => isBehind(one, after))
          .slice(0, count);
        return { name, found, to: found.at(-1) ?? after };
      });
      meanwhile();
      for (const { name, found, to } of answers) {
        const standing = found.filter(({ id }) => stored.has(id));
        yard.feed(name, standing, { to, all: found.length < count, now });
      }
    },
    feedDuringArrival(count: number, which: number) {
      railway.feed(count, () => railway.enqueueOnSiding(which, 1));
    },
    feedDuringUnload(count: number) {
      railway.feed(count, railway.unload);
    },
    start() {
      const next = yard.next((key, count) => ({ admitted: count < (limits.get(key) ?? 1) }), now);
      if (next === null) return false;
      assert.ok((held.get(next.key) ?? 0) <= now, 'a held key started a job');
      runs.set(next.id, runs.get(next.id)! + 1);
      running.push(next);
      const sameKey = running.filter(({ key }) => key === next.key).length;
      assert.ok(sameKey <= (limits.get(next.key) ?? 1), 'a key is over its limit');
      return true;
    },
    end(which: number) {
      const [one] = running.splice(which % Math.max(running.length, 1), 1);
      if (one === undefined) return;
      yard.finished(one);
      stored.delete(one.id);
      yard.settled(one);
    },
    limit(which: number, count: number) {
      limits.set(keys[which]!, count);
    },
    hold(which: number, forMs: number) {
      held.set(keys[which]!, now + forMs);
      yard.hold(keys[which]!, now + forMs);
    },
    advance(ms: number) {
      now += ms;
      yard.release(now);
    },
    unloadHeld: () => yard.unloadHeld(lane),
    unload() {
      yard.unload(lane);
      unread = at('');
    },
    check() {
      const { ready, inFlight, jobs: inHand, surplus, stranded } = yard.track(lane);
      assert.equal(inFlight, running.length);
      assert.ok(stranded.isSubsetOf(surplus));
      assert.ok(ready >= 0 && ready <= inHand.size - inFlight);
      assert.ok([...inHand.keys()].every((id) => stored.has(id)));
    },
    drain() {
      const track = yard.track(lane);
      for (let steps = 0; stored.size + track.hungry.size + track.surplus.size > 0; steps++) {
        assert.ok(steps < 1000, `stuck with ${stored.size} jobs`);
        railway.advance(1000);
        railway.read(10);
        railway.move(10);
        railway.feed(2);
        while (railway.start());
        while (running.length > 0) railway.end(0);
      }
      railway.advance(10_000);
    },
  };
  return railway;
}

test('through any sequence of reads, moves, holds and ends every job runs once, and nothing stays behind', () => {
  const small = fc.nat({ max: 8 });
  const key = fc.nat({ max: 1 });
  const step = fc.oneof(
    fc.tuple(fc.constant('enqueue' as const), key, small),
    fc.tuple(fc.constant('enqueueOnSiding' as const), key, small),
    fc.tuple(fc.constant('read' as const), small),
    fc.tuple(fc.constant('reread' as const)),
    fc.tuple(fc.constant('move' as const), small),
    fc.tuple(fc.constant('feed' as const), fc.integer({ min: 1, max: 4 })),
    fc.tuple(fc.constant('feedDuringArrival' as const), fc.integer({ min: 1, max: 4 }), key),
    fc.tuple(fc.constant('feedDuringUnload' as const), fc.integer({ min: 1, max: 4 })),
    fc.tuple(fc.constant('start' as const)),
    fc.tuple(fc.constant('end' as const), small),
    fc.tuple(fc.constant('limit' as const), key, fc.integer({ min: 1, max: 3 })),
    fc.tuple(fc.constant('hold' as const), key, small),
    fc.tuple(fc.constant('advance' as const), small),
    fc.tuple(fc.constant('unloadHeld' as const)),
    fc.tuple(fc.constant('unload' as const)),
  );
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 80 }), (room, steps) => {
      const railway = createRailway(room, 2);
      for (const [name, ...values] of steps) {
        (railway[name] as (...values: number[]) => unknown)(...values);
        railway.check();
      }
      railway.drain();
      railway.check();
      assert.ok([...railway.runs.values()].every((count) => count === 1));
      const { jobs: inHand, ready, inFlight, surplus, hungry } = railway.yard.track(laneOf('a'));
      assert.deepEqual([inHand.size, ready, inFlight, hungry.size], [0, 0, 0, 0]);
      assert.equal(surplus.size, 0);
    }),
    { numRuns: 10_000 },
  );
});
