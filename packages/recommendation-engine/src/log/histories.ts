/** Who had to do with what, each pair once: the matrix that the latent models learn from. */
import { sharedInt32, sharedUint32 } from '../structures/shared-array.ts';
import type { SessionLog } from './sessions.ts';

export interface Histories {
  itemCount: number;
  count: number;
  offsets: Uint32Array;
  items: Int32Array;
}

/** The last so many distinct items of a visitor. */
const MAX_ITEMS = 1000;

/**
 * One row per visitor with at least `least` distinct items; of more than `most` visitors, those seen last.
 */
export function buildHistories(input: {
  sessions: SessionLog;
  itemCount: number;
  visitorCount: number;
  least?: number;
  most?: number;
}): Histories {
  const { sessions, itemCount, visitorCount, least = 2, most = 250_000 } = input;
  const ofVisitor: number[][] = [];
  const rowOf = new Int32Array(visitorCount).fill(-1);
  // newest session first, so that the visitors seen last come first and keep their last items
  for (let s = sessions.count - 1; s >= 0; s--) {
    const visitor = sessions.visitor[s]!;
    if (rowOf[visitor] === -1) rowOf[visitor] = ofVisitor.push([]) - 1;
    ofVisitor[rowOf[visitor]!]!.push(s);
  }
  const seenBy = new Int32Array(itemCount).fill(-1);
  const offsets: number[] = [0];
  const items = new Int32Array(sessions.item.length);
  let at = 0;
  for (let row = 0; row < ofVisitor.length && offsets.length <= most; row++) {
    const start = at;
    for (const s of ofVisitor[row]!) {
      for (let e = sessions.offsets[s + 1]! - 1; e >= sessions.offsets[s]! && at - start < MAX_ITEMS; e--) {
        const item = sessions.item[e]!;
        if (seenBy[item] === row) continue;
        seenBy[item] = row;
        items[at++] = item;
      }
    }
    if (at - start < least) at = start;
    else offsets.push(at);
  }
  const histories: Histories = {
    itemCount,
    count: offsets.length - 1,
    offsets: sharedUint32(offsets.length),
    items: sharedInt32(at),
  };
  histories.offsets.set(offsets);
  histories.items.set(items.subarray(0, at));
  return histories;
}
