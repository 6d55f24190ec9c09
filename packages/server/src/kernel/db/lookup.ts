/**
 * A cache in front of rows that every request needs and that hardly ever change: credentials, settings. Changes are
 * announced over the database, so that all processes forget the entry at once; a time limit covers a lost message.
 */
import { BoundedMap } from '../memory/bounded-map.ts';
import { type Database, notifyAtCommit, type Tx } from './database.ts';

export interface Lookup<T> {
  get(key: string): Promise<T | undefined>;
  /** What `get` would answer without waiting; undefined when it would have to. */
  peek(key: string): T | undefined;
  /** Announces a change in the transaction that makes it; everyone forgets the entry at the commit. */
  changed(tx: Tx, key: string): Promise<void>;
  close(): Promise<void>;
}

interface Entry<T> {
  value: Promise<T | undefined>;
  /** Once it is there. */
  loaded: T | undefined;
  until: number;
}

const MAX_ENTRIES = 10_000;
/** Keys come from whoever asks, and a body may hold a megabyte of text: what is no key of ours is not remembered. */
const MAX_KEY_CHARACTERS = 256;

/**
 * @example
 * const clients = await createLookup({ db, channel: 'oauth_clients', load: (id) => findOauthClient(db.sql, id) });
 */
export async function createLookup<T>(options: {
  db: Database;
  channel: string;
  load: (key: string) => Promise<T | undefined>;
  ttlMs?: number;
  /** Told of each announced change, once it is committed and the entry forgotten. */
  heard?: (key: string) => void;
}): Promise<Lookup<T>> {
  const { db, channel, load, ttlMs = 10_000, heard } = options;
  const entries = new BoundedMap<string, Entry<T>>({ max: MAX_ENTRIES, whenFull: 'dropOldest' });
  const stop = await db.listen(
    channel,
    (key) => {
      entries.delete(key);
      heard?.(key);
    },
    () => entries.clear(),
  );
  return {
    get(key) {
      if (key.length > MAX_KEY_CHARACTERS) return load(key);
      const now = performance.now();
      const entry = entries.get(key);
      if (entry !== undefined && entry.until > now) return entry.value;
      const value = load(key);
      const loading: Entry<T> = { value, loaded: undefined, until: now + ttlMs };
      value.then(
        (loaded) => {
          loading.loaded = loaded;
        },
        () => entries.delete(key),
      );
      entries.renew(key, loading);
      return value;
    },
    peek(key) {
      const entry = entries.get(key);
      return entry !== undefined && entry.until > performance.now() ? entry.loaded : undefined;
    },
    async changed({ sql, afterCommit }, key) {
      await notifyAtCommit(sql, channel, key);
      // Here at once, so that whoever changed it reads what it wrote. Not before: somebody may read until the commit.
      afterCommit(() => entries.delete(key));
    },
    close: stop,
  };
}
