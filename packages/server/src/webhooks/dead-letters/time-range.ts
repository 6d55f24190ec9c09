/** The range of time whose dead letters are sent again (D24). Pure. */
import type { Violation } from '../../kernel/errors.ts';
import { timeOf } from '../../kernel/time/iso-time.ts';
import { expiredBefore } from './dead-letter.ts';

/** Rules that the schema cannot say. */
export function rangeViolations(body: unknown): Violation[] {
  const { from, until } = (body ?? {}) as Record<string, unknown>;
  const violations: Violation[] = [];
  for (const [member, value] of Object.entries({ from, until })) {
    if (typeof value !== 'string' || !Number.isNaN(timeOf(value).getTime())) continue;
    violations.push({ member, message: 'must be an ISO 8601 timestamp, such as 2026-01-31T09:00:00Z' });
  }
  // A date that is none is neither before nor after.
  if (typeof from === 'string' && typeof until === 'string' && timeOf(from) > timeOf(until)) {
    violations.push({ member: 'from', message: 'must not be after until' });
  }
  return violations;
}

export interface TimeRange {
  /** Both inclusive. */
  from: Date;
  until: Date;
}

/**
 * The part of a range in which there can be letters: none that have expired, and none that come while the work goes on. Its
 * bounds are times of today, whatever was asked for: PostgreSQL reads neither the year 0 nor the year 10000.
 *
 * @example livingPart({ from: new Date(0), until: new Date('9999-12-31') }, Date.now()) // the last two weeks
 */
export function clampToRetention({ from, until }: TimeRange, now: number): TimeRange {
  const expired = expiredBefore(now);
  return {
    from: new Date(Math.min(Math.max(from.getTime(), expired + 1), now + 1)),
    until: new Date(Math.max(Math.min(until.getTime(), now), expired)),
  };
}
