/**
 * Held-out cases, taken from the tenant's own log: what the visitor did next, and what was known before it. Two ways to cut:
 * the newest sessions (shops) or the last item of each visitor (histories).
 */
import type { Prepared } from '../build.ts';
import type { SessionLog } from '../log/sessions.ts';
import { createRandom } from '../structures/random.ts';

export interface Case {
  /** Items before, oldest first. */
  session: Int32Array;
  /** Items of earlier sessions, oldest first. */
  history: Int32Array;
  next: number;
  /** When given, `next` is ranked among these only (it is one of them). */
  candidates: Int32Array | null;
  /** Items that are not to be answered: what the visitor has already. */
  exclude: ReadonlySet<number> | null;
}

export interface HoldOut {
  /** The log without what is held out. */
  train: Prepared;
  cases: Case[];
}

const NOTHING = new Int32Array(0);

/** The sessions `from .. to` as views on the same memory. */
function sliceSessions(sessions: SessionLog, from: number, to: number): SessionLog {
  const start = sessions.offsets[from]!;
  const end = sessions.offsets[to]!;
  const offsets = sessions.offsets.slice(from, to + 1);
  for (let s = 0; s < offsets.length; s++) offsets[s]! -= start;
  return {
    count: to - from,
    offsets,
    item: sessions.item.subarray(start, end),
    kind: sessions.kind.subarray(start, end),
    time: sessions.time.subarray(start, end),
    country: sessions.country.subarray(start, end),
    visitor: sessions.visitor.subarray(from, to),
  };
}

/** Sessions that go on with the item they are at: above this share an answer must be able to say so. */
const FEW_REPEATS = 0.02;

/** Whether the item in view can be left out of answers, as a served request does. */
export function neverRepeats(sessions: SessionLog): boolean {
  let repeats = 0;
  let steps = 0;
  for (let s = 0; s < sessions.count; s++) {
    for (let e = sessions.offsets[s]! + 1; e < sessions.offsets[s + 1]!; e++, steps++) {
      if (sessions.item[e] === sessions.item[e - 1]) repeats++;
    }
  }
  return repeats <= steps * FEW_REPEATS;
}

/**
 * Steps of one session that count. A robot that looks in every few minutes has a session of weeks, which is always among the newest:
 * with all its steps it would decide what suits everybody else.
 */
const MAX_STEPS = 200;

const stepsOf = ({ offsets }: SessionLog, session: number): number =>
  Math.min(MAX_STEPS, Math.max(0, offsets[session + 1]! - offsets[session]! - 1));

/** Every step of a session but the first is a case, up to so many. */
function* casesOf(sessions: SessionLog, from: number, to: number, history: (visitor: number) => Int32Array) {
  const withoutLast = neverRepeats(sessions);
  for (let s = from; s < to; s++) {
    const start = sessions.offsets[s]!;
    const end = start + stepsOf(sessions, s);
    for (let e = start + 1; e <= end; e++) {
      if (withoutLast && sessions.item[e] === sessions.item[e - 1]) continue;
      yield {
        session: sessions.item.subarray(Math.max(start, e - 100), e),
        history: history(sessions.visitor[s]!),
        next: sessions.item[e]!,
        candidates: null,
        exclude: withoutLast ? new Set([sessions.item[e - 1]!]) : null,
      };
    }
  }
}

const occursIn = (sessions: SessionLog, itemCount: number): Uint8Array => {
  const occurs = new Uint8Array(itemCount);
  for (let e = 0; e < sessions.item.length; e++) occurs[sessions.item[e]!] = 1;
  return occurs;
};

/** Shuffles a list, always the same way, and takes the first `most`. */
function sample<T>(list: T[], most: number, seed: number): T[] {
  const random = createRandom(seed);
  for (let i = 0; i < Math.min(most, list.length); i++) {
    const j = i + random.below(list.length - i);
    [list[i], list[j]] = [list[j]!, list[i]!];
  }
  return list.slice(0, most);
}

/** Holds out the newest sessions: a tenth of them, or fewer when that is more than enough. */
export function holdOutNewest(prepared: Prepared, mostCases: number): HoldOut {
  const { sessions, itemCount } = prepared;
  let first = sessions.count;
  const least = Math.floor(sessions.count * 0.9);
  for (let steps = 0; first > least && steps < mostCases * 2; first--) {
    steps += stepsOf(sessions, first - 1);
  }
  const train: Prepared = { ...prepared, sessions: sliceSessions(sessions, 0, first) };
  const known = occursIn(train.sessions, itemCount);
  const history = historiesBefore(sessions, first);
  const cases = [...casesOf(sessions, first, sessions.count, history)].filter((c) => known[c.next] === 1);
  return { train, cases: sample(cases, mostCases, 17) };
}

/** What visitors of the held-out sessions did before. */
function historiesBefore(sessions: SessionLog, first: number): (visitor: number) => Int32Array {
  const items = new Map<number, number[]>();
  for (let s = first; s < sessions.count; s++) items.set(sessions.visitor[s]!, []);
  for (let s = 0; s < first; s++) {
    const list = items.get(sessions.visitor[s]!);
    if (list === undefined) continue;
    for (let e = sessions.offsets[s]!; e < sessions.offsets[s + 1]!; e++) list.push(sessions.item[e]!);
  }
  const packed = new Map<number, Int32Array>();
  return (visitor) => {
    let list = packed.get(visitor);
    if (list === undefined) {
      list = items.get(visitor)?.length === 0 ? NOTHING : Int32Array.from(items.get(visitor) ?? []);
      packed.set(visitor, list);
    }
    return list;
  };
}

/**
 * Holds out one item of each of `mostCases` visitors: the last where times tell which that is, otherwise any. With
 * `negatives`, it is ranked among so many items that the visitor had nothing to do with.
 */
export function holdOutLast(input: { prepared: Prepared; mostCases: number; negatives: number }): HoldOut {
  const { prepared, mostCases, negatives } = input;
  const { sessions, itemCount } = prepared;
  const random = createRandom(23);
  const eligible: number[] = [];
  for (let s = 0; s < sessions.count; s++) {
    if (sessions.offsets[s + 1]! - sessions.offsets[s]! >= 2) eligible.push(s);
  }
  const held = new Map<number, number>();
  for (const s of sample(eligible, mostCases, 29)) {
    const start = sessions.offsets[s]!;
    const end = sessions.offsets[s + 1]!;
    const ordered = sessions.time[start] !== sessions.time[end - 1];
    held.set(s, ordered ? end - 1 : start + random.below(end - start));
  }
  const train: Prepared = { ...prepared, sessions: without(sessions, new Set(held.values())) };
  const known = occursIn(train.sessions, itemCount);
  const cases: Case[] = [];
  for (const [s, event] of held) {
    const next = sessions.item[event]!;
    if (known[next] === 0) continue;
    const session = Int32Array.from(
      sessions.item.subarray(sessions.offsets[s]!, sessions.offsets[s + 1]!),
    ).filter((_, i) => sessions.offsets[s]! + i !== event);
    const candidates =
      negatives === 0 ? null : withNegatives({ session, next, negatives, itemCount, random });
    cases.push({ session, history: NOTHING, next, candidates, exclude: new Set(session) });
  }
  return { train, cases };
}

function withNegatives(input: {
  session: Int32Array;
  next: number;
  negatives: number;
  itemCount: number;
  random: { below(below: number): number };
}): Int32Array {
  const { session, next, itemCount, random } = input;
  const seen = new Set(session).add(next);
  const chosen = new Set([next]);
  const most = Math.min(input.negatives, itemCount - seen.size);
  while (chosen.size <= most) {
    const item = random.below(itemCount);
    if (!seen.has(item)) chosen.add(item);
  }
  return Int32Array.from(chosen);
}

/** A copy without some events. */
function without(sessions: SessionLog, events: ReadonlySet<number>): SessionLog {
  const keep = Int32Array.from({ length: sessions.item.length }, (_, e) => e).filter((e) => !events.has(e));
  const offsets = new Uint32Array(sessions.count + 1);
  let dropped = 0;
  for (let s = 0; s < sessions.count; s++) {
    for (let e = sessions.offsets[s]!; e < sessions.offsets[s + 1]!; e++) if (events.has(e)) dropped++;
    offsets[s + 1] = sessions.offsets[s + 1]! - dropped;
  }
  return {
    count: sessions.count,
    offsets,
    item: Int32Array.from(keep, (e) => sessions.item[e]!),
    kind: Uint8Array.from(keep, (e) => sessions.kind[e]!),
    time: Float64Array.from(keep, (e) => sessions.time[e]!),
    country: Uint16Array.from(keep, (e) => sessions.country[e]!),
    visitor: sessions.visitor,
  };
}
