import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createManualClock, MINUTE, SECOND } from '../../kernel/time/clock.ts';
import { createPushLimiter, type PushEffect } from './limiter.ts';

const PLENTY = 2048;
const to = (perSecond: number | null, target = 'https://a.example', failingUntil = 0) => ({
  perSecond,
  target,
  failingUntil,
});

function gateOf(perSecond: number | null = null) {
  const clock = createManualClock();
  const gates = createPushLimiter(clock);
  gates.open('sub', to(perSecond));
  const repeat = (times: number, effect: PushEffect) => {
    for (let count = 0; count < times; count++) gates.record('sub', effect);
  };
  return {
    clock,
    gates,
    repeat,
    record: (effect: PushEffect) => gates.record('sub', effect),
    admit: (running = 0, free = PLENTY) => gates.admit('sub', running, free),
    /** How many may run at a time. */
    places(free = PLENTY) {
      let running = 0;
      while (gates.admit('sub', running, free).admitted) running += 1;
      return running;
    },
  };
}

test('the first push is alone, because it finds out the limits', () => {
  const gates = createPushLimiter(createManualClock());
  assert.deepEqual(gates.admit('sub', 0, PLENTY), { admitted: true });
  assert.deepEqual(gates.admit('sub', 1, PLENTY), { admitted: false });
  assert.equal(gates.open('sub', to(null)), true, 'the others may follow');
  assert.deepEqual(gates.admit('sub', 1, PLENTY), { admitted: true });
  assert.equal(gates.open('sub', to(null)), false, 'they did not wait');
});

test('concurrency grows by one with every success, up to 64, and halves with every time-out, down to one', () => {
  const { places, repeat, record } = gateOf();
  assert.equal(places(), 8);
  repeat(10, 'success');
  assert.equal(places(), 18);
  repeat(1000, 'success');
  assert.equal(places(), 64);
  for (const expected of [32, 16, 8, 4, 2, 1, 1]) {
    record('timeout');
    assert.equal(places(), expected);
  }
  record('success');
  assert.equal(places(), 2);
});

test('an answer that says no, and a connection that breaks at once, leave the concurrency as it is', () => {
  const { places, repeat } = gateOf();
  repeat(19, 'failure');
  assert.equal(places(), 8);
});

test('a subscription takes at most a sixteenth of the places that are free, and always one', () => {
  const { places, repeat } = gateOf();
  repeat(100, 'success');
  const table = [
    [2048, 64],
    [512, 32],
    [160, 10],
    [16, 1],
    [3, 1],
  ] as const;
  for (const [free, expected] of table) assert.equal(places(free), expected, `${free} free`);
});

test('however many subscriptions hang together, there is a place for the next one', () => {
  const gates = createPushLimiter(createManualClock());
  let free = PLENTY;
  const running = new Map<string, number>();
  for (let round = 0; round < 64; round++) {
    for (let number = 0; number < 100; number++) {
      const key = `hangs${number}`;
      gates.open(key, to(null));
      for (let count = 0; round === 0 && count < 56; count++) gates.record(key, 'success');
      const mine = running.get(key) ?? 0;
      if (!gates.admit(key, mine, free).admitted) continue;
      running.set(key, mine + 1);
      free -= 1;
    }
  }
  assert.ok(free > 200, `${free} of ${PLENTY} places are left by a hundred that hang`);
});

test('pushes are spaced by the rate, whenever they are asked for', () => {
  const { clock, admit } = gateOf(5);
  const starts: number[] = [];
  const begin = clock.now();
  for (let ms = 0; ms < 3000; ms++) {
    if (admit().admitted) starts.push(clock.now() - begin);
    clock.advance(1);
  }
  // The push that found out the limit was the first; it is counted from there.
  assert.deepEqual(starts, [200, 400, 600, 800, 1000, 1200, 1400, 1600, 1800, 2000, 2200, 2400, 2600, 2800]);
});

test('a refused push is told when to come again, and is admitted then', () => {
  const { clock, admit } = gateOf(2);
  const refused = admit();
  assert.deepEqual(refused, { admitted: false, until: clock.now() + 500 });
  clock.advance(499);
  assert.equal(admit().admitted, false);
  clock.advance(1);
  assert.equal(admit().admitted, true);
  assert.equal(admit().admitted, false);
});

test('no second sees more than the rate and a twentieth, whatever the rate and however late the timers', () => {
  const scenario = fc.record({
    rate: fc.integer({ min: 1, max: 5000 }),
    steps: fc.array(fc.integer({ min: 1, max: 120 }), { minLength: 20, maxLength: 60 }),
  });
  fc.assert(
    fc.property(scenario, ({ rate, steps }) => {
      const { clock, admit } = gateOf(rate);
      const starts: number[] = [];
      for (const step of steps) {
        clock.advance(step);
        while (admit().admitted) starts.push(clock.now());
      }
      assert.ok(mostInASecond(starts) <= rate * 1.05 + 1, `${mostInASecond(starts)} in a second at ${rate}`);
    }),
  );
});

function mostInASecond(times: number[]): number {
  let first = 0;
  return times.reduce((most, time, index) => {
    while (times[first]! <= time - 1000) first += 1;
    return Math.max(most, index - first + 1);
  }, 0);
}

test('at high rates what timers miss is made up for: a thousand a second stay a thousand', () => {
  const { clock, admit } = gateOf(1000);
  let admitted = 0;
  for (let ms = 0; ms < 10_000; ms += 10) {
    clock.advance(10);
    while (admit().admitted) admitted += 1;
  }
  assert.ok(admitted >= 9990 && admitted <= 10_050, `${admitted} in ten seconds`);
});

test('a minute rate is one push a minute, not sixty at once', () => {
  const { clock, admit } = gateOf(1 / 60);
  assert.deepEqual(admit(), { admitted: false, until: clock.now() + MINUTE });
});

test('a clock that is set back by an hour delays the next push by no more than the rate asks for', () => {
  for (const [perSecond, wait] of [
    [0.5, 2 * SECOND],
    [10, 100],
    [1000, 50],
  ] as const) {
    const { clock, admit } = gateOf(perSecond);
    clock.advance(2 * SECOND);
    assert.equal(admit().admitted, true);
    clock.advance(-60 * MINUTE);
    admit();
    clock.advance(wait);
    assert.equal(admit().admitted, true, `${perSecond} a second`);
  }
});

test('a push that is not made uses up nothing of the rate', () => {
  for (const perSecond of [1 / 60, 1, 20]) {
    const { clock, gates, admit } = gateOf(perSecond);
    clock.advance(MINUTE);
    for (let count = 0; count < 3; count++) {
      assert.equal(admit().admitted, true, `${perSecond} a second`);
      assert.equal(admit().admitted, false, `${perSecond} a second`);
      assert.equal(gates.forgo('sub'), true, `${perSecond} a second`);
    }
  }
  assert.equal(gateOf(null).gates.forgo('sub'), false);
});

test('a push that is not made ends no wait that the target asked for', () => {
  const { gates } = gateOf(1);
  gates.close('sub', null);
  assert.equal(gates.forgo('sub'), false);
});

test('a changed rate counts from the push that found it out', () => {
  const { clock, gates, admit } = gateOf(null);
  assert.equal(admit().admitted, true);
  gates.open('sub', to(10));
  assert.deepEqual(admit(), { admitted: false, until: clock.now() + 100 });
  gates.open('sub', to(null));
  assert.equal(admit().admitted, true);
});

test('a short outage does not open the breaker, however many pushes fail', () => {
  const { clock, record } = gateOf();
  for (let count = 0; count < 1000; count++) {
    assert.equal(record('failure'), null);
    clock.advance(19);
  }
});

test('a few failures do not open the breaker, however long they last', () => {
  const { clock, record } = gateOf();
  for (let count = 0; count < 19; count++) {
    assert.equal(record('failure'), null);
    clock.advance(MINUTE);
  }
});

test('one success among the failures starts the count anew', () => {
  const { clock, record } = gateOf();
  for (let count = 0; count < 200; count++) {
    assert.equal(record(count % 15 === 14 ? 'success' : 'failure'), null);
    clock.advance(10 * SECOND);
  }
});

/** Fails until the breaker opens; answers until when. */
function open(gate: ReturnType<typeof gateOf>): number {
  for (let count = 0; count < 30; count++) {
    const until = gate.record('failure');
    if (until !== null) return until;
    gate.clock.advance(SECOND);
  }
  throw new Error('the breaker did not open');
}

test('sustained failure opens the breaker for 10 s; then single probes go through', () => {
  const gate = gateOf();
  const until = open(gate);
  assert.equal(until - gate.clock.now(), 10 * SECOND);
  gate.clock.advance(10 * SECOND);
  gate.gates.open('sub', to(null));
  assert.equal(gate.places(), 1);
});

test('what was under way when the breaker opened does not prolong the pause', () => {
  const gate = gateOf();
  open(gate);
  gate.clock.advance(9 * SECOND);
  assert.equal(gate.record('failure'), null);
  assert.equal(gate.record('timeout'), null);
});

test('a breaker whose wait is ended opens again with the next failure, and not before', () => {
  const gate = gateOf();
  open(gate);
  gate.clock.advance(SECOND);
  gate.gates.lift('sub');
  gate.gates.open('sub', to(null));
  assert.equal(gate.places(), 1);
  assert.equal(gate.record('failure'), gate.clock.now() + 20 * SECOND);
});

test('each failed probe doubles the pause, up to five minutes; one success closes the breaker', () => {
  const gate = gateOf();
  const pauses: number[] = [];
  let until: number | null = open(gate);
  while (pauses.length < 7) {
    pauses.push((until! - gate.clock.now()) / SECOND);
    gate.clock.advance(until! - gate.clock.now());
    until = gate.record('failure');
  }
  assert.deepEqual(pauses, [10, 20, 40, 80, 160, 300, 300]);
  gate.record('success');
  assert.equal(gate.places(), 9);
  assert.equal(open(gate) - gate.clock.now(), 10 * SECOND);
});

test('a breaker that another process opened is open here too, until a push succeeds', () => {
  for (const isFresh of [true, false]) {
    const gate = gateOf();
    if (!isFresh) gate.record('success');
    const failing = to(null, 'https://a.example', gate.clock.now());
    gate.gates.open('sub', failing);
    assert.equal(gate.places(), 1);
    assert.equal(gate.record('failure'), gate.clock.now() + 10 * SECOND, 'the first failure says enough');
    gate.clock.advance(10 * SECOND);
    gate.record('success');
    gate.gates.open('sub', failing);
    assert.ok(gate.places() > 1, 'what was heard of before is over');
  }
});

test('a subscription that waits is looked at by one push at a time', () => {
  const { gates, places } = gateOf();
  gates.close('sub', null);
  assert.equal(places(), 1);
  gates.open('sub', to(null));
  assert.equal(places(), 8);
});

test('another target is not blamed for what the one before it did', () => {
  const gate = gateOf();
  gate.repeat(3, 'timeout');
  open(gate);
  gate.gates.open('sub', to(null, 'https://b.example'));
  assert.equal(gate.places(), 8);
  assert.equal(gate.record('failure'), null);
  assert.equal(open(gate) - gate.clock.now(), 10 * SECOND);
});

test('subscriptions do not know each other', () => {
  const gate = gateOf(1);
  open(gate);
  gate.gates.open('other', to(null));
  assert.equal(gate.gates.admit('other', 7, PLENTY).admitted, true);
});
