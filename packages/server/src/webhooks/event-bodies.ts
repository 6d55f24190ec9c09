/**
 * The bodies of events on their way out. What this process published a moment ago is at hand; the rest is read in
 * batches: whoever asks while a read is on its way shares the next one with everyone else who does.
 */
import type { Database } from '../kernel/db/database.ts';
import { type EventKey, readEvents, type StoredEvent } from './store/events.ts';

export interface EventBodies {
  remember(events: StoredEvent[]): void;
  /** Undefined while the event cannot be seen: on a distributed database a job may be visible before its event. */
  get(key: EventKey): StoredEvent | Promise<StoredEvent | undefined>;
}

const MOST_CHARACTERS = 64 * 1024 * 1024;
/** An event does not take less than this, however short it is. */
const OVERHEAD = 500;

interface Waiting {
  key: EventKey;
  resolve: (event: StoredEvent | undefined) => void;
  reject: (error: unknown) => void;
}

export function createEventBodies(db: Database): EventBodies {
  const known = new Map<string, StoredEvent>();
  let size = 0;
  let waiting: Waiting[] = [];
  let reading = false;

  function remember(events: StoredEvent[]): void {
    for (const event of events) {
      if (known.has(event.id)) continue;
      known.set(event.id, event);
      size += event.body.length + OVERHEAD;
    }
    for (const [id, { body }] of known) {
      if (size <= MOST_CHARACTERS) break;
      known.delete(id);
      size -= body.length + OVERHEAD;
    }
  }

  async function readAll(): Promise<void> {
    reading = true;
    await new Promise(setImmediate);
    while (waiting.length > 0) {
      const byTenant = Map.groupBy(waiting, ({ key }) => key.tenantId);
      waiting = [];
      await Promise.all(Array.from(byTenant, ([tenantId, asked]) => read(tenantId, asked)));
    }
    reading = false;
  }

  async function read(tenantId: string, asked: Waiting[]): Promise<void> {
    try {
      const keys = asked.map(({ key }) => key);
      const events = await readEvents(db.sql, tenantId, keys);
      remember(events);
      const byId = new Map(events.map((event) => [event.id, event]));
      for (const { key, resolve } of asked) resolve(byId.get(key.id));
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
  }

  return {
    remember,
    get(key) {
      const event = known.get(key.id);
      if (event !== undefined) return event;
      return new Promise((resolve, reject) => {
        waiting.push({ key, resolve, reject });
        if (!reading) void readAll();
      });
    },
  };
}
