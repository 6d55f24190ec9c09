/** What ingestion declares: the addresses that take signals, and what holds a sender back. */
import { wholeNumber } from '../kernel/config/setting-values.ts';
import type { ErrorCode } from '../kernel/errors.ts';
import { type ErrorShape, objectSchema } from '../kernel/http/error-shapes.ts';
import type { ConfiguredManifest } from '../kernel/module.ts';

export interface IngestionConfig {
  signalTimeoutMs: number;
  rateLimitPerSdkKey: number;
}

const SIGNAL_CODES: Partial<Record<ErrorCode, string>> = {
  tooLarge: 'tooLarge',
  unauthorized: 'unauthorized',
  forbidden: 'unauthorized',
  tooManyRequests: 'rateLimited',
  internal: 'server',
  unavailable: 'server',
  timeout: 'server',
};

/** What the SDK reads (D32). */
const signalShape: ErrorShape = {
  name: 'SignalError',
  schema: objectSchema({
    error: objectSchema({
      code: {
        type: 'string',
        description: '`validation`, `tooLarge`, `unauthorized`, `rateLimited` or `server`',
      },
      message: { type: 'string' },
      details: { type: 'array', items: { type: 'object' } },
    }),
  }),
  write: ({ code, message, violations }) => ({
    error: {
      code: SIGNAL_CODES[code] ?? 'validation',
      message,
      details: violations.map(({ member, message: text }) => ({
        path: member,
        rule: 'schema',
        message: text,
      })),
    },
  }),
};

export const manifest: ConfiguredManifest<IngestionConfig> = {
  name: 'ingestion',
  settings: {
    signalTimeoutMs: {
      env: 'SIGNALBOX_SIGNAL_TIMEOUT',
      about: 'Milliseconds after which signals are answered 503; the SDK sends them again',
      // D33: a page that is blocked by a `*Sync` call waits no longer than this.
      default: () => 5000,
      parse: wholeNumber(100, 600_000),
    },
    rateLimitPerSdkKey: {
      env: 'SIGNALBOX_RATE_LIMIT_SDK_KEY',
      about: 'Signals per second with one SDK key, which all visitors of a site share, in each process',
      default: () => 10_000,
      parse: wholeNumber(1, 1_000_000),
    },
  },
  errorFamilies: [
    {
      name: 'signals',
      prefixes: ['/signals'],
      shape: signalShape,
      title: 'Signals',
      ownDocument: true,
      forPages: true,
    },
  ],
};
