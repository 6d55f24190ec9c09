import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createTimerHeap } from './timer-heap.ts';

test('what falls due is taken in the order of time, and nothing before its time', () => {
  const times = fc.array(fc.integer({ min: 0, max: 100 }), { maxLength: 60 });
  fc.assert(
    fc.property(times, fc.array(fc.integer({ min: 0, max: 110 }), { maxLength: 10 }), (added, looks) => {
      const agenda = createTimerHeap<number>();
      for (const [item, at] of added.entries()) agenda.add(at, item);
      const left = [...added.entries()].map(([item, at]) => ({ at, item }));
      for (const now of looks.sort((a, b) => a - b)) {
        assert.equal(agenda.next(), Math.min(...left.map(({ at }) => at)));
        let last = Number.NEGATIVE_INFINITY;
        for (let due = agenda.takeDue(now); due !== undefined; due = agenda.takeDue(now)) {
          assert.ok(due.at <= now && due.at >= last);
          assert.equal(added[due.item], due.at);
          last = due.at;
          left.splice(
            left.findIndex(({ item }) => item === due.item),
            1,
          );
        }
        assert.ok(left.every(({ at }) => at > now));
      }
    }),
  );
});
