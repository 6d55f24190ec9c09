/** The yard through whatever may happen in whatever order. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isBehind, type Job } from './job.ts';
import { laneOf } from './lane-of.ts';
import { jobs, namesOf, otherKeyOfTheLaneOf, yardOf } from './ready-jobs.fixture.ts';

/** Whoever reads a job again does not get the same object. */
const asRead = (stored: Job[]): Job[] => stored.map((one) => ({ ...one, slot: null }));

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
      yard.take(asRead(unread.splice(0, count).filter(({ id }) => stored.has(id))));
    },
    reread() {
      unread = at('');
    },
    move(count: number) {
      const surplus = namesOf(yard.stateOf(lane).surplus);
      const line = at('');
      const earliest = new Map<string, number>();
      for (const one of line.slice(0, count)) {
        if (!surplus.includes(one.key) || yard.stateOf(lane).jobs.some(({ id }) => id === one.id)) continue;
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
        yard.feed(name, asRead(standing), { to, all: found.length < count, now });
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
      const { ready, inFlight, jobs: inHand, surplus, stranded } = yard.stateOf(lane);
      assert.equal(inFlight, running.length);
      assert.ok(stranded.isSubsetOf(surplus));
      assert.ok(ready >= 0 && ready <= inHand.length - inFlight);
      assert.ok(inHand.every(({ id, slot }, place) => stored.has(id) && slot === place));
    },
    drain() {
      const track = yard.stateOf(lane);
      /** When every hold is over: a key that is let go may still want to look at its siding. */
      const isDone = () => {
        railway.advance(10_000);
        return stored.size + track.hungry.size + track.surplus.size === 0;
      };
      for (let steps = 0; !isDone(); steps++) {
        assert.ok(steps < 1000, `stuck with ${stored.size} jobs`);
        railway.read(10);
        railway.move(10);
        railway.feed(2);
        while (railway.start());
        while (running.length > 0) railway.end(0);
      }
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
      const { jobs: inHand, ready, inFlight, surplus, hungry } = railway.yard.stateOf(laneOf('a'));
      assert.deepEqual([inHand.length, ready, inFlight, hungry.size], [0, 0, 0, 0]);
      assert.equal(surplus.size, 0);
    }),
    { numRuns: 10_000 },
  );
});
