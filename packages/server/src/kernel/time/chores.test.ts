import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startChores } from './chores.ts';
import { createManualClock, DAY, HOUR, MINUTE } from './clock.ts';

/** Chores of which a test decides how they end, and a time that passes for clock and timers alike. */
function startTestChores(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const clock = createManualClock();
  const runs: { end: (enough: boolean) => Promise<void>; stopping: AbortSignal }[] = [];
  const stop = startChores({
    clock,
    run(stopping) {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const end = async (enough: boolean) => {
        resolve(enough);
        await new Promise(setImmediate);
      };
      runs.push({ end, stopping });
      return promise;
    },
  });
  return {
    clock,
    runs,
    stop,
    pass(ms: number) {
      clock.advance(ms);
      t.mock.timers.tick(ms);
    },
    /** The machine is awake for long enough to look at the clock. */
    look: () => t.mock.timers.tick(1.25 * MINUTE),
  };
}

test('chores are done soon after the start, and then every hour', async (t) => {
  const { runs, pass } = startTestChores(t);
  pass(MINUTE / 2);
  assert.equal(runs.length, 0, 'a start has other things to do');
  pass(MINUTE);
  assert.equal(runs.length, 1);
  await runs[0]!.end(true);
  pass(HOUR - 2 * MINUTE);
  assert.equal(runs.length, 1);
  pass(4 * MINUTE);
  assert.equal(runs.length, 2);
});

test('chores are done when the clock has jumped: a machine was asleep, or its clock was wrong', async (t) => {
  const { clock, runs, look } = startTestChores(t);
  look();
  await runs[0]!.end(true);
  for (const jump of [9 * DAY, -365 * DAY, HOUR]) {
    look();
    const before = runs.length;
    clock.advance(jump);
    look();
    assert.equal(runs.length, before + 1, `${jump} ms`);
    await runs.at(-1)!.end(true);
  }
});

test('chores that were not enough are done again after a minute', async (t) => {
  const { runs, look } = startTestChores(t);
  look();
  await runs[0]!.end(false);
  look();
  assert.equal(runs.length, 2);
});

test('chores that take more than an hour are not begun a second time', async (t) => {
  const { runs, pass } = startTestChores(t);
  pass(2 * MINUTE);
  pass(3 * HOUR);
  assert.equal(runs.length, 1);
});

test('a stop waits for the chores under way, but not beyond its deadline, and tells them', async (t) => {
  const { runs, look, stop } = startTestChores(t);
  look();
  await stop(1);
  assert.ok(runs[0]!.stopping.aborted);
  const ending = stop(60_000);
  await runs[0]!.end(true);
  await ending;
  look();
  assert.equal(runs.length, 1);
});
