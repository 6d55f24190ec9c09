/** When something happened at a client, whatever its clock says (D31). Pure. */
import { HOUR } from './clock.ts';

/** What lies longer back is taken as having happened then: a moment's longest time-out is a day. */
const MAX_DELAY_LENGTH = 72 * HOUR;

/**
 * The time by our clock: as long before its arrival as, by the client's clock, it was before its sending.
 *
 * @example correctTime({ time: 900, sentAt: 1000, receivedAt: 5000 }) // 4900
 */
export function correctTime(input: { time: number; sentAt: number | undefined; receivedAt: number }): number {
  const { time, sentAt, receivedAt } = input;
  const corrected = sentAt === undefined ? time : receivedAt - (sentAt - time);
  return Math.round(Math.min(Math.max(corrected, receivedAt - MAX_DELAY_LENGTH), receivedAt));
}
