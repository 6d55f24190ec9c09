import { setTimeout as delay } from 'node:timers/promises';

/**
 * How soon an end is noticed, and the longest pause between two tries to start again: whoever has made room on a full disk waits no
 * longer than that.
 */
const lookEveryMs = 1000;
const longestPauseMs = 5000;

/** How bad a report is: a failed start is an error, an end that is being mended is not. */
export type ReportLevel = 'info' | 'warn' | 'error';

/**
 * Looks after a running PostgreSQL: one that ends though nobody stopped it (the system was out of memory, somebody killed it) is started
 * again, as often as it takes.
 */
export function watchOver({
  lives,
  revive,
  report,
}: {
  lives: () => Promise<boolean>;
  /** Starts it again, at the address that it had. */
  revive: () => Promise<void>;
  report: (sentence: string, level: ReportLevel) => void;
}): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const pause = (ms: number) => delay(ms, undefined, { ref: false, signal }).catch(() => {});

  async function startAgain(): Promise<void> {
    report('PostgreSQL has ended without being told to. Starting it again…', 'warn');
    for (let pauseMs = lookEveryMs; !signal.aborted; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      try {
        await revive();
        return report('PostgreSQL runs again.', 'info');
      } catch (error) {
        report(`${(error as Error).message} The next try follows.`, 'error');
      }
      await pause(pauseMs);
    }
  }

  async function watch(): Promise<void> {
    while (!signal.aborted) {
      await pause(lookEveryMs);
      if (!signal.aborted && !(await lives())) await startAgain();
    }
  }

  const watching = watch();
  return {
    async stop() {
      stopping.abort();
      await watching;
    },
  };
}
