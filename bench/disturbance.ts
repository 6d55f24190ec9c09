/**
 * A figure that was measured while the machine's host served other guests says nothing about the contenders, and a ratio of two such
 * moments less than nothing: what was disturbed is measured again.
 */
import { MOST_STOLEN, watchStolenTime } from '../packages/server/src/testing/stolen-time.ts';
import { progress } from './progress.ts';

const MOST_TRIES = 5;

export interface Undisturbed<T> {
  result: T;
  /** Share of the processors' time that others had all the same. */
  stolen: number;
}

/** Measures until nobody has disturbed it; of five that were disturbed the least counts. */
export async function undisturbed<T>(measure: () => Promise<T>): Promise<Undisturbed<T>> {
  let best: Undisturbed<T> | undefined;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const stolenSince = watchStolenTime();
    const result = await measure();
    const stolen = stolenSince();
    if (best === undefined || stolen < best.stolen) best = { result, stolen };
    if (best.stolen <= MOST_STOLEN) break;
    progress(`  ${Math.round(100 * stolen)} % of the processors' time went to others: measured again`);
  }
  return best!;
}
