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
  const items = ranked.items.slice(0, ranked.size);
  const scores = ranked.scores.slice(0, ranked.size);
  // Within a category the order stays, so only the first one left of each can be next. Items of none are in nobody's way.
  const places = Map.groupBy(items.keys(), (place) => Math.max(-1, categoryOf(items[place]!)));
  const lines = [...places].map(([category, own]) => ({ own, next: 0, fades: category >= 0 }));
  const value = ({ own, next, fades }: (typeof lines)[number]): number =>
    scores[own[next]!]! * (fades ? keep ** next : 1);
  const length = Math.min(size, ranked.size);
  for (let place = 0; place < length; place++) {
    let best: (typeof lines)[number] | undefined;
    let bestValue = Number.NEGATIVE_INFINITY;
    for (const line of lines) {
      const { own, next } = line;
      if (next === own.length) continue;
      const candidate = value(line);
      // equal scores keep their order
      const isEarlier = candidate === bestValue && own[next]! < best!.own[best!.next]!;
      if (candidate > bestValue || isEarlier) [best, bestValue] = [line, candidate];
    }
    ranked.items[place] = items[best!.own[best!.next++]!]!;
    ranked.scores[place] = bestValue;
  }
  ranked.size = length;
}
