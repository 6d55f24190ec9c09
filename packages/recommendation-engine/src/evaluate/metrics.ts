/** Sums up predictions: accuracy by rank, coverage, and how long one took. */

export interface Scores {
  predictions: number;
  hitRate: number;
  mrr: number;
  ndcg: number;
  /** Share of all items that were recommended at least once. */
  coverage: number;
  /** Microseconds of one prediction. */
  p50: number;
  p90: number;
  p99: number;
}

export interface Tally {
  /** `rank` from 0, -1 = not in the list. */
  add(rank: number, microseconds: number, items: readonly { item: number }[]): void;
  scores(): Scores;
}

/** @example percentile(Float64Array.of(1, 2, 3, 4), 0.5) // 2 */
export const percentile = (sorted: Float64Array, share: number): number =>
  sorted.length === 0 ? 0 : sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]!;

export function createTally(itemCount: number, capacity: number): Tally {
  const times = new Float64Array(capacity);
  const shown = new Uint8Array(itemCount);
  let covered = 0;
  let predictions = 0;
  let hits = 0;
  let reciprocal = 0;
  let gain = 0;
  return {
    add(rank, microseconds, items) {
      times[predictions++] = microseconds;
      if (rank >= 0) {
        hits++;
        reciprocal += 1 / (rank + 1);
        gain += 1 / Math.log2(rank + 2);
      }
      for (const { item } of items) {
        if (shown[item] === 0) covered++;
        shown[item] = 1;
      }
    },
    scores() {
      const sorted = times.slice(0, predictions).sort();
      const n = Math.max(1, predictions);
      return {
        predictions,
        hitRate: hits / n,
        mrr: reciprocal / n,
        ndcg: gain / n,
        coverage: covered / Math.max(1, itemCount),
        p50: percentile(sorted, 0.5),
        p90: percentile(sorted, 0.9),
        p99: percentile(sorted, 0.99),
      };
    },
  };
}
