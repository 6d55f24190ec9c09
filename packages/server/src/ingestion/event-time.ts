/** Times as signals have them on the wire (D31). Pure. */
import { timeOf } from '../kernel/time/iso-time.ts';

/**
 * Epoch milliseconds of a time as the wire has it, or undefined.
 *
 * @example readTime('2026-01-01T00:00:00Z') // 1767225600000
 */
export function readTime(given: unknown): number | undefined {
  const time = typeof given === 'string' ? timeOf(given).getTime() : given;
  return typeof time === 'number' && Number.isFinite(time) && Math.abs(time) <= 8.64e15 ? time : undefined;
}
