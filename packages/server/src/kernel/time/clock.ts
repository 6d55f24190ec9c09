/**
 * The one source of time. Everything that compares or stores a time takes a `Clock`, so that a test can move it.
 * Leases are the exception: they use the database's clock, which all processes share.
 */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/**
 * A clock that stands still until it is told to move.
 *
 * @example
 * const clock = createManualClock(Date.UTC(2026, 0, 1));
 * clock.advance(60_000);
 */
export function createManualClock(start = Date.UTC(2026, 0, 1)): Clock & { advance(ms: number): void } {
  let now = start;
  return {
    now: () => now,
    advance: (ms) => {
      now += ms;
    },
  };
}

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** The day of a time in UTC, as PostgreSQL and ISO 8601 write it. */
export const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);
