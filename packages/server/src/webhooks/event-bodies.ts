/**
 * The bodies of events on their way out. What this process published a moment ago is at hand; the rest is read in
 * batches, as a rule some time before it is needed. A body that nobody is expected to take any more is let go at once: kept
 * until their turn comes, thousands of them would be carried through every garbage collection.
 */
import type { Database } from '../kernel/db/database.ts';
import { PassingMap } from '../kernel/passing-map.ts';
import { type EventKey, readEvents, type StoredEvent } from './store/events.ts';

export interface EventBodies {
  /** Keeps what was just published, where events are taken at all. */
  remember(events: StoredEvent[]): void;
  /** Reads together what will be taken soon, once for each time that it is named. */
  expect(keys: EventKey[]): void;
  /** Undefined while the event cannot be seen: on a distributed database a job may be visible before its event. */
  take(key: EventKey): StoredEvent | Promise<StoredEvent | undefined>;
}

interface Kept {
  event: StoredEvent;
  /** How often it is still expected to be taken. */
  uses: number;
}

/** Asked for and not read yet. */
interface Coming {
  key: EventKey;
  uses: number;
  /** As soon as someone waits for it. */
  answer?: PromiseWithResolvers<StoredEvent | undefined>;
}

const MOST_CHARACTERS = 64 * 1024 * 1024;
/** An event does not take less than this, however short it is. */
const OVERHEAD = 500;

/** Events per read: some of them may be long. */
const MOST_PER_READ = 500;

const sizeOf = ({ body }: StoredEvent) => body.length + OVERHEAD;

export function createEventBodies(db: Database): EventBodies {
  /** The newer and the older half. (To delete the oldest entries of one map is slow: each look for the first passes all gaps.) */
  let young = new PassingMap<string, Kept>();
  let old = new PassingMap<string, Kept>();
  const coming = new PassingMap<string, Coming>();
  /** Of the newer half, in characters. */
  let size = 0;
  let wanted: Coming[] = [];
  let reading = false;
  let isTaker = false;

  function keep(event: StoredEvent, uses: number): void {
    const kept = young.get(event.id);
    // Read while the word of its publication was still on its way here.
    if (kept !== undefined) {
      kept.uses += uses;
      return;
    }
    young.set(event.id, { event, uses });
    size += sizeOf(event);
    if (size < MOST_CHARACTERS / 2) return;
    old = young;
    young = new PassingMap();
    size = 0;
  }

  function letGo({ event }: Kept): void {
    if (young.delete(event.id)) size -= sizeOf(event);
    else old.delete(event.id);
  }

  function ask(key: EventKey): Coming {
    let asked = coming.get(key.id);
    if (asked === undefined) {
      asked = { key, uses: 0 };
      coming.set(key.id, asked);
      wanted.push(asked);
      if (!reading) void readAll();
    }
    return asked;
  }

  async function readAll(): Promise<void> {
    reading = true;
    // Whoever asks in this turn of the event loop, or while a read is on its way, shares the next one.
    await new Promise(setImmediate);
    while (wanted.length > 0) {
      const part = wanted.slice(0, MOST_PER_READ);
      wanted = wanted.slice(MOST_PER_READ);
      const byTenant = Map.groupBy(part, ({ key }) => key.tenantId);
      await Promise.all(Array.from(byTenant, ([tenantId, asked]) => read(tenantId, asked)));
    }
    reading = false;
  }

  async function read(tenantId: string, asked: Coming[]): Promise<void> {
    try {
      const keys = asked.map(({ key }) => key);
      const events = new Map((await readEvents(db.sql, tenantId, keys)).map((event) => [event.id, event]));
      for (const { key, uses, answer } of asked) {
        const event = events.get(key.id);
        if (event !== undefined && uses > 0) keep(event, uses);
        answer?.resolve(event);
      }
    } catch (error) {
      for (const { answer } of asked) answer?.reject(error);
    }
    for (const { key } of asked) coming.delete(key.id);
  }

  return {
    remember(events) {
      if (isTaker) for (const event of events) keep(event, 0);
    },
    expect(keys) {
      isTaker = true;
      for (const key of keys) (young.get(key.id) ?? old.get(key.id) ?? ask(key)).uses += 1;
    },
    take(key) {
      const kept = young.get(key.id) ?? old.get(key.id);
      if (kept === undefined) {
        const asked = ask(key);
        asked.uses -= 1;
        asked.answer ??= Promise.withResolvers();
        return asked.answer.promise;
      }
      kept.uses -= 1;
      if (kept.uses <= 0) letGo(kept);
      return kept.event;
    },
  };
}
