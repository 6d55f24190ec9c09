/**
 * What the address of a database asks of its connections where the driver does not read it: the files of TLS, by the names
 * that other clients of PostgreSQL know, and how long to wait for a connection.
 */
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';

/** An address as the driver takes it, which prefers the settings to what it finds in the address. */
export interface Address {
  url: string;
  settings: { connect_timeout?: number; ssl?: ConnectionOptions };
}

/** The driver's own limit is that of a request, which would be refused for its age before it is told why. */
const CONNECT_SECONDS = 10;
const TLS_FILES = { sslrootcert: 'ca', sslcert: 'cert', sslkey: 'key' } as const;

/**
 * @example readAddress('postgres://db.example/x?sslmode=verify-full&sslrootcert=ca.pem') // { url, settings: { ssl: { ca } } }
 * @throws what reading a file throws, which names it
 */
export function readAddress(given: string): Address {
  const url = new URL(given);
  const limit = url.searchParams.has('connect_timeout') ? {} : { connect_timeout: CONNECT_SECONDS };
  const names = Object.keys(TLS_FILES).filter((name) => url.searchParams.has(name));
  if (names.length === 0) return { url: given, settings: limit };
  const ssl = tlsOf(url.searchParams);
  // The driver would hand them to PostgreSQL, as settings that it does not know.
  for (const name of names) url.searchParams.delete(name);
  return { url: url.href, settings: { ...limit, ...(ssl && { ssl }) } };
}

/**
 * As `sslmode` means it: with an authority named, even `require` looks who signed; for which host is `verify-full`'s alone. Whoever
 * names a file wants TLS, so `prefer` and `allow` insist on it too.
 */
function tlsOf(parameters: URLSearchParams): ConnectionOptions | undefined {
  const mode = parameters.get('sslmode') ?? 'verify-full';
  if (mode === 'disable') return undefined;
  const tls: ConnectionOptions = {};
  for (const [name, option] of Object.entries(TLS_FILES)) {
    const path = parameters.get(name);
    if (path !== null && path !== 'system') tls[option] = readFileSync(path);
  }
  if (mode === 'verify-full') return tls;
  return parameters.has('sslrootcert')
    ? { ...tls, checkServerIdentity: () => undefined }
    : { ...tls, rejectUnauthorized: false };
}
