/**
 * How fast the engine may push to one subscription. Three limits, all in memory and exact, because a subscription is
 * worked on in one place at a time:
 * - concurrency, which grows with success and halves with time-outs, so that a target that hangs comes to occupy one
 *   place; and never more than a part of the places that are free, so that some are left for the others until then;
 * - rate, the smaller of the subscription's own and what the target consented to;
 * - a breaker, which opens on sustained failure and lets single probes through until one succeeds.
 * Waiting here uses up an event's time to live, not its attempts (D25).
 */
import type { Admission } from '../../kernel/lanes/index.ts';
import { BoundedMap } from '../../kernel/memory/bounded-map.ts';
import type { Clock } from '../../kernel/time/clock.ts';
import type { Subscription } from '../subscriptions/subscription.ts';

const FIRST_CONCURRENCY = 8;
const MAX_CONCURRENCY = 64;
/** Of N subscriptions that hang together each then takes 1/(16 + N) of all places, and 16 times as many stay free. */
const SHARE_OF_FREE = 1 / 16;
/**
 * The breaker opens after this many failures in a row over at least this long. A short outage is left to the retries,
 * which end after 15 s: their dead letters come when they are expected.
 */
const OPENING_FAILURES = 20;
const OPENING_MS = 20_000;
const FIRST_PAUSE_MS = 10_000;
const MAX_PAUSE_MS = 300_000;
/** Pushes are spaced evenly; beyond 20 a second, so much may be made up at once for timers that come late. */
const CATCH_UP_MS = 50;

export type PushEffect = 'success' | 'failure' | 'timeout';

interface Gate {
  concurrency: number;
  /** One push at a time: the limits are not known yet, or the subscription waits, or the breaker probes. */
  careful: boolean;
  perSecond: number | null;
  /** Whose limits and failures these are; null before the first push. */
  target: string | null;
  /** When the next push is on time. */
  nextAt: number;
  failures: number;
  failingSince: number;
  pauseMs: number;
  /** While the breaker is open, and after that until a probe succeeds; 0 when it is closed. */
  openUntil: number;
  /** The last opening that was heard of, whoever's it was. */
  knownUntil: number;
  /** The subscription as it was when its target asked for time, as long as that may not be written down yet. */
  askedOf: Subscription | null;
}

/** Limits of a subscription, and whose they are. */
export interface PushLimits {
  perSecond: number | null;
  target: string;
  /** Until when the breaker held or holds the subscription, in whichever process; 0 when a push has succeeded since. */
  failingUntil: number;
}

export interface PushGates {
  /**
   * Whether another push may start, and if so counts it.
   *
   * @param free places of the process that are not taken
   */
  admit(subscription: string, running: number, free: number): Admission;
  /**
   * Tells the limits of a subscription that may be pushed to, and where to; the first push finds both out for the others.
   * Answers whether these may follow at once.
   */
  open(subscription: string, limits: PushLimits): boolean;
  /** Whether anything is remembered of the subscription. */
  knows(subscription: string): boolean;
  /**
   * Tells that the subscription has to wait: when its turn comes, one push looks whether it still has to.
   *
   * @param askedOf the subscription as it was if the wait was asked for just now; null when others can read of it
   */
  close(subscription: string, askedOf: Subscription | null): void;
  /** Ends the wait of an open breaker: the next push is its probe. */
  lift(subscription: string): void;
  /** What `close` was told last, until the subscription is open again. */
  askedOf(subscription: string): Subscription | null;
  /** Takes back what an admitted push used of the rate: it is not made. Answers whether the next one need not wait for it. */
  forgo(subscription: string): boolean;
  /** Takes an attempt into account; answers until when the breaker holds the subscription if this one opened it. */
  record(subscription: string, effect: PushEffect): number | null;
}

/** Gates that are remembered; one that is forgotten starts anew, closed and careful. */
const MAX_GATES = 20_000;

export function createPushLimiter(clock: Clock): PushGates {
  const gates = new BoundedMap<string, Gate>({ max: MAX_GATES, whenFull: 'dropOldest' });

  const gateOf = (subscription: string): Gate =>
    gates.get(subscription) ?? gates.set(subscription, newGate());

  return {
    admit(subscription, running, free) {
      const gate = gateOf(subscription);
      if (running >= placesOf(gate, free)) return { admitted: false };
      if (gate.perSecond === null) return { admitted: true };
      const now = clock.now();
      const interval = 1000 / gate.perSecond;
      // No push is ever on time later than that, unless the clock was set back: an hour back would be an hour without pushes.
      gate.nextAt = Math.min(gate.nextAt, now + Math.max(interval, CATCH_UP_MS));
      const earliest = gate.nextAt - Math.max(CATCH_UP_MS - interval, 0);
      if (now < earliest) return { admitted: false, until: Math.ceil(earliest) };
      gate.nextAt = Math.max(gate.nextAt, now) + interval;
      return { admitted: true };
    },
    knows: (subscription) => gates.has(subscription),
    open(subscription, { perSecond, target, failingUntil }) {
      const gate = gateOf(subscription);
      // What another target did says nothing about this one.
      if (gate.target !== target) {
        gate.target = target;
        gate.concurrency = FIRST_CONCURRENCY;
        gate.failures = 0;
        gate.openUntil = 0;
        gate.pauseMs = FIRST_PAUSE_MS;
      }
      // Opened by whoever worked on it before: to find that out anew would cost all that waits its attempts.
      if (failingUntil > gate.knownUntil) {
        gate.knownUntil = failingUntil;
        gate.openUntil = failingUntil;
        gate.failures = OPENING_FAILURES;
        gate.failingSince = clock.now() - OPENING_MS;
      }
      const wasCareful = gate.careful;
      gate.careful = gate.openUntil !== 0;
      gate.askedOf = null;
      if (perSecond !== gate.perSecond) {
        gate.perSecond = perSecond;
        if (perSecond !== null) gate.nextAt = clock.now() + 1000 / perSecond;
      }
      return wasCareful && !gate.careful;
    },
    close(subscription, askedOf) {
      Object.assign(gateOf(subscription), { careful: true, askedOf });
    },
    lift(subscription) {
      const gate = gateOf(subscription);
      gate.openUntil = Math.min(gate.openUntil, clock.now());
    },
    askedOf: (subscription) => gates.get(subscription)?.askedOf ?? null,
    forgo(subscription) {
      const gate = gateOf(subscription);
      if (gate.perSecond === null) return false;
      gate.nextAt -= 1000 / gate.perSecond;
      return !gate.careful;
    },
    record(subscription, effect) {
      const gate = gateOf(subscription);
      if (effect === 'success') {
        gate.failures = 0;
        gate.openUntil = 0;
        gate.pauseMs = FIRST_PAUSE_MS;
        gate.careful = false;
        gate.askedOf = null;
        gate.concurrency = Math.min(gate.concurrency + 1, MAX_CONCURRENCY);
        return null;
      }
      const now = clock.now();
      if (effect === 'timeout') gate.concurrency = Math.max(1, Math.floor(gate.concurrency / 2));
      if (gate.failures === 0) gate.failingSince = now;
      gate.failures += 1;
      const isSustained = gate.failures >= OPENING_FAILURES && now - gate.failingSince >= OPENING_MS;
      // What was under way when the breaker opened says nothing new.
      if (!isSustained || now < gate.openUntil) return null;
      gate.openUntil = now + gate.pauseMs;
      gate.knownUntil = gate.openUntil;
      gate.pauseMs = Math.min(gate.pauseMs * 2, MAX_PAUSE_MS);
      gate.careful = true;
      return gate.openUntil;
    },
  };
}

function placesOf({ careful, concurrency }: Gate, free: number): number {
  return careful ? 1 : Math.min(concurrency, Math.max(Math.floor(free * SHARE_OF_FREE), 1));
}

function newGate(): Gate {
  return {
    concurrency: FIRST_CONCURRENCY,
    careful: true,
    perSecond: null,
    target: null,
    nextAt: 0,
    failures: 0,
    failingSince: 0,
    pauseMs: FIRST_PAUSE_MS,
    openUntil: 0,
    knownUntil: 0,
    askedOf: null,
  };
}
