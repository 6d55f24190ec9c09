/**
 * Reading: brings due jobs from the lines of the owned lanes into the yard, and moves what has no room there to sidings,
 * where floods stand from the beginning. In each lane one thing is done at a time; many lanes are read together.
 *
 * A read goes on behind the last job that was read. A job may appear before that place when its transaction committed
 * late, or when it was put back: whoever knows of one says so (`expect`), and the next read goes back as far. What is
 * not announced is found by the poll, which starts at the head of each line.
 */
import type { Database } from '../db/database.ts';
import type { Log } from '../telemetry/log.ts';
import type { Clock } from '../time/clock.ts';
import { isBehind, type Job, type JobLocation, type Position, positionBefore } from './job.ts';
import { laneOf } from './lane-of.ts';
import type { Lane } from './leases.ts';
import type { LaneState, ReadyJobs } from './ready-jobs.ts';
import * as store from './store/jobs.ts';

export interface LaneReader {
  open(lane: Lane): void;
  close(lane: Lane): void;
  /** Stops reading a lane. */
  pause(lane: Lane): void;
  /** Reads a lane again, from its beginning. */
  resume(lane: Lane): void;
  /** Says that a job with this due time may stand there, and not have been read. */
  expect(where: JobLocation, dueAt: number): void;
  /** Says that a job left its place, so that a read under way does not bring it back. */
  left(job: Job): void;
  /** Starts what there is to read or move; answers in how many milliseconds there will be more. */
  step(now: number): number;
  /** Looks for jobs that no one announced. */
  poll(): Promise<void>;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
}

interface Line {
  readonly lane: Lane;
  /** What is in hand of it, as long as the line is open. */
  readonly state: LaneState;
  /** Everything up to here was read, except what is expected. */
  cursor: Position;
  /** The earliest due time of a job that was not read, as far as one knows. */
  expected: number;
  /** The last read did not reach the end of what is due. */
  more: boolean;
  /** Whether jobs may stand on sidings of which no one told; there are some, but which is not known yet. */
  sidings: 'known' | 'unknown' | 'some';
  /** The jobs that left their places during the read under way. */
  leftMeanwhile: Job[];
  busy: boolean;
  paused: boolean;
  /** Whether reading was the last thing done: what else there is to do then comes first. */
  wasRead: boolean;
  /** By the monotonic clock: when the last move reached the end of what is due, and before when nothing is tried. */
  movedAt: number;
  nextTry: number;
}

/** Jobs per read, of one lane and of all; and how many of a lane may be ready to start before it reads on. */
const BATCH = 256;
const MAX_READ = 4096;
const LOW_WATER = 128;
/** Jobs of one key in hand. A key that keeps up never has more, so only a slow one meets its siding. */
export const ROOM = BATCH + LOW_WATER;
/** A key with a siding is fed by so many jobs, more while it keeps up; and so many keys at once. */
export const PORTIONS: [first: number, most: number] = [256, 1024];
const MAX_FED = 32;
/** With more jobs of a lane in hand, held keys keep theirs on sidings: 64 lanes of 1 kB jobs then take 64 MB. */
const CROWDED = 1000;
/**
 * A flood is moved out of the way by this many jobs, and not in a stream of small transactions: the lane's other keys wait
 * for each. What comes drop by drop to a key that has enough in hand is gathered for longer.
 */
const MAX_MOVED = 2000;
const MOVE_EVERY_MS = 50;
const MOVE_DROPS_EVERY_MS = 1000;
const TRY_AGAIN_MS = 1000;

export function createLaneReader(dependencies: {
  db: Database;
  clock: Clock;
  log: Log;
  queue: string;
  readyJobs: ReadyJobs;
  /** Called with jobs that came in hand. */
  arrived: (jobs: Job[]) => void;
  /** Called when a read or a move ended. */
  changed: () => void;
}): LaneReader {
  const { db, clock, log, queue, readyJobs: yard, arrived, changed } = dependencies;
  const lines = new Map<number, Line>();
  const underway = new Set<Promise<void>>();
  let reading = false;
  const isOpen = (line: Line) => lines.get(line.lane.number) === line && !line.paused;

  function expect(where: JobLocation, dueAt: number): void {
    const line = lines.get(typeof where === 'number' ? where : laneOf(where));
    if (line === undefined) return;
    if (typeof where === 'string') yard.onSiding(where, dueAt);
    else line.expected = Math.min(line.expected, dueAt);
  }

  function wantsRead(line: Line, now: number): boolean {
    return (line.more || line.expected <= now) && line.state.ready < LOW_WATER;
  }

  /** From when on the surplus of a line may be moved. */
  function nextMove(line: Line): number {
    const { surplus, stranded } = line.state;
    if (surplus.size === 0) return Number.POSITIVE_INFINITY;
    return line.movedAt + (stranded.size > 0 ? MOVE_EVERY_MS : MOVE_DROPS_EVERY_MS);
  }

  const wantsMove = (line: Line, monotonicNow: number) => monotonicNow >= nextMove(line);

  /** Reads on in many lanes at once. What falls due meanwhile waits for the next read: load makes its own batches. */
  async function read(group: Line[]): Promise<void> {
    const now = clock.now();
    const wishes = new Map(group.map((line) => [line.lane.number, wishOf(line, group.length)]));
    reading = true;
    const reads = await store.readMainLines(db.sql, { queue, wishes, now }).finally(() => {
      reading = false;
    });
    const fresh: Job[] = [];
    for (const line of group) {
      if (!isOpen(line)) continue;
      const { after, limit } = wishes.get(line.lane.number)!;
      const { jobs, nextDue } = reads.get(line.lane.number)!;
      fresh.push(...yard.take(standing(line, jobs, after)));
      line.wasRead = true;
      line.more = jobs.length === limit;
      line.cursor = jobs.at(-1) ?? after;
      line.expected = Math.min(line.expected, nextDue);
    }
    arrived(fresh);
  }

  function wishOf(line: Line, among: number): store.LineWish {
    const { jobs } = line.state;
    if (jobs.length > CROWDED) yard.unloadHeld(line.lane.number);
    const limit = Math.min(BATCH, Math.ceil(MAX_READ / among));
    const goesBack = line.expected <= line.cursor.dueAt;
    // Whoever goes back reads again what is in hand, and must get past it.
    const wish = goesBack
      ? { after: positionBefore(line.expected), limit: limit + jobs.length }
      : { after: line.cursor, limit };
    line.expected = Number.POSITIVE_INFINITY;
    line.leftMeanwhile = [];
    return wish;
  }

  async function move(line: Line): Promise<void> {
    const { number: lane, token } = line.lane;
    const { surplus, jobs } = line.state;
    const keys = [...surplus].map(({ name }) => name);
    const inHand = jobs.map(({ id }) => id);
    const limit = MAX_MOVED + inHand.length;
    const moving = { queue, lane, token, keys, inHand, now: clock.now(), limit };
    const { all, earliest } = await store.moveToSidings(db, moving);
    if (!isOpen(line)) return;
    for (const key of keys) yard.moved(key, { all, earliest: earliest.get(key) });
    line.movedAt = all ? performance.now() : Number.NEGATIVE_INFINITY;
  }

  async function feed(line: Line): Promise<void> {
    const wishes = yard.order(line.lane.number, MAX_FED);
    line.leftMeanwhile = [];
    const found = await store.readSidings(db.sql, { queue, lane: line.lane.number, wishes });
    if (!isOpen(line)) return;
    const now = clock.now();
    const fresh: Job[] = [];
    for (const [key, { after, limit }] of wishes) {
      const there = found.get(key)!;
      const to = there.at(-1) ?? after;
      fresh.push(...yard.feed(key, standing(line, there, after), { to, all: there.length < limit, now }));
    }
    arrived(fresh);
  }

  /** Those that did not leave while they were read. As a rule all: what leaves stood in front of where a read begins. */
  function standing({ leftMeanwhile }: Line, jobs: Job[], after: Position): Job[] {
    const left = leftMeanwhile.filter((job) => isBehind(job, after));
    if (left.length === 0) return jobs;
    const ids = new Set(left.map(({ id }) => id));
    return jobs.filter(({ id }) => !ids.has(id));
  }

  /** Finds out in which lanes there are sidings; as a rule in none. */
  async function look(group: Line[]): Promise<void> {
    for (const line of group) line.sidings = 'known';
    const numbers = group.map(({ lane }) => lane.number);
    const withSidings = await store.lanesWithSidings(db.sql, queue, numbers);
    for (const line of group) if (withSidings.has(line.lane.number)) line.sidings = 'some';
  }

  async function lookClosely([line]: Line[]): Promise<void> {
    line!.sidings = 'known';
    const heads = await store.sidingHeads(db.sql, queue, line!.lane.number);
    if (isOpen(line!)) for (const [key, dueAt] of heads) yard.onSiding(key, dueAt);
  }

  async function feedAndMove([line]: Line[]): Promise<void> {
    line!.wasRead = false;
    if (line!.state.hungry.size > 0) await feed(line!);
    if (isOpen(line!) && wantsMove(line!, performance.now())) await move(line!);
  }

  function begin(group: Line[], step: (group: Line[]) => Promise<void>): void {
    for (const line of group) line.busy = true;
    const doing = step(group)
      .catch((error: unknown) => tryAgain(group, error))
      .finally(() => {
        for (const line of group) line.busy = false;
        underway.delete(doing);
        changed();
      });
    underway.add(doing);
  }

  function tryAgain(group: Iterable<Line>, error: unknown): void {
    log.warn({ err: error, queue }, 'reading lanes failed');
    for (const line of group) {
      line.expected = 0;
      line.sidings = 'unknown';
      line.nextTry = performance.now() + TRY_AGAIN_MS;
    }
  }

  /** In how many milliseconds a line that wants nothing now will want something. */
  function patience(line: Line, now: number, monotonicNow: number): number {
    const untilDue = line.more || line.expected <= now ? Number.POSITIVE_INFINITY : line.expected - now;
    return Math.min(untilDue, nextMove(line) - monotonicNow);
  }

  return {
    open(lane) {
      lines.set(lane.number, {
        lane,
        state: yard.stateOf(lane.number),
        cursor: positionBefore(0),
        expected: 0,
        more: false,
        sidings: 'unknown',
        leftMeanwhile: [],
        busy: false,
        paused: false,
        wasRead: false,
        movedAt: Number.NEGATIVE_INFINITY,
        nextTry: 0,
      });
    },
    close({ number }) {
      lines.delete(number);
    },
    pause({ number }) {
      lines.get(number)!.paused = true;
    },
    resume({ number }) {
      const line = lines.get(number)!;
      line.paused = false;
      line.sidings = 'unknown';
      line.expected = 0;
    },
    expect,
    left(job) {
      const line = lines.get(job.lane);
      if (line?.busy) line.leftMeanwhile.push(job);
    },
    step(now) {
      let wait = Number.POSITIVE_INFINITY;
      const toRead: Line[] = [];
      const toLook: Line[] = [];
      const monotonicNow = performance.now();
      for (const line of lines.values()) {
        if (line.busy || line.paused) continue;
        const others = wantsMove(line, monotonicNow) || line.state.hungry.size > 0;
        if (line.nextTry > monotonicNow) wait = Math.min(wait, line.nextTry - monotonicNow);
        else if (line.sidings === 'unknown') toLook.push(line);
        else if (line.sidings === 'some') begin([line], lookClosely);
        else if (wantsRead(line, now) && !(others && line.wasRead)) toRead.push(line);
        else if (others) begin([line], feedAndMove);
        else wait = Math.min(wait, patience(line, now, monotonicNow));
      }
      if (toLook.length > 0) begin(toLook, look);
      if (toRead.length > 0 && !reading) begin(toRead, read);
      return wait;
    },
    async poll() {
      try {
        const heads = await store.lineHeads(db.sql, queue, [...lines.keys()]);
        for (const [lane, dueAt] of heads) expect(lane, dueAt);
        for (const line of lines.values()) line.sidings = 'unknown';
      } catch (error) {
        tryAgain(lines.values(), error);
      }
      changed();
    },
    async idle() {
      await Promise.all(underway);
    },
  };
}
