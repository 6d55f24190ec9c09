/** How often visitors go on with the item that they are at (listening again, buying the same), item by item. */
import type { SessionLog } from '../log/sessions.ts';
import { sharedFloat32 } from '../structures/shared-array.ts';

/** So many steps go the usual way before those from an item count: few say little. */
const USUAL_STEPS = 5;

/**
 * Per item, how far the odds of a step from it to itself lie above the usual ones, as a logarithm: 0 for the usual item, and
 * everywhere where nobody ever stays, or nobody leaves.
 *
 * @example buildRepeats(sessions, 3) // [1.2, -0.7, 0]
 */
export function buildRepeats({ count, offsets, item }: SessionLog, itemCount: number): Float32Array {
  const steps = new Uint32Array(itemCount);
  const repeats = new Uint32Array(itemCount);
  let allSteps = 0;
  let allRepeats = 0;
  for (let s = 0; s < count; s++) {
    for (let e = offsets[s]! + 1; e < offsets[s + 1]!; e++) {
      const before = item[e - 1]!;
      steps[before]!++;
      allSteps++;
      if (item[e] !== before) continue;
      repeats[before]!++;
      allRepeats++;
    }
  }
  const above = sharedFloat32(itemCount);
  if (allRepeats === 0 || allRepeats === allSteps) return above;
  const usual = allRepeats / allSteps;
  const odds = (share: number): number => Math.log(share / (1 - share));
  for (let i = 0; i < itemCount; i++)
    above[i] = odds((repeats[i]! + USUAL_STEPS * usual) / (steps[i]! + USUAL_STEPS)) - odds(usual);
  return above;
}
