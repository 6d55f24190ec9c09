/** A request as the models see it, and how it is filled. */

/**
 * The request as the models see it: item numbers only, each list without repetition, newest first. One context lives
 * with its engine and is filled anew for each request.
 */
export interface Context {
  /** The item in view, or -1. It is also `recent[0]`. */
  item: number;
  /** The current session. */
  recent: Int32Array;
  recentCount: number;
  /** How often each of them occurred in the session. */
  recentTimes: Uint8Array;
  /** The current session, then what the visitor did before it. */
  history: Int32Array;
  historyCount: number;
  /** The visitor's own session among the live ones, or -1: nobody is their own neighbour. */
  ownSession: number;
  /** 0 = unknown, otherwise number of the country plus one. */
  country: number;
  /** -1 = any. */
  category: number;
  /** When only these may be answered (a selective filter), models that walk the catalog walk this list instead. */
  candidates: Int32Array | null;
  candidateCount: number;
  /** How many items are asked for, and which may be answered: for models that walk a ranked list. */
  wanted: number;
  accepts(item: number): boolean;
  /** Factors that the scores get afterwards, by item number; missing = 1, null = none. */
  factors: ArrayLike<number> | null;
  /** Whether `accepts` turns down more than a handful. */
  selective: boolean;
  /** Scratch: which items the history has already, and where each of them stands there. */
  slots: Int32Array;
  taken: Int32Array;
}

/** Longest lists that a context holds; older items say little and cost time. */
export const MAX_RECENT = 32;
export const MAX_HISTORY = 512;

export function createContext(): Context {
  return {
    item: -1,
    recent: new Int32Array(MAX_RECENT),
    recentCount: 0,
    recentTimes: new Uint8Array(MAX_RECENT),
    history: new Int32Array(MAX_HISTORY),
    historyCount: 0,
    ownSession: -1,
    country: 0,
    category: -1,
    candidates: null,
    candidateCount: 0,
    wanted: 0,
    accepts: () => true,
    factors: null,
    selective: false,
    slots: new Int32Array(SLOTS).fill(-1),
    taken: new Int32Array(MAX_HISTORY),
  };
}

/** Room for twice the longest history, so that a look-up stays short. */
const SLOTS = 2048;

/** Item in view, session and history (oldest first) become lists without repetition, newest first. */
export function loadContext(input: {
  context: Context;
  item?: number | undefined;
  session: ArrayLike<number>;
  history: ArrayLike<number>;
}): void {
  const { context, session, history } = input;
  context.item = input.item ?? -1;
  for (let i = 0; i < context.historyCount; i++) context.slots[context.taken[i]!] = -1;
  context.recentCount = 0;
  context.historyCount = 0;
  if (context.item >= 0) remember(context, context.item);
  for (let i = session.length - 1; i >= 0; i--) remember(context, session[i]!);
  for (let i = history.length - 1; i >= 0; i--) keepOnce(context, history[i]!);
}

function remember(context: Context, item: number): void {
  if (keepOnce(context, item)) {
    if (context.recentCount === MAX_RECENT) return;
    context.recentTimes[context.recentCount] = 1;
    context.recent[context.recentCount++] = item;
    return;
  }
  for (let i = 0; i < context.recentCount; i++) {
    if (context.recent[i] === item && context.recentTimes[i]! < 255) context.recentTimes[i]!++;
  }
}

/** Appends to the history; false when the item is there already or there is no room. */
function keepOnce(context: Context, item: number): boolean {
  if (item < 0 || context.historyCount === MAX_HISTORY) return false;
  let slot = Math.imul(item, 0x9e3779b1) >>> 21;
  for (; context.slots[slot] !== -1; slot = (slot + 1) & (SLOTS - 1)) {
    if (context.slots[slot] === item) return false;
  }
  context.slots[slot] = item;
  context.taken[context.historyCount] = slot;
  context.history[context.historyCount++] = item;
  return true;
}
