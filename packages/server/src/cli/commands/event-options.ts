/** What options of commands about events may say. */
import { InvalidArgumentError } from 'commander';
import { storableTimeOf } from '../../kernel/time/iso-time.ts';

export function isoTime(given: string): Date {
  const time = storableTimeOf(given);
  if (Number.isNaN(time.getTime())) throw new InvalidArgumentError('It must be an ISO 8601 time.');
  return time;
}

/** The rule of the API for a filter. */
export function typePattern(given: string): string {
  if (!/^[^\u0000-\u001f\u007f]{1,512}$/u.test(given))
    throw new InvalidArgumentError('It must be a text of 1 to 512 characters.');
  return given;
}
