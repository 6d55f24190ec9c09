/**
 * Numbers for new profiles, drawn per lane. A system id is a number of its lane x 64 + the index of the lane, so it names the lane, and
 * none is below 64. A process takes numbers in blocks: transactions that create profiles wait for each other only when a block runs
 * out. A transaction that is rolled back and a process that ends leave gaps.
 */
import type { Tx } from '../kernel/db/database.ts';
import { LANES, laneIndex } from '../kernel/lanes/lane-of.ts';
import { takeNumbers } from './store/profiles.ts';

export interface SystemIds {
  /** A new system id in each of the lanes, aligned. Must be called before the transaction locks other rows of the profiles. */
  take(tx: Tx, tenantId: string, lanes: readonly number[]): Promise<number[]>;
}

/** Restarts must not eat up the 2^25 numbers of a lane, and refills must be rare. */
const BLOCK = 16;

export function createSystemIds(): SystemIds {
  /** Numbers by tenant and lane, each ascending. */
  const spare = new Map<string, number[]>();
  const spareOf = (tenantId: string, lane: number) => spare.get(`${tenantId} ${lane}`) ?? [];
  return {
    async take(tx, tenantId, lanes) {
      const wanted = [...Map.groupBy(lanes, (lane) => lane)].map(([lane, { length }]) => ({ lane, length }));
      const taken = new Map(
        wanted.map(({ lane, length }) => [lane, spareOf(tenantId, lane).splice(0, length)]),
      );
      const missing = wanted
        .map(({ lane, length }) => ({ lane, count: length - taken.get(lane)!.length }))
        .filter(({ count }) => count > 0)
        .sort((a, b) => a.lane - b.lane);
      if (missing.length > 0) {
        const blocks = missing.map(({ lane, count }) => ({ lane, count: count + BLOCK }));
        const firsts = await takeNumbers(tx.sql, tenantId, blocks);
        for (const { lane, count } of missing) {
          const first = firsts.get(lane)!;
          const fresh = Array.from({ length: count + BLOCK }, (_, index) => first + index);
          taken.get(lane)!.push(...fresh.splice(0, count));
          // The rest of the block belongs to this process only once the transaction is committed.
          tx.afterCommit(() => spare.set(`${tenantId} ${lane}`, [...spareOf(tenantId, lane), ...fresh]));
        }
      }
      return lanes.map((lane) => taken.get(lane)!.shift()! * LANES + laneIndex(lane));
    },
  };
}
