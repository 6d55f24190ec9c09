/** Connections of the embedded PostgreSQL, which asks a few statements while it starts (`Connect`). */
import type { Connect } from '@signalbox/embedded-postgres';
import { postgres } from '../driver.ts';

export const connectBriefly: Connect = (url) => {
  const sql = postgres(url, { max: 1, connect_timeout: 5, fetch_types: false, onnotice: () => {} });
  return { query: (text) => sql.unsafe(text), end: () => sql.end({ timeout: 1 }) };
};
