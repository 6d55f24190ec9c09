/** Options that can change at run time, and the settings that a server builds into an account's script. */

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** Options that can change at run time, see `setOptions`. */
export interface Options {
  /** No validation and no reaction to errors: every result is `{ success: true }`. */
  disableValidations: boolean;
  /** Validate in the page and answer with the error. */
  clientValidationEnabled: boolean;
  /** Wait for the server's verdict and answer with it. */
  serverValidationEnabled: boolean;
  /** Log to the console at all. */
  enableLogsToConsole: boolean;
  /** Send a sign-in whenever an email is given, even the one that is signed in. */
  performSignInAlways: boolean;
  /** Least level that is logged. */
  logLevel: LogLevel;
}

/** What a tracker starts with. */
export interface Settings {
  /** Origin (and path, if any) that `/signals/v1` stands below. */
  host?: string | undefined;
  options?: Partial<Options> | undefined;
}
