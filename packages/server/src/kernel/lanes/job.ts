/** What the queue carries, and what a worker can say about a job that it ran. */

export interface NewJob {
  /** What is limited and held together, and never worked on in two places: a subscription, a recipient domain... */
  key: string;
  payload: unknown;
  /** Milliseconds since the epoch; now when absent. */
  dueAt?: number;
}

export interface Job {
  lane: number;
  /** '' on the main line, otherwise the job's key. */
  siding: string;
  dueAt: number;
  id: string;
  key: string;
  /** Where the database keeps it: the queue's own affair. */
  row: string;
  /** Its place among those that the worker has in hand, which its yard says: null once it is settled, or its lane was lost. */
  slot: number | null;
  /** How many times the job was retried so far. */
  attempt: number;
  payload: unknown;
}

/** Where a job stands on its line; the lines are ordered by it. */
export interface Position {
  dueAt: number;
  id: string;
}

/** Whether a job stands behind a place. */
export const isBehind = ({ dueAt, id }: Position, place: Position): boolean =>
  dueAt > place.dueAt || (dueAt === place.dueAt && id > place.id);

/** Where jobs came: the main line of a lane, by its number, or the siding of a key, by its name. */
export type JobLocation = number | string;

/** The place before all jobs that are due at a time or later. */
export const positionBefore = (dueAt: number): Position => ({
  dueAt,
  id: '00000000-0000-0000-0000-000000000000',
});

export type Outcome =
  /** Finished; the job is gone. */
  | { kind: 'done' }
  /** Failed; comes back at `dueAt` with one attempt more. */
  | { kind: 'retry'; dueAt: number; payload?: unknown }
  /** Did not get its turn; comes back at `dueAt` with the attempts that it had. */
  | { kind: 'hold'; dueAt: number; payload?: unknown }
  /** Given up. */
  | { kind: 'dead'; reason: string };

export interface Settled<Result = unknown> {
  job: Job;
  outcome: Outcome;
  /** Whatever else the handler wants its `settle` to write down with the outcome. */
  result?: Result;
  /** The handler failed without an outcome of its own. Such a job, once dead, is kept here whatever its queue says. */
  unexpected?: true;
}
