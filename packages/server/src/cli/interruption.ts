/** Ctrl-C and its like, as commands hear them. */
import { constants } from 'node:os';

/** The last one is a terminal that was closed. */
export const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
type Signal = (typeof SIGNALS)[number];

/** The exit code of a command that a signal cut off. */
export const exitCodeOf = (signal: Signal) => 128 + constants.signals[signal];

/**
 * One Ctrl-C comes twice: from the terminal, which tells every process, and from npm or from the older Node that handed over
 * (bin/signalbox.js), which pass it on. What follows within this time is the same one.
 */
export const SAME_SIGNAL_MS = 1000;

/**
 * Lets a process that was told to end do so with its signals still heard: Node's own way takes the listeners down first, and the
 * same Ctrl-C, passed on at that moment, would cut off what has come to its end already.
 */
export function endHearing(): void {
  process.once('beforeExit', () => process.exit());
}

/**
 * For a command that comes to an end in its own way: tells it once that it should. A Ctrl-C after that one cuts the command
 * off as it does any other (context.ts), and so does the first one after the function that it gets back was called.
 *
 * @example const stopped = new Promise<void>((resolve) => onInterruption(() => resolve()));
 */
export function onInterruption(end: (signal: Signal) => void): () => void {
  let heard = false;
  const hear = (by: Signal) => {
    if (heard) return;
    heard = true;
    endHearing();
    setTimeout(forget, SAME_SIGNAL_MS).unref();
    end(by);
  };
  const forget = () => {
    for (const signal of SIGNALS) process.off(signal, hear);
  };
  for (const signal of SIGNALS) process.on(signal, hear);
  return forget;
}
