/**
 * Structured logs: pleasant lines on a terminal, JSON elsewhere. What could be a secret is removed by name here, once;
 * addresses of people are never handed to a log call in the first place.
 */
import { pino } from 'pino';

export type Log = Pick<pino.Logger, 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'isLevelEnabled'> & {
  child(bindings: Record<string, unknown>): Log;
};

const SECRETS = [
  'secret',
  'password',
  'authorization',
  'apiKey',
  'client_secret',
  'access_token',
  'token',
  'cookie',
];

/**
 * @example (await createLog({ level: 'info', format: 'pretty' })).info({ port: 8400 }, 'listening')
 */
export async function createLog(options: {
  level: string;
  format: 'pretty' | 'json';
  destination?: NodeJS.WritableStream;
}): Promise<Log> {
  const { level, format, destination = process.stdout } = options;
  const settings: pino.LoggerOptions = {
    level,
    base: undefined,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: SECRETS.flatMap((name) => [name, `*.${name}`]), censor: '[removed]' },
    serializers: { err: describeError, error: describeError },
  };
  if (format === 'json') return pino(settings, destination);
  const { default: pretty } = await import('pino-pretty');
  return pino(
    settings,
    pretty({
      destination,
      colorize: 'isTTY' in destination && destination.isTTY === true,
      translateTime: 'SYS:HH:MM:ss',
      ignore: 'pid,hostname',
      singleLine: true,
      sync: true,
    }),
  );
}

/**
 * PostgreSQL quotes the row at fault in `detail` and `where`, and a row may hold the address of a person. Whatever was
 * thrown can be told, also null: to fail here would turn a failed job into the end of the process.
 */
function describeError(error: unknown): unknown {
  return error instanceof Error ? withoutRows(pino.stdSerializers.err(error)) : { message: String(error) };
}

function withoutRows(described: Record<string, unknown>): Record<string, unknown> {
  const { detail: _detail, where: _where, aggregateErrors, ...rest } = described;
  return Array.isArray(aggregateErrors)
    ? { ...rest, aggregateErrors: aggregateErrors.map(withoutRows) }
    : rest;
}
