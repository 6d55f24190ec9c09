/** Times as people and machines write them: ISO 8601, a date alone or with a time of day. Pure. */

const ISO_8601 = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d(?::?\d\d)?)?)?$/i;

/**
 * The time of an ISO 8601 timestamp; an invalid Date where it is none. Without a zone it is UTC, as servers write it: what
 * a text means must not depend on the machine that reads it.
 *
 * @example timeOf('2026-01-15T09:30').toISOString() // '2026-01-15T09:30:00.000Z'
 */
export function timeOf(text: string): Date {
  const [, day, time = '00:00', zone = 'Z'] = ISO_8601.exec(text) ?? [];
  // `Date` takes the 30th of February for the 2nd of March.
  if (day === undefined || !isCalendarDay(day)) return new Date(Number.NaN);
  const offset = zone.replace(/^(.\d\d):?(\d\d)?$/, (_, hours, minutes = '00') => `${hours}:${minutes}`);
  return new Date(`${day}T${time}${offset.toUpperCase()}`);
}

/** What PostgreSQL reads as JavaScript writes it: it has no year 0, and no years of six digits. */
const FIRST = Date.parse('0001-01-01T00:00Z');
const LAST = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * The same for a time that is to be stored, or compared with stored ones: invalid, too, where no database could hold it.
 *
 * @example storableTimeOf('0000-01-01').getTime() // NaN
 */
export function storableTimeOf(text: string): Date {
  const time = timeOf(text);
  return time.getTime() >= FIRST && time.getTime() <= LAST ? time : new Date(Number.NaN);
}

function isCalendarDay(day: string): boolean {
  const time = new Date(`${day}T00:00Z`);
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(day);
}
