/**
 * The lanes that a worker owns. Every living worker of a queue gets its fair share; a lease that is not renewed in time
 * is lost, by this process's own clock as well as by the database's, so that two workers never start jobs of one lane.
 */
import type { Database } from '../db/database.ts';
import { newId } from '../ids.ts';
import type { Log } from '../telemetry/log.ts';
import { ALL_LANES, LANES, laneOf } from './lane-of.ts';
import { readHolds } from './store/holds.ts';
import * as store from './store/leases.ts';

export interface Lane {
  readonly number: number;
  /** Grows with every change of owner; fences what an earlier owner still tries to write. */
  readonly token: number;
  /** By this process's monotonic clock; past it the lane counts as lost, whatever the database says. */
  leaseUntil: number;
  /** Fires when what runs for the lane no longer counts. */
  readonly abort: AbortController;
}

export interface Leases {
  /** Takes the first lanes, and keeps them renewed from then on. */
  start(): Promise<void>;
  get(lane: number): Lane | undefined;
  /**
   * The lane, if jobs of it may start now; one whose lease ran out is lost at this moment.
   *
   * @param monotonicNow now by the monotonic clock, where many are asked for at once
   */
  valid(lane: number, monotonicNow?: number): Lane | undefined;
  /** Evens out the shares at once, without waiting for the next beat. */
  balance(): void;
  /** To be called after outcomes were written: a lane that is to be given away goes when nothing is left in flight. */
  settled(): void;
  lose(lane: Lane): void;
  /** Lets all that still runs know that it no longer counts. */
  abort(): void;
  /** Gives everything back. */
  end(): Promise<void>;
}

export interface LeaseTimings {
  leaseMs: number;
  beatMs: number;
}

/** What the worker does with lanes that come and go. */
export interface LaneKeeper {
  /** With those of its keys that are held, and until when. */
  open(lane: Lane, holds: readonly [key: string, until: number][]): void;
  close(lane: Lane): void;
  /** Starts nothing more in the lane, because it is to be given away. */
  pause(lane: Lane): void;
  resume(lane: Lane): void;
  /** How many jobs of the lane are running, or ended and not yet settled. */
  inFlight(lane: Lane): number;
}

export function createLeases(dependencies: {
  db: Database;
  log: Log;
  queue: string;
  timings: LeaseTimings;
  keeper: LaneKeeper;
  /** Tells the other workers of the queue that there are lanes to take or a share to give. */
  sharesChanged: () => void;
}): Leases {
  const { db, log, queue, timings, keeper, sharesChanged } = dependencies;
  const { leaseMs: ttlMs } = timings;
  const worker = newId('wrk');
  const lanes = new Map<number, Lane>();
  const leaving = new Set<Lane>();
  let ending = false;
  let beats: NodeJS.Timeout | undefined;
  let beating: Promise<void> | null = null;
  let beatAgain = false;

  const isExpired = (lane: Lane, monotonicNow = performance.now()) => monotonicNow >= lane.leaseUntil;
  const isQuiet = (lane: Lane) => keeper.inFlight(lane) === 0;

  function lose(lane: Lane): void {
    if (!lanes.delete(lane.number)) return;
    leaving.delete(lane);
    keeper.close(lane);
    lane.abort.abort(new Error('lease lost'));
  }

  function loseUnexpectedly(lane: Lane): void {
    log.warn({ queue, lane: lane.number }, 'lease lost');
    lose(lane);
  }

  function loseExpired(): void {
    for (const lane of [...lanes.values()]) if (isExpired(lane)) loseUnexpectedly(lane);
  }

  async function renew(): Promise<void> {
    loseExpired();
    const sentAt = performance.now();
    const alive = await store.reportAlive(db.sql, queue, worker, ttlMs);
    const tokens = await store.renewLanes(db.sql, { queue, worker, ttlMs });
    for (const lane of [...lanes.values()]) {
      if (tokens.get(lane.number) === lane.token) lane.leaseUntil = sentAt + ttlMs;
      else loseUnexpectedly(lane);
    }
    if (ending) return;
    // Those that are ours and yet unknown: an earlier attempt to open them, or to give them back, failed.
    await open(tokens, sentAt);
    await balance(Math.ceil(LANES / alive));
  }

  async function balance(share: number): Promise<void> {
    if (lanes.size < share) {
      const sentAt = performance.now();
      await open(await store.takeLanes(db, { queue, worker, ttlMs, limit: share - lanes.size }), sentAt);
    }
    // The quietest lanes go. One that does not come to rest until the next beat stays, and another takes its place: a
    // job that hangs keeps no one waiting for long.
    const ranked = [...lanes.values()].sort((one, other) => keeper.inFlight(one) - keeper.inFlight(other));
    const chosen = new Set(ranked.slice(0, Math.max(lanes.size - share, 0)));
    for (const lane of leaving.difference(chosen)) {
      leaving.delete(lane);
      keeper.resume(lane);
    }
    for (const lane of chosen.difference(leaving)) {
      leaving.add(lane);
      keeper.pause(lane);
    }
    await giveAway();
  }

  async function giveAway(): Promise<void> {
    const free = [...leaving].filter(isQuiet);
    if (free.length === 0) return;
    for (const lane of free) lose(lane);
    await store.releaseLanes(db.sql, { queue, worker, lanes: free.map(({ number }) => number) });
    sharesChanged();
  }

  async function open(tokens: Map<number, number>, sentAt: number): Promise<void> {
    const fresh = [...tokens].filter(([number]) => !lanes.has(number));
    if (fresh.length === 0) return;
    const numbers = fresh.map(([number]) => number);
    const holds = Map.groupBy(await readHolds(db.sql, queue, numbers), ([key]) => laneOf(key));
    if (ending) return;
    for (const [number, token] of fresh) {
      const lane = { number, token, leaseUntil: sentAt + ttlMs, abort: new AbortController() };
      lanes.set(number, lane);
      keeper.open(lane, holds.get(number) ?? []);
    }
  }

  /** One beat at a time; whoever asks for one while it lasts gets another after it. */
  function beat(): Promise<void> {
    beatAgain = true;
    beating ??= keepBeating();
    return beating;
  }

  async function keepBeating(): Promise<void> {
    try {
      while (beatAgain) {
        beatAgain = false;
        await renew();
      }
    } finally {
      beating = null;
    }
  }

  function attempt(what: string, work: Promise<void>): Promise<void> {
    return work.catch((error: unknown) => log.warn({ err: error, queue }, `${what} failed`));
  }

  async function end(): Promise<void> {
    ending = true;
    clearInterval(beats);
    await beating?.catch(() => undefined);
    for (const lane of [...lanes.values()]) lose(lane);
    // All that is ours, not all that was open: the last beat may have been cut short between taking and opening.
    await attempt('giving lanes back', store.releaseLanes(db.sql, { queue, worker, lanes: ALL_LANES }));
    await attempt('signing off', store.forgetWorker(db.sql, queue, worker));
    sharesChanged();
  }

  return {
    async start() {
      try {
        await store.ensureLanes(db.sql, queue);
        await beat();
      } catch (error) {
        await end();
        throw error;
      }
      sharesChanged();
      beats = setInterval(() => {
        loseExpired();
        void attempt('lease renewal', beat());
      }, timings.beatMs);
    },
    get: (number) => lanes.get(number),
    valid(number, monotonicNow) {
      const lane = lanes.get(number);
      if (lane === undefined || !isExpired(lane, monotonicNow)) return lane;
      loseUnexpectedly(lane);
      return undefined;
    },
    balance() {
      if (!ending) void attempt('lease renewal', beat());
    },
    settled() {
      // By a beat, which nothing else interferes with: what is given away must not be renewed at the same time.
      if ([...leaving].some(isQuiet)) void attempt('giving lanes away', beat());
    },
    lose,
    abort() {
      for (const { abort } of lanes.values()) abort.abort(new Error('stopping'));
    },
    end,
  };
}
