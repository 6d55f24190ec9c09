/** Loses its connection, asks for another one and ends its pool before that one is there: nothing must keep this process. */
import { openDatabase } from '../database.ts';

const { sql } = openDatabase({ url: process.argv[2]!, connections: 1 });
await sql`select pg_terminate_backend(pg_backend_pid())`.catch(() => undefined);
const refused = sql`select 1`.then(
  () => process.exit(1),
  () => undefined,
);
await Promise.all([sql.end({ timeout: 0 }), refused]);
