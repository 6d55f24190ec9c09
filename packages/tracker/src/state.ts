/** What the configuration methods set and everything else reads. */
import type { Payload } from '@signalbox/signals/check';
import type { LogLevel, Options } from './calls/options.ts';
import { attempt } from './storage.ts';

/** In their order, which is all that counts. */
export const logLevels: readonly string[] = 'debug info warn error silent'.split(' ');

/** Why an event was given up. */
export type DropReason = 'overflow' | 'expired' | 'rejected';

export interface State {
  _key?: string | undefined;
  _url: string;
  _hostname: string;
  _marketingName?: string | undefined;
  _trackingName?: string | undefined;
  _context: Payload;
  _options: Options;
  /** How many events were given up, by reason. */
  _dropped: Partial<Record<DropReason, number>>;
}

export const createState = (key?: string): State => ({
  _key: key,
  _url: '/signals/v1',
  _hostname: location.hostname,
  _context: {},
  _dropped: {},
  _options: {
    disableValidations: false,
    clientValidationEnabled: true,
    serverValidationEnabled: true,
    enableLogsToConsole: true,
    performSignInAlways: false,
    logLevel: 'warn',
  },
});

export const countDrop = ({ _dropped: dropped }: State, reason: DropReason): void => {
  // One more, and 1 where there was none.
  dropped[reason] = -~dropped[reason]!;
};

export type Log = (level: Exclude<LogLevel, 'silent'>, ...message: unknown[]) => void;

export const createLog =
  ({ _options: options }: State): Log =>
  (level, ...message) => {
    if (options.enableLogsToConsole && logLevels.indexOf(level) >= logLevels.indexOf(options.logLevel)) {
      // Pages take it away, or have it throw.
      attempt(() => console[level]('Tracker:', ...message));
    }
  };
