/** The last interactions of every visitor, so that a live one continues the session it belongs to. */

import { sharedFloat64, sharedInt32, sharedUint8, sharedUint32 } from '../structures/shared-array.ts';
import type { Vocabulary } from '../structures/vocabulary.ts';
import type { SessionLog } from './sessions.ts';

/** Interactions kept per visitor. */
const KEPT = 50;

export interface VisitorIndex {
  visitors: Vocabulary;
  /** Visitor -> interactions, oldest first. */
  offsets: Uint32Array;
  items: Int32Array;
  kinds: Uint8Array;
  times: Float64Array;
}

export function buildVisitors(sessions: SessionLog, visitors: Vocabulary): VisitorIndex {
  const sizes = new Uint32Array(visitors.count);
  for (let s = 0; s < sessions.count; s++) {
    sizes[sessions.visitor[s]!]! += sessions.offsets[s + 1]! - sessions.offsets[s]!;
  }
  const offsets = sharedUint32(visitors.count + 1);
  for (let v = 0; v < visitors.count; v++) offsets[v + 1] = offsets[v]! + Math.min(KEPT, sizes[v]!);
  const total = offsets[visitors.count]!;
  const index: VisitorIndex = {
    visitors,
    offsets,
    items: sharedInt32(total),
    kinds: sharedUint8(total),
    times: sharedFloat64(total),
  };
  // sessions run oldest to newest: fill each visitor's room from the back
  const cursor = offsets.slice(1);
  for (let s = sessions.count - 1; s >= 0; s--) {
    const visitor = sessions.visitor[s]!;
    for (let e = sessions.offsets[s + 1]! - 1; e >= sessions.offsets[s]!; e--) {
      if (cursor[visitor] === offsets[visitor]) break;
      const at = --cursor[visitor]!;
      index.items[at] = sessions.item[e]!;
      index.kinds[at] = sessions.kind[e]!;
      index.times[at] = sessions.time[e]!;
    }
  }
  return index;
}
