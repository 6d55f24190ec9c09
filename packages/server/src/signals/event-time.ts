/** When a signal happened, whatever the client's clock says (D31). Pure. */
import { HOUR } from '../kernel/clock.ts';

/** What lies longer back is taken as having happened then: a moment's longest time-out is a day. */
const LONGEST_DELAY = 72 * HOUR;
/** ISO 8601, as people write it; `Date.parse` alone takes a lot more. */
const ISO = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?<zone>Z|[+-]\d\d:?\d\d)?)?$/;

/**
 * Epoch milliseconds of a time as the wire has it, or undefined. Without a zone it is UTC, as servers write it; `Date.parse` would take
 * the zone of this machine.
 *
 * @example readTime('2026-01-01T00:00:00Z') // 1767225600000
 */
export function readTime(given: unknown): number | undefined {
  const time = typeof given === 'string' ? parseIso(given) : given;
  return typeof time === 'number' && Number.isFinite(time) && Math.abs(time) <= 8.64e15 ? time : undefined;
}

function parseIso(text: string): number | undefined {
  const match = ISO.exec(text);
  if (match === null) return undefined;
  return Date.parse(text.includes('T') && match.groups!.zone === undefined ? `${text}Z` : text);
}

/**
 * The time of a signal by our clock: as long before its arrival as, by the client's clock, it was before its sending.
 *
 * @example correctTime({ time: 900, sentAt: 1000, receivedAt: 5000 }) // 4900
 */
export function correctTime(input: { time: number; sentAt: number | undefined; receivedAt: number }): number {
  const { time, sentAt, receivedAt } = input;
  const corrected = sentAt === undefined ? time : receivedAt - (sentAt - time);
  return Math.round(Math.min(Math.max(corrected, receivedAt - LONGEST_DELAY), receivedAt));
}
