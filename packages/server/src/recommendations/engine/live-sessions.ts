/** Sessions since the base was built, and the visitors they belong to. */
import type { EngineBase } from './base.ts';
import type { LiveSessions } from './session-neighbours.ts';
import { indexOfId } from './vocabulary.ts';

/** One interaction in the visitor's current session. */
export interface Step {
  item: number;
  kind: number;
  time: number;
}

export interface LiveVisitors extends LiveSessions {
  /** The visitor's session that an interaction at `time` continues, what the base knows of it included. */
  stepsOf(visitor: string, time: number): readonly Step[];
  /** Adds an interaction; the session's steps with it. */
  add(visitor: string, step: Step): readonly Step[];
  /** Live session number of the visitor, or -1. */
  sessionOf(visitor: string): number;
  /** All that is known of a visitor, oldest first. */
  historyOf(visitor: string): readonly Step[];
  /** The length of it. */
  countOf(visitor: string): number;
  /** Knows nothing of the visitor any more, what the base has included. What the models made of it stays, without a name. */
  forget(visitor: string): void;
}

interface Visitor {
  session: number;
  steps: Step[];
  earlier: Step[];
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
      visitor = { session: -1, steps: known.slice(start), earlier: known.slice(0, start) };
      visitors.set(name, visitor);
    } else if (time - (visitor.steps.at(-1)?.time ?? time) > gap) {
      visitor.earlier.push(...visitor.steps);
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
  };

  return {
    get count() {
      return items.length;
    },
    withItem: (item) => withItem.get(item),
    itemsOf: (session) => items[session]!,
    stepsOf: (name, time) => {
      const visitor = visitors.get(name);
      const steps = visitor?.steps ?? inBase(name);
      return steps.slice(sessionStart(steps, time));
    },
    add(name, step) {
      const visitor = visitorAt(name, step.time);
      if (visitor.session < 0) {
        visitor.session = items.push([]) - 1;
        for (const before of visitor.steps) enlist(visitor.session, before.item);
      }
      visitor.steps.push(step);
      enlist(visitor.session, step.item);
      return visitor.steps;
    },
    sessionOf: (name) => visitors.get(name)?.session ?? -1,
    historyOf(name) {
      const visitor = visitors.get(name);
      return visitor === undefined ? inBase(name) : [...visitor.earlier, ...visitor.steps];
    },
    countOf(name) {
      const visitor = visitors.get(name);
      if (visitor !== undefined) return visitor.earlier.length + visitor.steps.length;
      const [from, to] = placeInBase(name);
      return to - from;
    },
    forget: (name) => void visitors.set(name, { session: -1, steps: [], earlier: [] }),
  };
}
