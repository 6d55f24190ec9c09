/**
 * A cache in front of rows that every request needs and that hardly ever change: credentials, settings. Changes are
 * announced over the database, so that all processes forget the entry at once; a time limit covers a lost message.
 */
import type { AnySql, Database } from './database.ts';

export interface Lookup<T> {
  get(key: string): Promise<T | undefined>;
  /** Announces a change in the transaction that makes it; everyone forgets the entry at the commit. */
  changed(sql: AnySql, key: string): Promise<void>;
  close(): Promise<void>;
}

const MOST_ENTRIES = 10_000;

/**
 * @example
 * const clients = await createLookup({ db, channel: 'oauth_clients', load: (id) => findOauthClient(db.sql, id) });
 */
export async function createLookup<T>(options: {
  db: Database;
  channel: string;
  load: (key: string) => Promise<T | undefined>;
  ttlMs?: number;
}): Promise<Lookup<T>> {
  const { db, channel, load, ttlMs = 10_000 } = options;
  const entries = new Map<string, { value: Promise<T | undefined>; until: number }>();
  const stop = await db.listen(
    channel,
    (key) => entries.delete(key),
    () => entries.clear(),
  );
  return {
    get(key) {
      const now = performance.now();
      const entry = entries.get(key);
      if (entry !== undefined && entry.until > now) return entry.value;
      const value = load(key);
      value.catch(() => entries.delete(key));
      entries.delete(key);
      entries.set(key, { value, until: now + ttlMs });
      if (entries.size > MOST_ENTRIES) entries.delete(entries.keys().next().value!);
      return value;
    },
    async changed(sql, key) {
      await sql`select pg_notify(${channel}, ${key})`;
      entries.delete(key); // here at once, so that whoever changed it reads what it wrote
    },
    close: stop,
  };
}
