/** Interactions cut into sessions, oldest session first: what every co-occurrence model is counted from. */
import {
  groupBy,
  sharedFloat64,
  sharedInt32,
  sharedUint8,
  sharedUint16,
  sharedUint32,
} from '../structures/shared-array.ts';
import type { InteractionLog } from './interactions.ts';

/** Half an hour without a sign of life ends a session, the convention of web analytics. */
export const SESSION_GAP_MS = 30 * 60 * 1000;

/** Sessions ordered by their last interaction, so a greater session number is a newer session. */
export interface SessionLog {
  count: number;
  offsets: Uint32Array;
  item: Int32Array;
  kind: Uint8Array;
  time: Float64Array;
  country: Uint16Array;
  /** Per session. */
  visitor: Int32Array;
}

/**
 * Cuts a log into sessions. `gap` Infinity makes every visitor one session (histories, benchmark files).
 *
 * @example sessionise(log, 30 * 60 * 1000).count
 */
export function sessionise(log: InteractionLog, gap: number = SESSION_GAP_MS): SessionLog {
  const order = chronological(log);
  const starts: number[] = [];
  for (let e = 0; e < order.length; e++) {
    const before = order[e - 1];
    const event = order[e]!;
    if (
      before === undefined ||
      log.visitor[before] !== log.visitor[event] ||
      log.time[event]! - log.time[before]! > gap
    ) {
      starts.push(e);
    }
  }
  starts.push(order.length);
  return gather({ log, order, bounds: Int32Array.from(starts) });
}

/** Event numbers by visitor, then time, then order of arrival. */
function chronological(log: InteractionLog): Int32Array {
  const { offsets, values } = groupBy(log.visitor.subarray(0, log.count), log.visitors.count);
  for (let v = 0; v < log.visitors.count; v++) {
    const events = values.subarray(offsets[v]!, offsets[v + 1]!);
    let sorted = true;
    for (let i = 1; i < events.length && sorted; i++)
      sorted = log.time[events[i - 1]!]! <= log.time[events[i]!]!;
    if (!sorted) events.sort((a, b) => log.time[a]! - log.time[b]! || a - b);
  }
  return values;
}

/** `bounds[s] .. bounds[s + 1]` of `order` is one session; the one that ended first comes first. */
function gather({
  log,
  order,
  bounds,
}: {
  log: InteractionLog;
  order: Int32Array;
  bounds: Int32Array;
}): SessionLog {
  const count = bounds.length - 1;
  const ends = new Float64Array(count);
  for (let s = 0; s < count; s++) ends[s] = log.time[order[bounds[s + 1]! - 1]!]!;
  const byEnd = Int32Array.from(ends, (_, s) => s).sort((a, b) => ends[a]! - ends[b]! || a - b);

  const sessions: SessionLog = {
    count,
    offsets: sharedUint32(count + 1),
    item: sharedInt32(order.length),
    kind: sharedUint8(order.length),
    time: sharedFloat64(order.length),
    country: sharedUint16(order.length),
    visitor: sharedInt32(count),
  };
  let at = 0;
  for (let s = 0; s < count; s++) {
    const source = byEnd[s]!;
    const to = bounds[source + 1]!;
    sessions.visitor[s] = log.visitor[order[bounds[source]!]!]!;
    for (let e = bounds[source]!; e < to; e++, at++) {
      const event = order[e]!;
      sessions.item[at] = log.item[event]!;
      sessions.kind[at] = log.kind[event]!;
      sessions.time[at] = log.time[event]!;
      sessions.country[at] = log.country[event]!;
    }
    sessions.offsets[s + 1] = at;
  }
  return sessions;
}

/** The time of the newest interaction: "now" for everything that decays. */
export const lastTime = (sessions: SessionLog): number =>
  sessions.count === 0 ? 0 : sessions.time[sessions.offsets[sessions.count]! - 1]!;
