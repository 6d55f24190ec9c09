/**
 * Measures what work leaves among V8's old objects, where it waits for a full collection although it is garbage. Young objects
 * end there when something old and dead points to them: a function that was assigned to a property where it is written (V8
 * allocates those with the old ones), or an earlier table of a `Map` or `Set`, which points to the next one. Whatever is
 * done thousands of times a second must leave nothing: it would be copied twice and stop everything for ten times as long.
 */
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const TIMES = 400;

/** @example const bytes = await leftBehind(() => db.sql`select 1`); // each time */
export async function leftBehind(work: (time: number) => unknown): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect: (options?: { type: 'minor' }) => void = runInNewContext('gc');
  const repeat = async () => {
    for (let time = 0; time < TIMES; time++) await work(time);
  };
  await repeat();
  collect();
  const before = oldBytes();
  await repeat();
  collect({ type: 'minor' });
  collect({ type: 'minor' });
  return (oldBytes() - before) / TIMES;
}

function oldBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')!.space_used_size;
}
