/** What an account can set for its browser SDK: built into its script (D31). Pure. */
import type { Violation } from '../kernel/errors.ts';

const FLAGS = [
  'disableValidations',
  'clientValidationEnabled',
  'serverValidationEnabled',
  'enableLogsToConsole',
  'performSignInAlways',
] as const;
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;

export type SdkOptions = { [Flag in (typeof FLAGS)[number]]?: boolean } & {
  logLevel?: (typeof LOG_LEVELS)[number];
};

export interface SdkSettings {
  /** Where signals are sent to; null for the origin of this deployment. */
  host: string | null;
  options: SdkOptions;
}

export const DEFAULT_SETTINGS: SdkSettings = { host: null, options: {} };

/** D33: pages send to https, and to their own machine. */
const HOST = /^(?:https:\/\/|http:\/\/(?:localhost|127\.0\.0\.1)(?=[:/]|$))[^\s?#]*$/;

/** What is wrong with a host, beyond its type. */
export function settingsViolations({ host }: { host?: unknown }): Violation[] {
  if (typeof host !== 'string' || (HOST.test(host) && isFetched(host))) return [];
  return [{ member: 'host', message: 'must be an address that starts with https://, or http://localhost' }];
}

/** Browsers refuse to fetch an address with a user or a password: no signal would ever leave a page. */
function isFetched(address: string): boolean {
  const url = URL.parse(address);
  return url !== null && url.username === '' && url.password === '';
}
