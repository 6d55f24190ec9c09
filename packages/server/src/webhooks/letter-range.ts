/** The range of time whose dead letters are sent again (D24). Pure. */
import type { Violation } from '../kernel/errors.ts';

const ISO_8601 = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:?\d\d)?)?$/i;

/** The time of an ISO 8601 timestamp, in UTC where it names no zone; an invalid Date where it is none. */
export function timeOf(text: string): Date {
  const [, day, time = '00:00', zone = 'Z'] = ISO_8601.exec(text) ?? [];
  // `Date` takes the 30th of February for the 2nd of March.
  if (day === undefined || !isCalendarDay(day)) return new Date(Number.NaN);
  return new Date(`${day}T${time}${zone.replace(/^(.\d\d)(\d\d)$/, '$1:$2').toUpperCase()}`);
}

function isCalendarDay(day: string): boolean {
  const time = new Date(`${day}T00:00Z`);
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(day);
}

/** Rules that the schema cannot say. */
export function rangeViolations(body: unknown): Violation[] {
  const { from, until } = (body ?? {}) as Record<string, unknown>;
  const violations: Violation[] = [];
  for (const [member, value] of Object.entries({ from, until })) {
    if (typeof value !== 'string' || !Number.isNaN(timeOf(value).getTime())) continue;
    violations.push({ member, message: 'must be an ISO 8601 timestamp' });
  }
  // A date that is none is neither before nor after.
  if (typeof from === 'string' && typeof until === 'string' && timeOf(from) > timeOf(until)) {
    violations.push({ member: 'from', message: 'must not be after until' });
  }
  return violations;
}
