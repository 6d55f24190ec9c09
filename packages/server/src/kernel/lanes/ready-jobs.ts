/**
 * What a worker has in hand: the jobs it read, by key, and which key's turn it is. Pure memory, no I/O.
 *
 * Keys take turns: one that floods gets one job in the round like everyone else. A key that may not start another job
 * leaves the round until a job of it ends, or until the time that `admit` names. A key that has more jobs than there is
 * room for keeps the surplus on a siding in the database, out of the way of the others; from then on it is fed from
 * there, until the siding is empty.
 */
import { createFifo } from './fifo.ts';
import { isBehind, type Job, type Position, positionBefore } from './job.ts';
import { laneOf } from './lane-of.ts';
import { createTimerHeap, type TimerHeap } from './timer-heap.ts';

/** Whether a key may start another job; `until` when only time will change the answer. */
export type Admission = { admitted: true } | { admitted: false; until?: number };

/** Asked before each start: how many jobs of the key run now is the caller's to know. */
export type Admit = (key: string, running: number) => Admission;

export interface ReadyJobs {
  /** Takes jobs of a main line in hand and answers the new ones. A key without room for its own has a surplus. */
  take(jobs: Job[]): Job[];
  /** The next job to start, or null when no key may start one. */
  next(admit: Admit, now: number): Job | null;
  /** A job ended, whatever its outcome. */
  finished(job: Job): void;
  /** Forgets a job whose outcome is written. Until then a read that brings it again is ignored. */
  settled(job: Job): void;
  /** Keeps a key from starting jobs until a time. */
  hold(key: string, until: number): void;
  isHeld(key: string): boolean;
  /** Asks `admit` again for a key that it turned away: its limits may have widened while jobs of it run. */
  recheckAdmission(key: string): void;
  /** Lets keys whose time has come back into the round; answers when the next one's does, or Infinity. */
  release(now: number): number;

  /** Says that jobs stand on the siding of a key that are not in hand, due at `dueAt` or later. */
  onSiding(key: string, dueAt: number): void;
  /** Says that surplus of a key went to its siding, due at `earliest` or later; `all` when none is left on the main line. */
  moved(key: string, what: { all: boolean; earliest: number | undefined }): void;
  /** What to read from the sidings of hungry keys of a lane, of at most so many; an answer comes by `feed`. */
  order(lane: number, most: number): Map<string, { after: Position; limit: number }>;
  /** Takes jobs of a key's siding in hand and answers the new ones; `all` when nothing stood there behind the place `to`. */
  feed(key: string, jobs: Job[], from: { to: Position; all: boolean; now: number }): Job[];

  /** What is in hand of a lane. */
  stateOf(lane: number): LaneState;
  /** Puts the waiting jobs of held keys out of hand; they become surplus. */
  unloadHeld(lane: number): void;
  /** Puts all waiting jobs of a lane out of hand; what runs stays. */
  unload(lane: number): void;
  /** Drops all that is known of a lane that is no longer ours. */
  drop(lane: number): void;
}

export interface LaneState {
  /** Waiting, running, or ended and not yet settled; in no order. */
  readonly jobs: readonly Job[];
  /** How many are running, or ended and not yet settled. */
  readonly inFlight: number;
  /** How many could start if only there were hands. */
  readonly ready: number;
  /** Keys whose jobs on the main line belong on the siding. */
  readonly surplus: ReadonlySet<Key>;
  /** Those of them that will soon have started all that is in hand, and wait for the move. */
  readonly stranded: ReadonlySet<Key>;
  /** Keys that could start more of what stands on their siding than is in hand. */
  readonly hungry: ReadonlySet<Key>;
}

export interface Key {
  readonly name: string;
}

interface OwnLaneState extends LaneState {
  jobs: Job[];
  inFlight: number;
  ready: number;
  surplus: Set<OwnKey>;
  stranded: Set<OwnKey>;
  hungry: Set<OwnKey>;
  keys: Map<string, OwnKey>;
  dropped: boolean;
}

interface OwnKey extends Key {
  state: OwnLaneState;
  /** How many of its jobs are in hand. */
  inHand: number;
  /** None of its jobs in hand stands behind this place. */
  furthest: Position;
  waiting: Job[];
  running: number;
  inRound: boolean;
  /** Until a time; null when not held. */
  held: number | null;
  /** Whether jobs stand on the siding, and whether there are others than those in hand. */
  siding: 'empty' | 'in hand' | 'more';
  /** What stands on its siding up to this place is in hand, except what is expected. */
  fedTo: Position;
  /** The earliest due time of a job on its siding that was not read, as far as one knows. */
  expected: number;
  /** How many it gets from its siding at once. */
  portion: number;
  fedAt: number;
}

const BEGINNING = positionBefore(0);
/** A key that is not admitted although nothing of it runs, and for which no time is named, is asked for again. */
const ASK_AGAIN_MS = 1000;
/** Whoever is hungry again this soon gets twice as much; whoever took this long begins anew. */
const QUICK_MS = 100;
const SLOW_MS = 1000;

/**
 * @param room how many jobs of one key may wait in hand
 * @param portions what a key gets from its siding at first, and at most; with half of it used up it is hungry again
 */
export function createReadyJobs({ room, portions }: { room: number; portions: [number, number] }): ReadyJobs {
  const [firstPortion, mostPortion] = portions;
  const states = new Map<number, OwnLaneState>();
  const round = createFifo<OwnKey>();
  const held: TimerHeap<OwnKey> = createTimerHeap();

  function ownStateOf(lane: number): OwnLaneState {
    let state = states.get(lane);
    if (state === undefined) {
      state = emptyState();
      states.set(lane, state);
    }
    return state;
  }

  function keyOf(name: string, lane = laneOf(name)): OwnKey {
    const state = ownStateOf(lane);
    let key = state.keys.get(name);
    if (key === undefined) {
      key = newKey(name, state, firstPortion);
      state.keys.set(name, key);
    }
    return key;
  }

  function keyInHand(name: string): OwnKey | undefined {
    return states.get(laneOf(name))?.keys.get(name);
  }

  function portionOf({ portion, fedAt }: OwnKey, now: number): number {
    if (now - fedAt >= SLOW_MS) return firstPortion;
    return now - fedAt <= QUICK_MS ? Math.min(portion * 2, mostPortion) : portion;
  }

  function add(key: OwnKey, job: Job): void {
    job.slot = key.state.jobs.push(job) - 1;
    key.inHand += 1;
    if (isBehind(job, key.furthest)) key.furthest = job;
    key.waiting.push(job);
    if (key.inRound) key.state.ready += 1;
    else enterRound(key);
  }

  function enterRound(key: OwnKey): void {
    if (key.inRound || key.waiting.length === 0 || key.held !== null) return;
    key.inRound = true;
    key.state.ready += key.waiting.length;
    round.push(key);
  }

  function leaveRound(key: OwnKey): void {
    key.inRound = false;
    key.state.ready -= key.waiting.length;
  }

  function putOnHold(key: OwnKey, until: number): void {
    key.held = until;
    held.add(until, key);
  }

  function makeSurplus(key: OwnKey): void {
    if (key.siding === 'empty') key.siding = 'in hand';
    key.state.surplus.add(key);
    review(key);
  }

  function unloadKey(key: OwnKey): void {
    if (key.inRound) key.state.ready -= key.waiting.length;
    for (const job of key.waiting) {
      remove(key.state, job);
      if (job.siding !== '') expect(key, 0);
    }
    key.inHand -= key.waiting.length;
    key.waiting = [];
  }

  function expect(key: OwnKey, dueAt: number): void {
    // Nothing stood there before.
    if (key.siding === 'empty') key.fedTo = positionBefore(dueAt);
    key.siding = 'more';
    key.expected = Math.min(key.expected, dueAt);
  }

  /** Draws the conclusions after a key changed. */
  function review(key: OwnKey): void {
    const { state: track } = key;
    if (key.siding === 'in hand' && !track.surplus.has(key)) key.siding = 'empty';
    if (key.siding === 'more' && key.held === null && key.waiting.length < key.portion / 2)
      track.hungry.add(key);
    else track.hungry.delete(key);
    if (key.siding === 'in hand' && key.held === null && key.waiting.length < room / 2)
      track.stranded.add(key);
    else track.stranded.delete(key);
    if (key.siding === 'empty' && key.held === null && key.inHand === 0) track.keys.delete(key.name);
  }

  return {
    take(jobs) {
      const isKnown = createRecognition();
      return jobs.filter((job) => {
        const key = keyOf(job.key, job.lane);
        if (isKnown(key, job)) return false;
        // Whoever has jobs on a siding queues up behind them.
        const fits = key.siding === 'empty' && key.waiting.length < room;
        if (fits) add(key, job);
        else makeSurplus(key);
        return fits;
      });
    },
    next(admit, now) {
      for (let key = round.shift(); key !== undefined; key = round.shift()) {
        if (key.state.dropped) continue;
        leaveRound(key);
        if (key.waiting.length === 0 || key.held !== null) continue;
        const admission = admit(key.name, key.running);
        if (!admission.admitted) {
          if (admission.until !== undefined) putOnHold(key, admission.until);
          else if (key.running === 0) putOnHold(key, now + ASK_AGAIN_MS);
          continue;
        }
        const job = key.waiting.shift()!;
        key.running += 1;
        key.state.inFlight += 1;
        enterRound(key);
        review(key);
        return job;
      }
      return null;
    },
    finished(job) {
      if (job.slot === null) return;
      const key = keyOf(job.key, job.lane);
      key.running -= 1;
      enterRound(key);
    },
    settled(job) {
      if (job.slot === null) return;
      const key = keyOf(job.key, job.lane);
      remove(key.state, job);
      key.state.inFlight -= 1;
      key.inHand -= 1;
      review(key);
    },
    hold(name, until) {
      const key = keyOf(name);
      putOnHold(key, until);
      review(key);
    },
    isHeld: (name) => (keyInHand(name)?.held ?? null) !== null,
    recheckAdmission(name) {
      const key = keyInHand(name);
      if (key !== undefined) enterRound(key);
    },
    release(now) {
      for (let due = held.takeDue(now); due !== undefined; due = held.takeDue(now)) {
        const { at, item: key } = due;
        // Held anew meanwhile, or no longer ours.
        if (key.held !== at || key.state.dropped) continue;
        key.held = null;
        enterRound(key);
        review(key);
      }
      return held.next();
    },

    onSiding(name, dueAt) {
      const key = keyOf(name);
      expect(key, dueAt);
      review(key);
    },
    moved(name, { all, earliest }) {
      const key = keyOf(name);
      key.siding = 'more';
      if (earliest !== undefined) expect(key, earliest);
      if (all) key.state.surplus.delete(key);
      review(key);
    },
    order(lane, most) {
      const keys = [...ownStateOf(lane).hungry].slice(0, most);
      for (const key of keys) {
        if (key.expected <= key.fedTo.dueAt) key.fedTo = positionBefore(key.expected);
        key.expected = Number.POSITIVE_INFINITY;
      }
      return new Map(keys.map(({ name, fedTo, portion }) => [name, { after: fedTo, limit: portion }]));
    },
    feed(name, jobs, { to, all, now }) {
      const key = keyOf(name);
      const isKnown = createRecognition();
      const fresh = jobs.filter((job) => !isKnown(key, job));
      for (const job of fresh) add(key, job);
      if (all && key.expected === Number.POSITIVE_INFINITY) key.siding = 'in hand';
      key.fedTo = to;
      key.portion = portionOf(key, now);
      key.fedAt = now;
      review(key);
      return fresh;
    },

    stateOf: ownStateOf,
    unloadHeld(lane) {
      for (const key of ownStateOf(lane).keys.values()) {
        if (key.held === null || key.waiting.length === 0) continue;
        unloadKey(key);
        makeSurplus(key);
      }
    },
    unload(lane) {
      for (const key of ownStateOf(lane).keys.values()) {
        unloadKey(key);
        review(key);
      }
    },
    drop(lane) {
      const state = ownStateOf(lane);
      state.dropped = true;
      for (const job of state.jobs) job.slot = null;
      states.delete(lane);
    },
  };
}

/** The last one takes its slot. */
function remove({ jobs }: OwnLaneState, job: Job): void {
  const last = jobs.pop()!;
  if (last !== job) {
    jobs[job.slot!] = last;
    last.slot = job.slot;
  }
  job.slot = null;
}

/**
 * Whether a job that was read just now is in hand already, for the jobs of one read. As a rule they stand behind all that is, and
 * need not be looked up: to enter the id of every job in a `Map`, which V8 makes a lasting text of, took a fiftieth of a delivery.
 */
function createRecognition(): (key: OwnKey, job: Job) => boolean {
  const inHand = new Map<OwnLaneState, Set<string>>();
  return ({ state: track, furthest }, job) => {
    if (isBehind(job, furthest)) return false;
    let ids = inHand.get(track);
    if (ids === undefined) {
      ids = new Set(track.jobs.map(({ id }) => id));
      inHand.set(track, ids);
    }
    return ids.has(job.id);
  };
}

function newKey(name: string, state: OwnLaneState, portion: number): OwnKey {
  return {
    name,
    state: state,
    inHand: 0,
    furthest: BEGINNING,
    waiting: [],
    running: 0,
    inRound: false,
    held: null,
    siding: 'empty',
    fedTo: BEGINNING,
    expected: Number.POSITIVE_INFINITY,
    portion,
    fedAt: Number.NEGATIVE_INFINITY,
  };
}

function emptyState(): OwnLaneState {
  return {
    jobs: [],
    inFlight: 0,
    ready: 0,
    surplus: new Set(),
    stranded: new Set(),
    hungry: new Set(),
    keys: new Map(),
    dropped: false,
  };
}
