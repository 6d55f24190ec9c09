/**
 * Configuration: the settings of all manifests, read from flags first, then the environment, then the defaults. An unknown or wrong
 * setting stops the start with a sentence that names it; all problems are reported at once.
 */
import type { ConfigOf, Configured, Mode, Setting } from './setting.ts';

export const REGIONS = ['eu', 'us', 'apac'] as const;
export type Region = (typeof REGIONS)[number];
export const ROLES = ['api', 'worker', 'scheduler'] as const;
export type Role = (typeof ROLES)[number];
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;

/** What the kernel is configured by. `src/manifests.ts` has the type of the whole configuration. */
export interface KernelConfig {
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
  shutdownTimeoutMs: number;
  rateLimit: boolean;
  rateLimitLoopback: boolean;
  rateLimitPerAddress: number;
  rateLimitPerCredential: number;
}

/** What is wrong with the configuration, one sentence per problem. */
export class ConfigError extends Error {
  readonly isExplained = true;
  readonly problems: string[];
  constructor(problems: string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/**
 * The settings of all manifests, by the member of the configuration that each becomes.
 *
 * @throws where two modules have a member, an environment name or a flag in common
 */
export function settingsOf(manifests: readonly Configured[]): [member: string, Setting<unknown>][] {
  const entries = manifests.flatMap(({ settings = {} }) => Object.entries(settings));
  const flags = entries.flatMap(([, { flag }]) => flag ?? []);
  for (const names of [entries.map(([member]) => member), entries.map(([, { env }]) => env), flags]) {
    const twice = names.find((name, index) => names.indexOf(name) < index);
    if (twice !== undefined) throw new Error(`Two modules have a setting ${twice}.`);
  }
  return entries;
}

/**
 * The configuration in force.
 *
 * @param manifests the kernel's among them
 * @example loadConfig({ manifests: MANIFESTS, mode: 'development', env: process.env, flags: { port: '8500' } }).port // 8500
 * @throws ConfigError naming every unknown or wrong setting
 */
export function loadConfig<M extends Configured>(input: {
  manifests: readonly M[];
  mode: Mode;
  env: Record<string, string | undefined>;
  flags?: Record<string, string | undefined>;
  terminal?: boolean;
}): KernelConfig & ConfigOf<M> {
  const { manifests, mode, env, flags = {}, terminal = false } = input;
  const settings = settingsOf(manifests);
  const problems = unknownSettings(env, settings);
  const config: Record<string, unknown> = { mode };
  for (const [member, setting] of settings) {
    const flagged = setting.flag === undefined ? undefined : flags[setting.flag];
    const given = flagged ?? (env[setting.env] === '' ? undefined : env[setting.env]);
    try {
      config[member] = given === undefined ? setting.default(mode, terminal) : setting.parse(given);
    } catch (error) {
      const where = flagged === undefined ? setting.env : `--${setting.flag}`;
      const shown = setting.secret ? '' : `, not "${given}"`;
      problems.push(`${where} ${(error as Error).message}${shown}.`);
    }
  }
  if (mode === 'production' && !env.SIGNALBOX_SECRET) {
    problems.push('SIGNALBOX_SECRET is required in production; `openssl rand -base64 32` makes one.');
  }
  const { port, probePort, roles } = config as Partial<KernelConfig>;
  if (probePort !== undefined && probePort === port && roles?.includes('api'))
    problems.push('SIGNALBOX_PROBE_PORT must be another port than PORT, where the process has the role api.');
  if (problems.length > 0) throw new ConfigError(problems);
  config.publicUrl ||= `http://localhost:${config.port}`;
  return config as unknown as KernelConfig & ConfigOf<M>;
}

function unknownSettings(
  env: Record<string, string | undefined>,
  settings: [string, Setting<unknown>][],
): string[] {
  const known = settings.map(([, setting]) => setting.env);
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
export function describeConfig(
  config: KernelConfig,
  manifests: readonly Configured[],
): Record<string, unknown> {
  const values = config as unknown as Record<string, unknown>;
  const shown: Record<string, unknown> = { MODE: config.mode };
  for (const [member, { env, secret }] of settingsOf(manifests))
    shown[env] = secret && values[member] !== undefined ? '********' : (values[member] ?? null);
  return shown;
}

/** The table of docs/settings.md. */
export function settingsMarkdown(manifests: readonly Configured[]): string {
  const rows = settingsOf(manifests).map(([, setting]) => {
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
