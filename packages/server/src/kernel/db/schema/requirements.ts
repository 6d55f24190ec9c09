/**
 * Whether a database can hold what is stored here. In another encoding than UTF-8 everything seems to work, until the first request
 * with a letter that it does not know: better no start than that.
 */
import type { AnySql } from '../database.ts';

/** The database cannot be used as it is; the message says what to do. */
export class UnfitDatabaseError extends Error {
  override name = 'UnfitDatabaseError';
  readonly isExplained = true;
}

export interface DatabaseKind {
  /** As PostgreSQL counts: 150018 is 15.18. */
  version: number;
  encoding: string;
}

const OLDEST = 15;

/** @example unfitness({ version: 150018, encoding: 'LATIN1' }) // 'The database has the encoding LATIN1 ...' */
export function unmetRequirement({ version, encoding }: DatabaseKind): string | undefined {
  const major = Math.floor(version / 10_000);
  if (major < OLDEST)
    return `The database is PostgreSQL ${major}, and Signalbox needs ${OLDEST} or newer: upgrade it, or let DATABASE_URL lead to another.`;
  if (encoding !== 'UTF8')
    return `The database has the encoding ${encoding}, and Signalbox needs UTF8: make one with \`create database ... encoding 'UTF8' template template0\`.`;
  return undefined;
}

/** @throws UnfitDatabaseError when the database is too old, or cannot hold every letter */
export async function checkRequirements(sql: AnySql): Promise<void> {
  const [kind] = await sql<DatabaseKind[]>`
    select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding`;
  const message = unmetRequirement(kind!);
  if (message !== undefined) throw new UnfitDatabaseError(message);
}
