/** Sessions since the base was built, and the visitors they belong to. */
import type { EngineBase } from '../base.ts';
import { PURCHASE } from '../log/interactions.ts';
import { MAX_HISTORY } from '../models/context.ts';
import { type LiveSessions, MAX_SESSION_ITEMS } from '../models/sessions/session-index.ts';
import { indexOfId } from '../structures/vocabulary.ts';

/** One interaction in the visitor's current session. */
export interface Step {
  item: number;
  kind: number;
  time: number;
}

/** A visitor's session with at least one live step; what the base knows of it comes before. */
export interface LiveSession {
  /** -1: it was over before, and is not among the live ones. */
  number: number;
  /** The newest of them up to the one that was added, oldest first. */
  steps: readonly Step[];
  /** Those behind it, where it is told late. */
  later: readonly Step[];
}

export interface LiveVisitors extends LiveSessions {
  /** Adds an interaction, in its place where it is told late (an import, a page that was offline); the session with it. */
  add(visitor: string, step: Step): LiveSession;
  /** Live session number of the visitor, or -1. */
  sessionOf(visitor: string): number;
  /** What is known of a visitor, oldest first: the newest of the running session and of what came before it, and older purchases. */
  historyOf(visitor: string): readonly Step[];
  /** How much was ever known of a visitor: with every interaction it is more. */
  countOf(visitor: string): number;
  /** Knows nothing of the visitor any more, what the base has included. What the models made of it stays, without a name. */
  forget(visitor: string): void;
}

interface Visitor {
  session: number;
  steps: Step[];
  earlier: Step[];
  count: number;
}

/** Every request of a visitor goes through the steps, and a context holds no more of them: a robot makes thousands an hour. */
const MAX_STEPS = MAX_HISTORY;
const NO_STEPS: readonly Step[] = [];

/** The newest steps and, of those before, the purchases: what was bought lately is left out, whatever was done since (D12). */
function newestOf(steps: readonly Step[]): Step[] {
  const cut = Math.max(0, steps.length - MAX_STEPS);
  const bought = steps.slice(0, cut).filter(({ kind }) => kind === PURCHASE);
  return [...bought.slice(-MAX_STEPS), ...steps.slice(cut)];
}

/** A step that the running session has no room for any more. */
function letGo(visitor: Visitor, step: Step): void {
  if (step.kind === PURCHASE) visitor.earlier = newestOf([...visitor.earlier, step]);
}

/** Puts a step where it belongs by its time, and answers where that is. */
function insertByTime(steps: Step[], step: Step): number {
  let at = steps.length;
  while (at > 0 && steps[at - 1]!.time > step.time) at--;
  steps.splice(at, 0, step);
  return at;
}

export function openLiveSessions(base: EngineBase): LiveVisitors {
  const gap = base.sessionGap > 0 ? base.sessionGap : Number.POSITIVE_INFINITY;
  const visitors = new Map<string, Visitor>();
  const items: number[][] = [];
  const withItem = new Map<number, number[]>();

  /** Where the base has a visitor's steps. */
  const placeInBase = (visitor: string): [from: number, to: number] => {
    const index = base.visitors;
    const number = index === null ? -1 : indexOfId(index.visitors, visitor);
    return number < 0 ? [0, 0] : [index!.offsets[number]!, index!.offsets[number + 1]!];
  };

  const inBase = (visitor: string): Step[] => {
    const [from, to] = placeInBase(visitor);
    const index = base.visitors;
    const steps: Step[] = [];
    for (let i = from; i < to; i++) {
      steps.push({ item: index!.items[i]!, kind: index!.kinds[i]!, time: index!.times[i]! });
    }
    return steps;
  };

  /** Where the session that reaches into `time` begins. */
  const sessionStart = (steps: readonly Step[], time: number): number => {
    let start = steps.length;
    let next = time;
    while (start > 0 && next - steps[start - 1]!.time <= gap) next = steps[--start]!.time;
    return start;
  };

  /** The visitor as of `time`, with a fresh session when the last one is over. */
  const visitorAt = (name: string, time: number): Visitor => {
    let visitor = visitors.get(name);
    if (visitor === undefined) {
      const known = inBase(name);
      const start = sessionStart(known, time);
      visitor = {
        session: -1,
        steps: known.slice(start),
        earlier: known.slice(0, start),
        count: known.length,
      };
      visitors.set(name, visitor);
    } else if (time - (visitor.steps.at(-1)?.time ?? time) > gap) {
      visitor.earlier = newestOf([...visitor.earlier, ...visitor.steps]);
      visitor.steps = [];
      visitor.session = -1;
    }
    return visitor;
  };

  const enlist = (session: number, item: number): void => {
    const own = items[session]!;
    const at = own.indexOf(item);
    if (at >= 0) {
      own.splice(at, 1);
    } else {
      const sessions = withItem.get(item);
      if (sessions === undefined) withItem.set(item, [session]);
      else sessions.push(session);
    }
    own.push(item);
    if (own.length > MAX_SESSION_ITEMS) delist(session, own.shift()!);
  };

  const delist = (session: number, item: number): void => {
    const sessions = withItem.get(item)!;
    sessions.splice(sessions.lastIndexOf(session), 1);
    if (sessions.length === 0) withItem.delete(item);
  };

  /** Lists the items of a session anew, in the order of its steps. */
  const relist = ({ session, steps }: Visitor): void => {
    for (const item of items[session]!) delist(session, item);
    items[session] = [];
    for (const { item } of steps) enlist(session, item);
  };

  /** A step of before the running session began. */
  const addEarlier = (visitor: Visitor, step: Step): LiveSession => {
    const at = insertByTime(visitor.earlier, step);
    const upToIt = visitor.earlier.slice(0, at + 1);
    visitor.earlier = newestOf(visitor.earlier);
    return { number: -1, steps: upToIt.slice(sessionStart(upToIt, step.time)), later: NO_STEPS };
  };

  return {
    get count() {
      return items.length;
    },
    withItem: (item) => withItem.get(item),
    itemsOf: (session) => items[session]!,
    add(name, step) {
      const visitor = visitorAt(name, step.time);
      const { steps } = visitor;
      visitor.count++;
      if (steps.length > 0 && steps[0]!.time - step.time > gap) return addEarlier(visitor, step);
      if (visitor.session < 0) {
        visitor.session = items.push([]) - 1;
        for (const before of steps) enlist(visitor.session, before.item);
      }
      const at = insertByTime(steps, step);
      const isLate = at < steps.length - 1;
      const upToIt = isLate ? steps.slice(0, at + 1) : steps;
      const later = isLate ? steps.slice(at + 1) : NO_STEPS;
      if (steps.length > MAX_STEPS) letGo(visitor, steps.shift()!);
      if (isLate) relist(visitor);
      else enlist(visitor.session, step.item);
      return { number: visitor.session, steps: upToIt, later };
    },
    sessionOf: (name) => visitors.get(name)?.session ?? -1,
    historyOf(name) {
      const visitor = visitors.get(name);
      return visitor === undefined ? inBase(name) : [...visitor.earlier, ...visitor.steps];
    },
    countOf(name) {
      const visitor = visitors.get(name);
      if (visitor !== undefined) return visitor.count;
      const [from, to] = placeInBase(name);
      return to - from;
    },
    forget: (name) => void visitors.set(name, { session: -1, steps: [], earlier: [], count: 0 }),
  };
}
