/** The range of time whose dead letters are sent again (D24). Pure. */
import type { Violation } from '../kernel/errors.ts';
import { timeOf } from '../kernel/iso-time.ts';

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
