/**
 * Configuration: one table of settings, read from flags first, then the environment, then the defaults. Whatever is
 * unknown or wrong stops the start with a sentence that names the setting; all problems are reported at once.
 */
import { resolve } from 'node:path';
import {
  address,
  listOf,
  networks,
  oneOf,
  proxies,
  strongSecret,
  text,
  wholeNumber,
  yesNo,
} from './setting-values.ts';

export type Mode = 'development' | 'production';
export const REGIONS = ['eu', 'us', 'apac'] as const;
export type Region = (typeof REGIONS)[number];
export const ROLES = ['api', 'worker', 'scheduler'] as const;
export type Role = (typeof ROLES)[number];
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;

export interface Config {
  mode: Mode;
  host: string;
  port: number;
  probePort: number | undefined;
  publicUrl: string;
  home: string;
  databaseUrl: string | undefined;
  databaseConnections: number;
  region: Region;
  secret: string | undefined;
  roles: readonly Role[];
  workers: number;
  logLevel: (typeof LOG_LEVELS)[number];
  logFormat: 'pretty' | 'json';
  trustProxy: boolean | number | string[];
  egressAllow: string[];
  requestTimeoutMs: number;
  signalTimeoutMs: number;
  recommendationTimeoutMs: number;
  shutdownTimeoutMs: number;
  rateLimit: boolean;
  rateLimitLoopback: boolean;
  rateLimitPerAddress: number;
  rateLimitPerCredential: number;
  rateLimitPerSdkKey: number;
  signalDays: number;
}

interface Setting<T> {
  env: string;
  flag?: string;
  about: string;
  /** Shown in the documentation instead of a default that depends on the mode. */
  defaultText?: string;
  default: (mode: Mode, terminal: boolean) => T;
  parse: (text: string) => T;
  secret?: boolean;
}

/** What is wrong with the configuration, one sentence per problem. */
export class ConfigError extends Error {
  readonly problems: string[];
  constructor(problems: string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

const inProduction =
  <T>(production: T, development: T) =>
  (mode: Mode) =>
    mode === 'production' ? production : development;

type Settings = { [K in Exclude<keyof Config, 'mode'>]: Setting<Config[K]> };

/** Every setting there is. The page docs/settings.md is generated from this table. */
export const SETTINGS: Settings = {
  host: {
    env: 'HOST',
    flag: 'host',
    about: 'Address to listen on',
    defaultText: '`localhost`; in production `0.0.0.0`',
    default: inProduction('0.0.0.0', 'localhost'),
    parse: text,
  },
  port: {
    env: 'PORT',
    flag: 'port',
    about: 'Port to listen on; 0 picks a free one',
    default: () => 8400,
    parse: wholeNumber(0, 65_535),
  },
  probePort: {
    env: 'SIGNALBOX_PROBE_PORT',
    flag: 'probe-port',
    about:
      'A port for `/healthz`, `/readyz` and `/metrics` alone: of a process without `api`, or not to be reached by everybody',
    defaultText: 'none',
    default: () => undefined,
    parse: wholeNumber(1, 65_535),
  },
  publicUrl: {
    env: 'PUBLIC_URL',
    flag: 'public-url',
    about: 'Origin under which the outside reaches this deployment',
    defaultText: '`http://localhost:<PORT>`',
    default: () => '',
    parse: (value) => {
      const parsed = address(['http:', 'https:'], 'https://signalbox.example.com')(value);
      if (new URL(parsed).origin !== parsed) throw new Error('must be an origin, without a path');
      return parsed;
    },
  },
  home: {
    env: 'SIGNALBOX_HOME',
    flag: 'home',
    about: 'Folder of the embedded database, the generated secret and demo.json',
    defaultText: '`./.signalbox`',
    default: () => resolve('.signalbox'),
    // Nothing would be the folder that one stands in.
    parse: (value) => resolve(text(value)),
  },
  databaseUrl: {
    env: 'DATABASE_URL',
    about: 'A PostgreSQL (15 or newer) of your own, instead of the embedded one',
    defaultText: 'the embedded PostgreSQL',
    default: () => undefined,
    parse: address(['postgres:', 'postgresql:'], 'postgres://user:password@host:5432/database'),
    secret: true,
  },
  databaseConnections: {
    env: 'SIGNALBOX_DATABASE_CONNECTIONS',
    about: 'Database connections of one process',
    default: () => 16,
    parse: wholeNumber(4, 500),
  },
  region: {
    env: 'SIGNALBOX_REGION',
    about: 'Region that this deployment serves: `eu`, `us` or `apac`',
    default: () => 'eu',
    parse: oneOf(REGIONS),
  },
  secret: {
    env: 'SIGNALBOX_SECRET',
    about:
      'Seals private keys and signing secrets at rest; 32 characters at least, the same on every machine of a deployment',
    defaultText: 'generated into the home in development; required in production',
    default: () => undefined,
    parse: strongSecret,
    secret: true,
  },
  roles: {
    env: 'SIGNALBOX_ROLES',
    flag: 'roles',
    about: 'What this process does: `api`, `worker`, `scheduler`',
    default: () => ROLES,
    parse: listOf(ROLES),
  },
  workers: {
    env: 'SIGNALBOX_WORKERS',
    flag: 'workers',
    about: 'Processes to run on this machine',
    default: () => 1,
    parse: wholeNumber(1, 256),
  },
  logLevel: {
    env: 'LOG_LEVEL',
    flag: 'log-level',
    about: `One of ${LOG_LEVELS.map((level) => `\`${level}\``).join(', ')}`,
    default: () => 'info',
    parse: oneOf(LOG_LEVELS),
  },
  logFormat: {
    env: 'LOG_FORMAT',
    about: '`pretty` for people, `json` for machines',
    defaultText: '`pretty` in development on a terminal, otherwise `json`',
    default: (mode, terminal) => (mode === 'development' && terminal ? 'pretty' : 'json'),
    parse: oneOf(['pretty', 'json']),
  },
  trustProxy: {
    env: 'TRUST_PROXY',
    about: 'Whose `X-Forwarded-*` to believe: `true`, a number of hops, or addresses separated by commas',
    default: () => false,
    parse: proxies,
  },
  egressAllow: {
    env: 'SIGNALBOX_EGRESS_ALLOW',
    about: 'Networks (CIDR, separated by commas) that webhooks and feeds may reach although they are private',
    defaultText: 'none; development also allows loopback',
    default: () => [],
    parse: (value) => networks(value),
  },
  requestTimeoutMs: {
    env: 'SIGNALBOX_REQUEST_TIMEOUT',
    about: 'Milliseconds after which a request is answered 408',
    default: () => 30_000,
    parse: wholeNumber(100, 600_000),
  },
  signalTimeoutMs: {
    env: 'SIGNALBOX_SIGNAL_TIMEOUT',
    about: 'Milliseconds after which signals are answered 503; the SDK sends them again',
    // D33: a page that is blocked by a `*Sync` call waits no longer than this.
    default: () => 5000,
    parse: wholeNumber(100, 600_000),
  },
  recommendationTimeoutMs: {
    env: 'SIGNALBOX_RECOMMENDATION_TIMEOUT',
    about: 'Milliseconds after which a page that waits for its recommendations is answered 408',
    default: () => 2000, // D17
    parse: wholeNumber(100, 600_000),
  },
  shutdownTimeoutMs: {
    env: 'SIGNALBOX_SHUTDOWN_TIMEOUT',
    about: 'Milliseconds that a stopping process gives to what is in flight',
    default: () => 35_000,
    parse: wholeNumber(0, 600_000),
  },
  rateLimit: {
    env: 'SIGNALBOX_RATE_LIMIT',
    about: 'Whether request rates are limited at all',
    default: () => true,
    parse: yesNo,
  },
  rateLimitLoopback: {
    env: 'SIGNALBOX_RATE_LIMIT_LOOPBACK',
    about: 'Whether requests from this very machine are limited too',
    default: () => false,
    parse: yesNo,
  },
  rateLimitPerAddress: {
    env: 'SIGNALBOX_RATE_LIMIT_ADDRESS',
    about:
      'Requests per second from one address (of IPv6: one /64 network) on public routes, in each process',
    default: () => 2000,
    parse: wholeNumber(1, 1_000_000),
  },
  rateLimitPerCredential: {
    env: 'SIGNALBOX_RATE_LIMIT_CREDENTIAL',
    about: 'Requests per second with one credential, in each process',
    default: () => 500,
    parse: wholeNumber(1, 1_000_000),
  },
  rateLimitPerSdkKey: {
    env: 'SIGNALBOX_RATE_LIMIT_SDK_KEY',
    about: 'Signals per second with one SDK key, which all visitors of a site share, in each process',
    default: () => 10_000,
    parse: wholeNumber(1, 1_000_000),
  },
  signalDays: {
    env: 'SIGNALBOX_SIGNAL_DAYS',
    about: 'Days that signals are kept',
    default: () => 400,
    parse: wholeNumber(1, 36_500),
  },
};

const entries = Object.entries(SETTINGS) as [Exclude<keyof Config, 'mode'>, Setting<unknown>][];

/**
 * The configuration in force.
 *
 * @example loadConfig({ mode: 'development', env: process.env, flags: { port: '8500' } }).port // 8500
 * @throws ConfigError naming every unknown or wrong setting
 */
export function loadConfig(input: {
  mode: Mode;
  env: Record<string, string | undefined>;
  flags?: Record<string, string | undefined>;
  terminal?: boolean;
}): Config {
  const { mode, env, flags = {}, terminal = false } = input;
  const problems = unknownSettings(env);
  const config: Record<string, unknown> = { mode };
  for (const [name, setting] of entries) {
    const flagged = setting.flag === undefined ? undefined : flags[setting.flag];
    const given = flagged ?? (env[setting.env] === '' ? undefined : env[setting.env]);
    try {
      config[name] = given === undefined ? setting.default(mode, terminal) : setting.parse(given);
    } catch (error) {
      const where = flagged === undefined ? setting.env : `--${setting.flag}`;
      const shown = setting.secret ? '' : `, not "${given}"`;
      problems.push(`${where} ${(error as Error).message}${shown}.`);
    }
  }
  if (mode === 'production' && !env.SIGNALBOX_SECRET) {
    problems.push('SIGNALBOX_SECRET is required in production; `openssl rand -base64 32` makes one.');
  }
  const { port, probePort, roles } = config as Partial<Config>;
  if (probePort !== undefined && probePort === port && roles?.includes('api'))
    problems.push('SIGNALBOX_PROBE_PORT must be another port than PORT, where the process has the role api.');
  if (problems.length > 0) throw new ConfigError(problems);
  config.publicUrl ||= `http://localhost:${config.port}`;
  return config as unknown as Config;
}

function unknownSettings(env: Record<string, string | undefined>): string[] {
  const known = entries.map(([, setting]) => setting.env);
  return Object.keys(env)
    .filter((name) => name.startsWith('SIGNALBOX_') && !known.includes(name))
    .map((name) => {
      const close = known.find((candidate) => distance(candidate, name) <= 3);
      return `${name} is not a setting of Signalbox${close ? `; did you mean ${close}?` : '.'}`;
    });
}

/** Levenshtein distance, for hints after typing errors. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1));
    }
    row = next;
  }
  return row[b.length]!;
}

/** The settings in force under their environment names, secrets masked. */
export function describeConfig(config: Config): Record<string, unknown> {
  const shown: Record<string, unknown> = { MODE: config.mode };
  for (const [name, setting] of entries) {
    const value = config[name];
    shown[setting.env] = setting.secret && value !== undefined ? '********' : (value ?? null);
  }
  return shown;
}

/** The table of docs/settings.md. */
export function settingsMarkdown(): string {
  const rows = entries.map(([, setting]) => {
    const fallback = setting.defaultText ?? `\`${String(setting.default('production', false))}\``;
    const flag = setting.flag ? `\`--${setting.flag}\`` : '';
    return `| \`${setting.env}\` | ${flag} | ${fallback || 'none'} | ${setting.about} |`;
  });
  return ['| Setting | Flag | Default | Meaning |', '|---|---|---|---|', ...rows].join('\n');
}

/**
 * Whether the script in the pages refuses to send to this address: D33 demands https, this machine excepted.
 *
 * @example isRefusedByTrackers('http://signals.example') // true
 */
export const isRefusedByTrackers = (publicUrl: string): boolean =>
  /^http:\/\/(?!(?:localhost|127\.0\.0\.1)(?::|$))/.test(publicUrl);
