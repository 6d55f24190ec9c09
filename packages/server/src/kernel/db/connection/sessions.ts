/**
 * Whether an address gives sessions of their own. A pooler that hands one session to many clients in turn (PgBouncer in transaction mode)
 * loses LISTEN, prepared statements and locks, now and then and without a word: better no start than that.
 */
import type postgres from 'postgres';
import { arrayLiteral } from '../columns.ts';
import { postgres as connect } from '../driver.ts';
import { readAddress } from './address.ts';

/** The address cannot be used as it is; the message says what to do. */
export class SessionError extends Error {
  override name = 'SessionError';
  readonly isExplained = true;
}

const DIRECTLY = 'Let DATABASE_URL lead to PostgreSQL itself: Signalbox keeps connections of its own.';

/**
 * @example await checkSessions({ url, settings: { jit: 'off' } });
 * @throws SessionError when sessions are shared, or do not have the settings that are asked for
 */
export async function checkSessions(input: { url: string; settings: Record<string, string> }): Promise<void> {
  const { settings } = input;
  const { url, settings: ofAddress } = readAddress(input.url);
  const open = () =>
    connect(url, {
      max: 1,
      // Prepared statements are among what may not work.
      prepare: false,
      fetch_types: false,
      ...ofAddress,
      connection: settings,
      onnotice: () => {},
    });
  const one = open();
  const other = open();
  try {
    await checkOwnership(one, other);
    await one.begin((tx) => checkSettings(tx, settings));
  } catch (error) {
    throw inWords(error as Partial<postgres.PostgresError>);
  } finally {
    await Promise.all([one.end({ timeout: 1 }), other.end({ timeout: 1 })]);
  }
}

/** A pooler can be told to ignore what it does not know, and then drops it. `set_config` answers in PostgreSQL's own spelling. */
async function checkSettings(sql: postgres.TransactionSql, settings: Record<string, string>): Promise<void> {
  const names = Object.keys(settings);
  const found = await sql<{ value: string }[]>`
    select current_setting(name) as value from unnest(${arrayLiteral(names)}::text[]) with ordinality as asked (name, place)
    order by place`;
  const wanted = await sql<{ value: string }[]>`
    select set_config(name, value, true) as value
    from unnest(${arrayLiteral(names)}::text[], ${arrayLiteral(Object.values(settings))}::text[])
      with ordinality as asked (name, value, place)
    order by place`;
  const lost = names.filter((_, index) => found[index]!.value !== wanted[index]!.value);
  if (lost.length === 0) return;
  throw new SessionError(
    `What stands between here and the database drops settings of sessions (${lost.join(', ')}). ${DIRECTLY}`,
  );
}

/** While one connection works in a transaction, another one must still be where it was. */
async function checkOwnership(one: postgres.Sql, other: postgres.Sql): Promise<void> {
  const before = await processOf(one);
  const isOwn = await other.begin(
    // In this order: where there is but one session for all, the first connection would wait for the second for ever.
    async (tx) => (await processOf(tx)) !== before && (await processOf(one)) === before,
  );
  if (isOwn) return;
  throw new SessionError(
    `What stands between here and the database shares sessions (PgBouncer in transaction mode, or the like). ${DIRECTLY}`,
  );
}

async function processOf(sql: postgres.Sql | postgres.TransactionSql): Promise<number> {
  const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
  return row!.pid;
}

function inWords(error: Partial<postgres.PostgresError>): unknown {
  const [, name] = /^unsupported startup parameter: (\S+)/.exec(error.message ?? '') ?? [];
  if (name === undefined) return error;
  return new SessionError(
    `What stands between here and the database refuses the setting ${name} of sessions, as PgBouncer does. ${DIRECTLY}`,
    { cause: error },
  );
}
