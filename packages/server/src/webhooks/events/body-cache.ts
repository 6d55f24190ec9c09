/**
 * The bodies of events on their way out. What this process published a moment ago is at hand; the rest is read in
 * batches, as a rule some time before it is needed. A body that nobody is expected to take any more is let go at once: kept
 * until their turn comes, thousands of them would be carried through every garbage collection. A body that waited for
 * seconds is read again, because its person may have been erased meanwhile.
 */
import type { Database } from '../../kernel/db/database.ts';
import {
  type EventKey,
  type OutgoingEvent,
  outgoing,
  readEvents,
  type StoredEvent,
} from '../store/events.ts';

export interface EventBodies {
  /** Keeps what was just published, where events are taken at all. */
  remember(events: StoredEvent[]): void;
  /** Reads together what will be taken soon, once for each time that it is named. */
  expect(keys: EventKey[]): void;
  /** Undefined while the event cannot be seen: on a distributed database a job may be visible before its event. */
  take(key: EventKey): OutgoingEvent | Promise<OutgoingEvent | undefined>;
}

/** An event that is here, or was asked for and is not read yet. */
interface Entry {
  key: EventKey;
  event: OutgoingEvent | undefined;
  /** How often it is still expected to be taken. */
  uses: number;
  half: Half;
  /** What its event came with. */
  load: Load | undefined;
  /** As soon as someone waits for it. */
  answer: PromiseWithResolvers<OutgoingEvent | undefined> | undefined;
}

interface Half {
  entries: Map<string, Entry>;
  /** Of the loads that are here, in bytes. */
  size: number;
}

/**
 * Events that came together, by a read or a publication. Their bodies are parts of one piece of memory, so each of them keeps that of
 * all. Long ones, which are not, are counted in the same way: too much rather than too little.
 */
interface Load {
  half: Half;
  size: number;
  /** How many of them are here. */
  left: number;
  /** When they were read, by the monotonic clock. */
  readAt: number;
}

const MAX_BYTES = 64 * 1024 * 1024;
/** A push that begins so long after an erasure sends nothing of the person any more. */
const MAX_AGE_MS = 3000;
/** An event does not take less than this, however short it is. */
const OVERHEAD = 500;

/** Events per read: some of them may be long. The largest portion that the queue hands out is two reads. */
const MAX_PER_READ = 512;

const sizeOf = ({ body }: OutgoingEvent) => (body?.length ?? 0) + OVERHEAD;

const newHalf = (): Half => ({ entries: new Map(), size: 0 });

export function createEventBodies(
  db: Database,
  { mostBytes = MAX_BYTES, now = () => performance.now() } = {},
): EventBodies {
  /** The newer and the older half. (To delete the oldest entries of one map is slow: each look for the first passes all gaps.) */
  let young = newHalf();
  let old = newHalf();
  let wanted: Entry[] = [];
  let reading = false;
  let isTaker = false;

  const find = (id: string) => young.entries.get(id) ?? old.entries.get(id);

  function enter(key: EventKey): Entry {
    const entry: Entry = { key, event: undefined, uses: 0, half: young, load: undefined, answer: undefined };
    young.entries.set(key.id, entry);
    return entry;
  }

  function ask(key: EventKey): Entry {
    const entry = enter(key);
    want(entry);
    return entry;
  }

  function want(entry: Entry): void {
    wanted.push(entry);
    if (!reading) void readAll();
  }

  /** Takes the event away from an entry, and reads it again. */
  function askAgain(entry: Entry, load: Load): void {
    leave(load);
    entry.event = undefined;
    entry.load = undefined;
    entry.answer = undefined;
    want(entry);
  }

  /** Lets entries be filled with events that came together. */
  function unload(
    events: (OutgoingEvent | undefined)[],
    readAt: number,
    handOver: (load: Load) => void,
  ): void {
    const size = events.reduce((sum, event) => sum + (event ? sizeOf(event) : 0), 0);
    const load: Load = { half: young, size, left: 1, readAt };
    young.size += size;
    handOver(load);
    leave(load);
    if (young.size < mostBytes / 2) return;
    old = young;
    young = newHalf();
  }

  function leave(load: Load): void {
    load.left -= 1;
    if (load.left === 0) load.half.size -= load.size;
  }

  function fill(entry: Entry, event: OutgoingEvent, load: Load): void {
    entry.event = event;
    entry.load = load;
    load.left += 1;
  }

  function letGo({ key, half, load }: Entry): void {
    half.entries.delete(key.id);
    if (load !== undefined) leave(load);
  }

  /** What was asked for is here, or cannot be seen. */
  function answer(entry: Entry, event: OutgoingEvent | undefined, load: Load): void {
    entry.answer?.resolve(event);
    if (event !== undefined) fill(entry, event, load);
    if (event === undefined || entry.uses <= 0) letGo(entry);
  }

  async function readAll(): Promise<void> {
    reading = true;
    // Whoever asks in this turn of the event loop, or while a read is on its way, shares the next one.
    await new Promise(setImmediate);
    while (wanted.length > 0) {
      const part = wanted.slice(0, MAX_PER_READ);
      wanted = wanted.slice(MAX_PER_READ);
      const byTenant = Map.groupBy(part, ({ key }) => key.tenantId);
      await Promise.all(Array.from(byTenant, ([tenantId, asked]) => read(tenantId, asked)));
    }
    reading = false;
  }

  async function read(tenantId: string, asked: Entry[]): Promise<void> {
    const keys = asked.map(({ key }) => key);
    const readAt = now();
    try {
      const events = await readEvents(db.sql, tenantId, keys);
      unload(events, readAt, (load) =>
        asked.forEach((entry, place) => {
          // Otherwise the word of its publication was here first.
          if (entry.event === undefined) answer(entry, events[place], load);
        }),
      );
    } catch (error) {
      for (const entry of asked) {
        entry.answer?.reject(error);
        if (entry.event === undefined) letGo(entry);
      }
    }
  }

  return {
    remember(published) {
      if (!isTaker) return;
      const events = outgoing(published);
      unload(events, now(), (load) => {
        for (const event of events) {
          const entry = find(event.id);
          if (entry === undefined) fill(enter(event), event, load);
          else if (entry.event === undefined) answer(entry, event, load);
        }
      });
    },
    expect(keys) {
      isTaker = true;
      for (const key of keys) (find(key.id) ?? ask(key)).uses += 1;
    },
    take(key) {
      const entry = find(key.id) ?? ask(key);
      entry.uses -= 1;
      if (entry.load !== undefined && now() - entry.load.readAt > MAX_AGE_MS) askAgain(entry, entry.load);
      if (entry.event === undefined) {
        entry.answer ??= Promise.withResolvers();
        return entry.answer.promise;
      }
      if (entry.uses <= 0) letGo(entry);
      return entry.event;
    },
  };
}
