/**
 * The bodies of events on their way out. What this process published a moment ago is at hand; the rest is read in
 * batches, as a rule some time before it is needed.
 */
import type { Database } from '../kernel/db/database.ts';
import { type EventKey, readEvents, type StoredEvent } from './store/events.ts';

export interface EventBodies {
  remember(events: StoredEvent[]): void;
  /** Reads together what will be asked for soon. */
  expect(keys: EventKey[]): void;
  /** Undefined while the event cannot be seen: on a distributed database a job may be visible before its event. */
  get(key: EventKey): StoredEvent | Promise<StoredEvent | undefined>;
}

const MOST_CHARACTERS = 64 * 1024 * 1024;
/** An event does not take less than this, however short it is. */
const OVERHEAD = 500;

/** Events per read: some of them may be long. */
const MOST_PER_READ = 500;

export function createEventBodies(db: Database): EventBodies {
  /** The newer and the older half. (To delete the oldest entries of one map is slow: each look for the first passes all gaps.) */
  let young = new Map<string, StoredEvent>();
  let old = new Map<string, StoredEvent>();
  /** Asked for and not read yet, by id. */
  const coming = new Map<string, PromiseWithResolvers<StoredEvent | undefined>>();
  /** Of the newer half, in characters. */
  let size = 0;
  const wanted: EventKey[] = [];
  let reading = false;

  const find = (id: string) => young.get(id) ?? old.get(id);

  function remember(events: StoredEvent[]): void {
    for (const event of events) {
      young.set(event.id, event);
      size += event.body.length + OVERHEAD;
    }
    if (size < MOST_CHARACTERS / 2) return;
    old = young;
    young = new Map();
    size = 0;
  }

  function ask(key: EventKey): Promise<StoredEvent | undefined> {
    const asked = coming.get(key.id);
    if (asked !== undefined) return asked.promise;
    const answer = Promise.withResolvers<StoredEvent | undefined>();
    // Whoever waits for it hears of a failure; perhaps no one does.
    answer.promise.catch(() => undefined);
    coming.set(key.id, answer);
    wanted.push(key);
    if (!reading) void readAll();
    return answer.promise;
  }

  async function readAll(): Promise<void> {
    reading = true;
    // Whoever asks in this turn of the event loop, or while a read is on its way, shares the next one.
    await new Promise(setImmediate);
    while (wanted.length > 0) {
      const byTenant = Map.groupBy(wanted.splice(0, MOST_PER_READ), ({ tenantId }) => tenantId);
      await Promise.all(Array.from(byTenant, ([tenantId, keys]) => read(tenantId, keys)));
    }
    reading = false;
  }

  async function read(tenantId: string, keys: EventKey[]): Promise<void> {
    const asked = keys.map(({ id }) => [id, coming.get(id)!] as const);
    try {
      const events = await readEvents(db.sql, tenantId, keys);
      remember(events);
      const byId = new Map(events.map((event) => [event.id, event]));
      for (const [id, { resolve }] of asked) resolve(byId.get(id));
    } catch (error) {
      for (const [, { reject }] of asked) reject(error);
    }
    for (const [id] of asked) coming.delete(id);
  }

  return {
    remember,
    expect(keys) {
      for (const key of keys) if (find(key.id) === undefined) void ask(key);
    },
    get: (key) => find(key.id) ?? ask(key),
  };
}
