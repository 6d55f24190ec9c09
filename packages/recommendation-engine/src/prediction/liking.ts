/** Past preferences: of what suits the moment, that which also suits the visitor's taste comes first. */
import type { Context } from '../models/context.ts';
import { BATCH, type TasteModel } from '../models/latent/latent.ts';
import type { TopK } from '../structures/top-k.ts';

/**
 * What is liked best counts so much more. (Baskets of known customers of online-retail: related finds 16 % more of what follows, auto 17 %.)
 */
const LIKING = 2;

/** Raises the scores of a sorted list by how much the visitor likes each item, and sorts it again. */
export function favour(ranked: TopK, taste: TasteModel, context: Context): void {
  if (ranked.size < 2 || !taste.prepare(context)) return;
  const { items, scores, size } = ranked;
  const liking = new Float32Array(size);
  for (let from = 0; from < size; from += BATCH) {
    const length = Math.min(BATCH, size - from);
    const some = taste.scoresOf(items, from, length);
    for (let i = 0; i < length; i++) liking[from + i] = some[i]!;
  }
  let most = 0;
  for (let i = 0; i < size; i++) most = Math.max(most, liking[i]!);
  if (most <= 0) return;
  for (let i = 0; i < size; i++) {
    const item = items[i]!;
    const score = scores[i]! * (1 + (LIKING * Math.max(0, liking[i]!)) / most);
    let place = i;
    for (; place > 0 && scores[place - 1]! < score; place--) {
      items[place] = items[place - 1]!;
      scores[place] = scores[place - 1]!;
    }
    items[place] = item;
    scores[place] = score;
  }
}
