/** Variety: each further item of a category already shown loses a part of its score. */
import type { TopK } from '../structures/top-k.ts';

/**
 * Reorders a sorted list in place and cuts it to `size`. Greedy: the best by what is left of the score comes next, so the
 * scores still never increase along the list.
 *
 * @example diversify({ ranked, size: 10, diversity: 0.3, categoryOf })
 */
export function diversify(input: {
  ranked: TopK;
  size: number;
  diversity: number;
  categoryOf: (item: number) => number;
}): void {
  const { ranked, size, categoryOf } = input;
  const keep = 1 - Math.min(1, Math.max(0, input.diversity));
  const shown = new Map<number, number>();
  const value = (i: number): number => {
    const category = categoryOf(ranked.items[i]!);
    return category < 0 ? ranked.scores[i]! : ranked.scores[i]! * keep ** (shown.get(category) ?? 0);
  };
  const length = Math.min(size, ranked.size);
  for (let place = 0; place < length; place++) {
    let best = place;
    let bestValue = value(place);
    for (let i = place + 1; i < ranked.size; i++) {
      const candidate = value(i);
      if (candidate > bestValue) {
        best = i;
        bestValue = candidate;
      }
    }
    const item = ranked.items[best]!;
    // shift, do not swap: equal scores keep their order
    for (let i = best; i > place; i--) {
      ranked.items[i] = ranked.items[i - 1]!;
      ranked.scores[i] = ranked.scores[i - 1]!;
    }
    ranked.items[place] = item;
    ranked.scores[place] = bestValue;
    const category = categoryOf(item);
    if (category >= 0) shown.set(category, (shown.get(category) ?? 0) + 1);
  }
  ranked.size = length;
}
