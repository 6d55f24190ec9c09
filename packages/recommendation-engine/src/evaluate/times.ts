/** Times as benchmark files write them. Pure. */

/** How many of each make a millisecond, and the number from which on a time is in the next unit (after the year 5000). */
const EPOCH_UNITS = [
  { perMs: 0.001, below: 1e11 },
  { perMs: 1, below: 1e14 },
  { perMs: 1000, below: 1e17 },
  { perMs: 1e6, below: 1e20 },
];
const DECIMAL = /^-?\d+(\.\d+)?(e\+?\d+)?$/i;
const ISO_8601 = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d(?::?\d\d)?)?)?$/i;

/**
 * Epoch seconds, milliseconds, microseconds or nanoseconds, or ISO 8601 (UTC without a zone), in milliseconds. NaN for
 * anything else: `Date` takes `SKU-7` for a month.
 *
 * @example timeOf('2014-04-07 10:51:09') // 1396867869000
 */
export function timeOf(text: string): number {
  if (!DECIMAL.test(text)) return isoTimeOf(text);
  const number = Number(text);
  const unit = EPOCH_UNITS.find(({ below }) => Math.abs(number) < below);
  return unit === undefined ? Number.NaN : number / unit.perMs;
}

function isoTimeOf(text: string): number {
  const [, day, time = '00:00', zone = 'Z'] = ISO_8601.exec(text) ?? [];
  if (day === undefined || !isCalendarDay(day)) return Number.NaN;
  const offset = zone.replace(/^(.\d\d):?(\d\d)?$/, (_, hours, minutes = '00') => `${hours}:${minutes}`);
  return Date.parse(`${day}T${time}${offset.toUpperCase()}`);
}

/** `Date` takes the 30th of February for the 2nd of March. */
function isCalendarDay(day: string): boolean {
  const time = new Date(`${day}T00:00Z`);
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(day);
}
