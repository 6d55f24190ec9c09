import type { AnySql } from './sql.ts';

/** The major version of the server, as it told the pool's connections; 0 before the first of them, and within a transaction. */
export function majorVersion(sql: AnySql): number {
  return 'parameters' in sql ? Number.parseInt(String(sql.parameters.server_version ?? 0), 10) : 0;
}
