/**
 * `bought-together`: items of the same basket (cosine with shrinkage, so that one lucky pair does not win). A log that
 * knows no purchases has no baskets; its sessions take their place.
 */
import { PURCHASE } from '../log/interactions.ts';
import type { SessionLog } from '../log/sessions.ts';
import { addRow, buildPartnerRows, type PartnerRows } from '../structures/rows.ts';
import { ScoreBoard } from '../structures/score-board.ts';
import { groupBy, sharedUint32 } from '../structures/shared-array.ts';
import type { Model } from './model.ts';

export interface BasketKnobs {
  /** n together counts n / (n + shrink). */
  shrink: number;
  keep: number;
}

export const DEFAULT_BASKET_KNOBS: BasketKnobs = { shrink: 2, keep: 100 };

/** Larger baskets are wholesale or robots and would cost quadratic time; their last items count, live ones included. */
export const MAX_BASKET = 400;

export interface BasketRows extends PartnerRows {
  /** Baskets per item. */
  baskets: Uint32Array;
  /** Whether sessions had to stand in for baskets. */
  ofSessions: boolean;
}

export const NO_BASKET_ROWS: BasketRows = {
  itemCount: 0,
  offsets: new Uint32Array(1),
  items: new Int32Array(0),
  weights: new Float32Array(0),
  baskets: new Uint32Array(0),
  ofSessions: false,
};

export function buildBaskets(input: {
  sessions: SessionLog;
  itemCount: number;
  knobs: BasketKnobs;
}): BasketRows {
  const { sessions, itemCount, knobs } = input;
  const ofSessions = !sessions.kind.includes(PURCHASE);
  const baskets = collect(sessions, itemCount, ofSessions);
  const byItem = groupBy(baskets.items, itemCount);
  const frequency = sharedUint32(itemCount);
  for (let i = 0; i < baskets.items.length; i++) frequency[baskets.items[i]!]!++;
  const rows = buildPartnerRows({
    itemCount,
    keep: knobs.keep,
    fill(item, board) {
      for (let o = byItem.offsets[item]!; o < byItem.offsets[item + 1]!; o++) {
        const basket = baskets.basketOf[byItem.values[o]!]!;
        for (let i = baskets.offsets[basket]!; i < baskets.offsets[basket + 1]!; i++) {
          board.add(baskets.items[i]!, 1);
        }
      }
      for (let i = 0; i < board.count; i++) {
        const partner = board.touched[i]!;
        const together = board.values[partner]!;
        board.values[partner] = affinity({
          together,
          one: frequency[item]!,
          other: frequency[partner]!,
          shrink: knobs.shrink,
        });
      }
    },
  });
  return { ...rows, baskets: frequency, ofSessions };
}

/** Cosine of two items over baskets, shrunk towards zero where little is known. */
export const affinity = (counts: { together: number; one: number; other: number; shrink: number }): number =>
  (counts.together / Math.sqrt(counts.one * counts.other)) *
  (counts.together / (counts.together + counts.shrink));

/** Distinct items per basket. */
function collect(sessions: SessionLog, itemCount: number, ofSessions: boolean) {
  const seenIn = new Int32Array(itemCount).fill(-1);
  const offsets = new Uint32Array(sessions.count + 1);
  const items = new Int32Array(sessions.item.length);
  const basketOf = new Int32Array(sessions.item.length);
  let at = 0;
  for (let s = 0; s < sessions.count; s++) {
    const start = at;
    for (let e = sessions.offsets[s + 1]! - 1; e >= sessions.offsets[s]! && at - start < MAX_BASKET; e--) {
      const item = sessions.item[e]!;
      if (seenIn[item] === s || (!ofSessions && sessions.kind[e] !== PURCHASE)) continue;
      seenIn[item] = s;
      basketOf[at] = s;
      items[at++] = item;
    }
    offsets[s + 1] = at;
  }
  return { offsets, items: items.subarray(0, at), basketOf: basketOf.subarray(0, at) };
}

/** The count behind an affinity: its inverse, so that live baskets can be added to a stored row. */
const togetherOf = (value: number, one: number, other: number, shrink: number): number => {
  const cosine = value * Math.sqrt(one * other);
  return (cosine + Math.sqrt(cosine * cosine + 4 * cosine * shrink)) / 2;
};

/** Baskets that came after the rows were built, and what still counts of these. */
export interface LiveBaskets {
  /** Those of the base. Where sessions stood in for baskets, the first live purchase leaves nothing of them, as a build with it would. */
  readonly rows: BasketRows;
  /** Tells of the items that were with this one in live baskets, and in how many; one may be told of several times. */
  visitPartners(item: number, visit: (partner: number, together: number) => void): void;
  /** Live baskets that have the item. */
  basketsWith(item: number): number;
  /** Items in live baskets. */
  readonly count: number;
}

export interface Baskets {
  model: Model;
  /** Adds an item's partners, or about the `most` heaviest of them, to a board, scaled. */
  addPartners(source: number, scale: number, board: ScoreBoard, most?: number): void;
}

export function openBaskets(input: { knobs: BasketKnobs; live: LiveBaskets }): Baskets {
  const { live, knobs } = input;
  const { shrink } = knobs;
  const merged = new ScoreBoard(live.rows.itemCount);

  /** The stored row and the live counts as one, exactly as a rebuild would have it (but for partners cut off). */
  const merge = (source: number): void => {
    const { rows } = live;
    const known = (item: number): number => (item < rows.itemCount ? rows.baskets[item]! : 0);
    const one = known(source);
    if (source < rows.itemCount) {
      for (let i = rows.offsets[source]!; i < rows.offsets[source + 1]!; i++) {
        const partner = rows.items[i]!;
        merged.add(partner, togetherOf(rows.weights[i]!, one, known(partner), shrink));
      }
    }
    live.visitPartners(source, (partner, together) => {
      merged.grow(partner + 1);
      merged.add(partner, together);
    });
    const oneNow = one + live.basketsWith(source);
    for (let i = 0; i < merged.count; i++) {
      const partner = merged.touched[i]!;
      const other = known(partner) + live.basketsWith(partner);
      merged.values[partner] = affinity({ together: merged.values[partner]!, one: oneNow, other, shrink });
    }
  };

  const addPartners = (source: number, scale: number, board: ScoreBoard, most?: number): void => {
    if (live.count === 0) {
      addRow(live.rows, source, scale, board, most);
      return;
    }
    merge(source);
    for (let i = 0; i < merged.count; i++) {
      const partner = merged.touched[i]!;
      board.add(partner, merged.values[partner]! * scale);
    }
    merged.clear();
  };

  return {
    addPartners,
    model: {
      algorithm: 'bought-together',
      score(context, board) {
        if (context.recentCount > 0) addPartners(context.recent[0]!, 1, board);
      },
    },
  };
}
