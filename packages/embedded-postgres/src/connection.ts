/** How the package asks PostgreSQL something. It brings no driver: the program hands over the one that it has. */

/** A connection of its own, for a few statements. */
export interface Connection {
  /** Runs statements without parameters, several of them as one transaction. Returns the rows of the last one. */
  query(text: string): Promise<readonly Record<string, unknown>[]>;
  end(): Promise<void>;
}

/** Opens a connection at the first query; it gives up after five seconds. */
export type Connect = (url: string) => Connection;
