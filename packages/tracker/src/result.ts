/** What every method answers, and the errors that it may carry (D32). */
import type { Violation } from '@signalbox/signals/check';

/** Why a signal failed. `network`, `rateLimited` and `server` leave it queued: it is sent again later. */
export interface TrackerError {
  code: 'noKey' | 'validation' | 'tooLarge' | 'unauthorized' | 'rateLimited' | 'network' | 'server';
  message: string;
  details: Violation[];
}

/** Outcome of a method: an error, if it was no success. */
export type Result = { success: true; error?: undefined } | { success: false; error: TrackerError };

export const success: Result = { success: true };

export const failed = (error: TrackerError): Result => ({ success: false, error });

export const errorOf = (
  code: TrackerError['code'],
  message: string,
  details: Violation[] = [],
): TrackerError => ({ code, message, details });

export const noKey = /* @__PURE__ */ errorOf('noKey', 'no key set');
