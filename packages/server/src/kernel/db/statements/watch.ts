/** Shows tests each statement as it is sent. */

export interface SentStatement {
  /** With `$1` in the place of parameters. */
  text: string;
  /** Where its template stands. */
  stack: string;
}

type Watch = (statement: SentStatement) => void;

const watchers = new Set<Watch>();

/** Watches the pools that are opened from now on, until the function that it gives is called. */
export function watchStatements(watch: Watch): () => void {
  watchers.add(watch);
  return () => watchers.delete(watch);
}

/**
 * An option for the driver (`driver.ts`). A pool that is opened while nobody watches has none, so production pays nothing.
 * It tells of templates alone: all else that is sent as ready text is DDL, SET and LISTEN.
 */
export function statementOption(): { onstatement?: (text: string, stack: string) => void } {
  if (watchers.size === 0) return {};
  return {
    onstatement(text, stack) {
      for (const watch of watchers) watch({ text, stack });
    },
  };
}
