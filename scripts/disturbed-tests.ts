/**
 * Tests wait for conditions, but not for ever, and some of what they test has deadlines of its own. What fails while the machine's host
 * gives its time to other guests says little about the code: it is run again, one file at a time. On a machine that is left alone a
 * failure is a failure.
 */
import { MOST_STOLEN } from '../packages/server/src/testing/stolen-time.ts';

const MOST_REPEATS = 2;

/** @example process.exit((await passUndisturbed({ files, run, stolen: watchStolenTime(), say: console.log })) ? 0 : 1); */
export async function passUndisturbed(input: {
  files: string[];
  /** Runs files, all that may run at once or one at a time; answers those that failed. */
  run(files: string[], alone: boolean): Promise<string[]>;
  /** Share of the processors' time that others had so far. */
  stolen(): number;
  say(text: string): void;
}): Promise<boolean> {
  const { run, stolen, say } = input;
  let failed = await run(input.files, false);
  for (let repeat = 0; failed.length > 0 && repeat < MOST_REPEATS && stolen() > MOST_STOLEN; repeat++) {
    const share = Math.round(100 * stolen());
    say(
      `\n${share} % of the processors' time went to others. What failed is run again, alone:\n${failed.join('\n')}\n\n`,
    );
    failed = await run(failed, true);
  }
  return failed.length === 0;
}
