/** Which failures say that the database cannot serve now, and that only time or its operator can mend it. */

/** What a connection, the way to it or the driver says. */
const CONNECTION_LOST = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'ENOTFOUND',
  'EAI_AGAIN',
  'CONNECT_TIMEOUT',
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
  'CONNECTION_ENDED',
]);

/** Conditions that stand alone in their classes of SQLSTATE. */
const BUSY = new Set([
  '25006', // read_only_sql_transaction: the database that answers is a standby now
  '25P03', // idle_in_transaction_session_timeout
  '25P04', // transaction_timeout
  '40001', // serialization_failure, after all tries
  '40P01', // deadlock_detected, after all tries
  '55P03', // lock_not_available: the lock_timeout of the role
  '57014', // query_canceled: the statement_timeout of the role, or its operator
  '58030', // io_error
]);

/**
 * Connection exceptions, refused authorization, no such database, insufficient resources (a full disk), operator intervention (a
 * stop, a crash).
 */
const UNAVAILABLE_CLASSES = /^(08|28|3D|53|57P)[0-9A-Z]+$/;

/** What OpenSSL, Node and the driver (`driver.ts`) say of certificates that are not good, and of whoever speaks no TLS. */
const TLS_TROUBLE =
  /^(CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|INVALID_CA|ERR_TLS_|ERR_SSL_|EPROTO$|TLS_REFUSED$)/;

/** @example isTlsTrouble('CERT_HAS_EXPIRED') // true */
export const isTlsTrouble = (code: string): boolean => TLS_TROUBLE.test(code);

/** Whether the connection is lost, or none could be made. */
export const isConnectionLost = (code: string): boolean => CONNECTION_LOST.has(code);

/**
 * Whether the database is there and has no room, or is a standby: nothing can be written, whatever it is.
 *
 * @example try { ... } catch (error) { if (isWithoutRoom(error)) waitForRoom(); }
 */
export function isWithoutRoom(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' && (code === '25006' || /^53[0-9A-Z]{3}$/.test(code));
}

/**
 * Whether a row has no partition to go to: the clock has leapt over the days that were made ahead, as after a week of sleep, and
 * the scheduler makes those of today within a minute or so. Told by where PostgreSQL noticed it: its text may be in any language.
 *
 * @example try { ... } catch (error) { if (isWithoutPartition(error)) tryLater(); }
 */
export const isWithoutPartition = (error: object): boolean =>
  'routine' in error && error.routine === 'ExecFindPartition';

/** @example isUnavailable('57P03') // true: the database is starting up */
export const isUnavailable = (code: string): boolean =>
  CONNECTION_LOST.has(code) || BUSY.has(code) || UNAVAILABLE_CLASSES.test(code) || isTlsTrouble(code);
