/** Sessions arranged for neighbour search: item -> newest sessions that have it, session -> its distinct items. */
import type { SessionLog } from '../../log/sessions.ts';
import { sharedFloat32, sharedInt32, sharedUint8, sharedUint32 } from '../../structures/shared-array.ts';

/** Newest sessions kept per item: no setting of the model looks further back. */
const MAX_SAMPLE = 2500;
/** Positions are bytes; of a longer session the last so many distinct items count. */
export const MAX_SESSION_ITEMS = 255;

export interface SessionIndex {
  itemCount: number;
  count: number;
  /** Session -> distinct items, in the order of their last occurrences. */
  offsets: Uint32Array;
  items: Int32Array;
  /** Hours before the newest session. */
  ages: Float32Array;
  /** Item -> sessions, newest first, with the item's position there. */
  postingOffsets: Uint32Array;
  postingSessions: Int32Array;
  postingPositions: Uint8Array;
  /** ln(sessions / sessions with the item). */
  idf: Float32Array;
}

/** Sessions that are not in the index yet; numbered from `index.count` on. */
export interface LiveSessions {
  readonly count: number;
  /** Live session numbers (from 0) that have the item, oldest first; undefined = none. */
  withItem(item: number): readonly number[] | undefined;
  /** Distinct items of a live session in the order of their last occurrence, the last {@link MAX_SESSION_ITEMS}. */
  itemsOf(session: number): readonly number[];
}

export function buildSessionIndex(sessions: SessionLog, itemCount: number): SessionIndex {
  const distinct = distinctItems(sessions, itemCount);
  return { ...distinct, ...postings(distinct), ages: ages(sessions) };
}

type Distinct = Pick<SessionIndex, 'itemCount' | 'count' | 'offsets' | 'items'>;

function distinctItems(sessions: SessionLog, itemCount: number): Distinct {
  const seenIn = new Int32Array(itemCount).fill(-1);
  const offsets = sharedUint32(sessions.count + 1);
  const items = new Int32Array(sessions.item.length);
  let at = 0;
  for (let s = 0; s < sessions.count; s++) {
    const start = at;
    // backwards: the last occurrence is the one that counts
    for (let e = sessions.offsets[s + 1]! - 1; e >= sessions.offsets[s]!; e--) {
      const item = sessions.item[e]!;
      if (seenIn[item] === s) continue;
      if (at - start === MAX_SESSION_ITEMS) break;
      seenIn[item] = s;
      items[at++] = item;
    }
    items.subarray(start, at).reverse();
    offsets[s + 1] = at;
  }
  const kept = sharedInt32(at);
  kept.set(items.subarray(0, at));
  return { itemCount, count: sessions.count, offsets, items: kept };
}

function postings({ itemCount, count, offsets, items }: Distinct) {
  const frequency = new Uint32Array(itemCount);
  for (let i = 0; i < items.length; i++) frequency[items[i]!]!++;
  const postingOffsets = sharedUint32(itemCount + 1);
  const idf = sharedFloat32(itemCount);
  for (let item = 0; item < itemCount; item++) {
    postingOffsets[item + 1] = postingOffsets[item]! + Math.min(frequency[item]!, MAX_SAMPLE);
    idf[item] = Math.log(Math.max(1, count) / Math.max(1, frequency[item]!));
  }
  const postingSessions = sharedInt32(postingOffsets[itemCount]!);
  const postingPositions = sharedUint8(postingOffsets[itemCount]!);
  const cursor = postingOffsets.slice(0, itemCount);
  for (let s = count - 1; s >= 0; s--) {
    for (let i = offsets[s]!; i < offsets[s + 1]!; i++) {
      const item = items[i]!;
      const slot = cursor[item]!;
      if (slot === postingOffsets[item + 1]!) continue;
      postingSessions[slot] = s;
      postingPositions[slot] = i - offsets[s]!;
      cursor[item] = slot + 1;
    }
  }
  return { postingOffsets, postingSessions, postingPositions, idf };
}

function ages(sessions: SessionLog): Float32Array {
  const out = sharedFloat32(sessions.count);
  const end = (s: number): number => sessions.time[sessions.offsets[s + 1]! - 1]!;
  for (let s = 0; s < sessions.count; s++) out[s] = (end(sessions.count - 1) - end(s)) / 3_600_000;
  return out;
}
