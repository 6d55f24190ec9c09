/** `related`: what visitors go on to after an item (directed co-visitation, also known as sequential rules). */
import { KIND_WEIGHTS, type KindWeights, weightsByCode } from '../log/interactions.ts';
import { lastTime, type SessionLog } from '../log/sessions.ts';
import { decayed, type HalfLife } from '../structures/decay.ts';
import { addRow, buildPartnerRows, type PartnerRows } from '../structures/rows.ts';
import { groupBy } from '../structures/shared-array.ts';
import type { Model } from './model.ts';

export interface CovisitationKnobs {
  /** How many steps after an item still count. */
  reach: number;
  /** A step of distance d counts 1 / d^stepPower. */
  stepPower: number;
  halfLife: HalfLife;
  /** Partners kept per item. */
  keep: number;
}

export const DEFAULT_COVISITATION_KNOBS: CovisitationKnobs = {
  reach: 10,
  stepPower: 1,
  halfLife: 0,
  keep: 100,
};

/** What one step from an item to a later one is worth. Base and live additions both use this. */
export const stepWeight = (step: {
  knobs: CovisitationKnobs;
  distance: number;
  /** Of the kind of the later interaction. */
  weight: number;
  time: number;
  origin: number;
}): number =>
  (step.weight / step.distance ** step.knobs.stepPower) *
  decayed(step.time, step.origin, step.knobs.halfLife);

/**
 * @example buildCovisitation({ sessions, itemCount: 3, knobs: DEFAULT_COVISITATION_KNOBS })
 */
export function buildCovisitation(input: {
  sessions: SessionLog;
  itemCount: number;
  knobs: CovisitationKnobs;
  kinds?: KindWeights;
}): PartnerRows {
  const { sessions, itemCount, knobs, kinds = KIND_WEIGHTS } = input;
  const worth = weightsByCode(kinds);
  const occurrences = groupBy(sessions.item, itemCount);
  const sessionEnd = new Uint32Array(sessions.item.length);
  const fade = new Float32Array(sessions.item.length);
  const origin = lastTime(sessions);
  for (let s = 0; s < sessions.count; s++) {
    const end = sessions.offsets[s + 1]!;
    for (let e = sessions.offsets[s]!; e < end; e++) {
      sessionEnd[e] = end;
      fade[e] = worth[sessions.kind[e]!]! * decayed(sessions.time[e]!, origin, knobs.halfLife);
    }
  }
  const step = Float32Array.from({ length: knobs.reach + 1 }, (_, d) => 1 / d ** knobs.stepPower);
  return buildPartnerRows({
    itemCount,
    keep: knobs.keep,
    fill(item, board) {
      for (let o = occurrences.offsets[item]!; o < occurrences.offsets[item + 1]!; o++) {
        const from = occurrences.values[o]!;
        const to = Math.min(sessionEnd[from]!, from + knobs.reach + 1);
        for (let e = from + 1; e < to; e++) board.add(sessions.item[e]!, step[e - from]! * fade[e]!);
      }
    },
  });
}

/** Weights that came after the rows were built. */
export interface LiveRows {
  rowOf(item: number): ReadonlyMap<number, number> | undefined;
}

export function openCovisitation(input: { rows: PartnerRows; live?: LiveRows }): Model {
  const { rows, live } = input;
  return {
    algorithm: 'related',
    score(context, board) {
      if (context.recentCount === 0) return;
      const source = context.recent[0]!;
      addRow(rows, source, 1, board);
      live?.rowOf(source)?.forEach((weight, partner) => {
        board.add(partner, weight);
      });
    },
  };
}
