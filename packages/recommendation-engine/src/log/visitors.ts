/** The last interactions of every visitor, so that a live one continues the session it belongs to, and what they bought before. */
import { sharedFloat64, sharedInt32, sharedUint8, sharedUint32 } from '../structures/shared-array.ts';
import type { Vocabulary } from '../structures/vocabulary.ts';
import { PURCHASE } from './interactions.ts';
import type { SessionLog } from './sessions.ts';

/** Interactions kept per visitor. */
const KEPT = 50;
/** Beside them, of those before: what was bought lately is left out (D12), however much was looked at since. */
const KEPT_PURCHASES = 512;

export interface VisitorIndex {
  visitors: Vocabulary;
  /** Visitor -> interactions, oldest first. */
  offsets: Uint32Array;
  items: Int32Array;
  kinds: Uint8Array;
  times: Float64Array;
}

export function buildVisitors(sessions: SessionLog, visitors: Vocabulary): VisitorIndex {
  const offsets = sharedUint32(visitors.count + 1);
  visitKept(sessions, visitors.count, (visitor) => void offsets[visitor + 1]!++);
  for (let v = 0; v < visitors.count; v++) offsets[v + 1]! += offsets[v]!;
  const total = offsets[visitors.count]!;
  const index: VisitorIndex = {
    visitors,
    offsets,
    items: sharedInt32(total),
    kinds: sharedUint8(total),
    times: sharedFloat64(total),
  };
  // newest first: fill each visitor's room from the back
  const cursor = offsets.slice(1);
  visitKept(sessions, visitors.count, (visitor, event) => {
    const at = --cursor[visitor]!;
    index.items[at] = sessions.item[event]!;
    index.kinds[at] = sessions.kind[event]!;
    index.times[at] = sessions.time[event]!;
  });
  return index;
}

/** What is kept of every visitor, newest first. */
function visitKept(
  sessions: SessionLog,
  visitorCount: number,
  take: (visitor: number, event: number) => void,
): void {
  const room = new Uint32Array(visitorCount).fill(KEPT);
  const roomForPurchases = new Uint32Array(visitorCount).fill(KEPT_PURCHASES);
  for (let s = sessions.count - 1; s >= 0; s--) {
    const visitor = sessions.visitor[s]!;
    for (let e = sessions.offsets[s + 1]! - 1; e >= sessions.offsets[s]!; e--) {
      if (room[visitor]! > 0) room[visitor]!--;
      else if (sessions.kind[e] === PURCHASE && roomForPurchases[visitor]! > 0) roomForPurchases[visitor]!--;
      else continue;
      take(visitor, e);
    }
  }
}
