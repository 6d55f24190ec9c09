/** Item -> its best partners with a weight, heaviest first: the stored form of every item-to-item model. */
import { ScoreBoard } from './score-board.ts';
import { sharedFloat32, sharedInt32, sharedUint32 } from './shared-array.ts';
import { TopK } from './top-k.ts';

export interface PartnerRows {
  itemCount: number;
  offsets: Uint32Array;
  items: Int32Array;
  weights: Float32Array;
}

/**
 * Fills one row after the other: `fill` puts an item's partners on the board, the `keep` heaviest stay. An item is no partner of itself,
 * unless `withSelf`.
 */
export function buildPartnerRows(input: {
  itemCount: number;
  keep: number;
  withSelf?: boolean;
  fill: (item: number, board: ScoreBoard) => void;
}): PartnerRows {
  const { itemCount, keep, withSelf = false, fill } = input;
  const board = new ScoreBoard(itemCount);
  const best = new TopK(keep);
  const offsets = sharedUint32(itemCount + 1);
  let capacity = Math.max(1024, itemCount * 8);
  let items = new Int32Array(capacity);
  let weights = new Float32Array(capacity);
  let at = 0;
  for (let item = 0; item < itemCount; item++) {
    fill(item, board);
    best.reset(keep);
    for (let i = 0; i < board.count; i++) {
      const partner = board.touched[i]!;
      if (withSelf || partner !== item) best.offer(partner, board.values[partner]!);
    }
    board.clear();
    best.sort();
    if (at + best.size > capacity) {
      capacity = Math.max(capacity * 2, at + best.size);
      const wider = { items: new Int32Array(capacity), weights: new Float32Array(capacity) };
      wider.items.set(items);
      wider.weights.set(weights);
      ({ items, weights } = wider);
    }
    items.set(best.items.subarray(0, best.size), at);
    weights.set(best.scores.subarray(0, best.size), at);
    at += best.size;
    offsets[item + 1] = at;
  }
  const rows: PartnerRows = { itemCount, offsets, items: sharedInt32(at), weights: sharedFloat32(at) };
  rows.items.set(items.subarray(0, at));
  rows.weights.set(weights.subarray(0, at));
  return rows;
}

/** Lists an item's partners, or the `most` heaviest of them, on a board. */
export function markRow(rows: PartnerRows, item: number, board: ScoreBoard, most: number): void {
  if (item >= rows.itemCount) return;
  const from = rows.offsets[item]!;
  const to = Math.min(rows.offsets[item + 1]!, from + most);
  for (let i = from; i < to; i++) board.mark(rows.items[i]!);
}

/** Adds an item's row, or the `most` heaviest of it, to a board, scaled. */
export function addRow(
  rows: PartnerRows,
  item: number,
  scale: number,
  board: ScoreBoard,
  most = Number.POSITIVE_INFINITY,
): void {
  if (item >= rows.itemCount) return;
  const from = rows.offsets[item]!;
  const to = Math.min(rows.offsets[item + 1]!, from + most);
  board.addAll(rows.items, rows.weights, from, to, scale);
}
