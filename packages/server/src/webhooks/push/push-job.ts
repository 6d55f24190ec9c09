/** A delivery: one event on its way to one subscription, as the queue carries it. The job's key is the subscription. */

export const PUSH_QUEUE = 'push';

export interface PushJob {
  tenantId: string;
  eventId: string;
  /** Milliseconds since the epoch; finds the event, and its life counts from here. */
  publishedAt: number;
  /** Absent before the first attempt. */
  last?: LastAttempt;
}

/** How often a push was tried, and how the last time ended. */
export interface LastAttempt {
  attempts: number;
  at: number;
  code: number | null;
  /** The beginning of the answer, or why there was none. */
  body: string | null;
}
