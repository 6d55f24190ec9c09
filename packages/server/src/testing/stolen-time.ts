/** A virtual machine gets as much of its host as the other guests leave it, now all and now a tenth. */
import { readFileSync } from 'node:fs';

/** A share of the processors' time above which tests and benches count as disturbed. */
export const MOST_STOLEN = 0.05;

/**
 * Gives a function that tells the share of the processors' time that others had since.
 *
 * @example const stolen = watchStolenTime(); await measure(); stolen() // 0.12
 */
export function watchStolenTime(): () => number {
  const before = processorTimes();
  return () => {
    const after = processorTimes();
    return (after.stolen - before.stolen) / Math.max(1, after.all - before.all);
  };
}

/** proc_stat(5); steal is the eighth. Other systems do not tell. */
function processorTimes(): { all: number; stolen: number } {
  if (process.platform !== 'linux') return { all: 0, stolen: 0 };
  const [line] = readFileSync('/proc/stat', 'utf8').split('\n', 1);
  const times = line!.trim().split(/\s+/).slice(1, 9).map(Number);
  return { all: times.reduce((sum, time) => sum + time, 0), stolen: times[7] ?? 0 };
}
