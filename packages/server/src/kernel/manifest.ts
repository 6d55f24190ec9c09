/** What the kernel declares: the settings of every deployment, and its table that grows with time. */
import { resolve } from 'node:path';
import { type KernelConfig, LOG_LEVELS, REGIONS, ROLES } from './config/config.ts';
import type { Mode } from './config/setting.ts';
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
} from './config/setting-values.ts';
import type { ConfiguredManifest } from './module.ts';

const inProduction =
  <T>(production: T, development: T) =>
  (mode: Mode) =>
    mode === 'production' ? production : development;

export const manifest: ConfiguredManifest<Omit<KernelConfig, 'mode'>> = {
  name: 'kernel',
  // The page docs/settings.md is generated from the settings of all manifests.
  settings: {
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
      about:
        'Networks (CIDR, separated by commas) that webhooks and feeds may reach although they are private',
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
  },
  timeTables: () => [{ table: 'dead_jobs', keepDays: 14 }],
};
