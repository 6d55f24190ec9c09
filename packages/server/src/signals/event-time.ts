/** When a signal happened, whatever the client's clock says (D31). Pure. */
import { HOUR } from '../kernel/clock.ts';
import { timeOf } from '../kernel/iso-time.ts';

/** What lies longer back is taken as having happened then: a moment's longest time-out is a day. */
const LONGEST_DELAY = 72 * HOUR;

/**
 * Epoch milliseconds of a time as the wire has it, or undefined.
 *
 * @example readTime('2026-01-01T00:00:00Z') // 1767225600000
 */
export function readTime(given: unknown): number | undefined {
  const time = typeof given === 'string' ? timeOf(given).getTime() : given;
  return typeof time === 'number' && Number.isFinite(time) && Math.abs(time) <= 8.64e15 ? time : undefined;
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
