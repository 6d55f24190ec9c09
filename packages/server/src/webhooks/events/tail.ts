/**
 * The published events of a tenant in the order of their times, and those that come. Reads what is stored and leaves no trace:
 * no subscription, no job.
 *
 * An event has its time before its transaction commits, so one may appear before the place that was read to. Each look goes
 * back as far as transactions take (`OVERLAP_MS`), and what was shown already is left out: nothing comes twice, and what comes late
 * comes out of order. An event that is sent again, a dead letter of before, is published no second time.
 */
import type { AnySql } from '../../kernel/db/database.ts';
import { timeOfId } from '../../kernel/ids.ts';
import { type EventPlace, newestEventTime, readEventsAfter, type StoredEvent } from '../store/events.ts';

const BATCH = 500;
/** Publishing takes milliseconds; an import that publishes on its way takes seconds. */
const OVERLAP_MS = 10_000;

export interface EventTail {
  /** The next events, some hundreds at the most; none when there are no more at the moment. */
  next(): Promise<StoredEvent[]>;
}

/**
 * @param input.since from this time on; from now on when absent
 * @example const tail = createEventTail({ sql, tenantId, matches: () => true }); for (const event of await tail.next()) ...
 */
export function createEventTail(input: {
  sql: AnySql;
  tenantId: string;
  matches: (type: string) => boolean;
  since?: number;
}): EventTail {
  const { sql, tenantId, matches, since } = input;
  /** The ids that were read since the place that the next look goes back to, with their times. */
  const read = new Map<string, number>();
  let newest = since ?? 0;
  let place: EventPlace | undefined = since === undefined ? undefined : { publishedAt: since, id: '' };

  /** What is there at the beginning counts as shown. Not by the clock: it may be another one than that of the servers. */
  async function begin(): Promise<EventPlace> {
    newest = (await newestEventTime(sql, tenantId)) ?? 0;
    let at: EventPlace | null = { publishedAt: newest - OVERLAP_MS, id: '' };
    while (at !== null) at = (await readOn(at)).next;
    return lookBack();
  }

  /** Reads a batch; `next` is where to go on, null at the end. */
  async function readOn(after: EventPlace): Promise<{ fresh: StoredEvent[]; next: EventPlace | null }> {
    const batch = await readEventsAfter(sql, { tenantId, after, limit: BATCH });
    const fresh = batch.filter((event) => !read.has(event.id) && !isSentAgain(event));
    for (const { id, publishedAt } of fresh) read.set(id, publishedAt);
    const last = batch.at(-1);
    newest = Math.max(newest, last?.publishedAt ?? 0);
    return { fresh, next: last !== undefined && batch.length === BATCH ? last : null };
  }

  function lookBack(): EventPlace {
    const publishedAt = Math.max(newest - OVERLAP_MS, since ?? Number.NEGATIVE_INFINITY);
    for (const [id, at] of read) if (at < publishedAt) read.delete(id);
    return { publishedAt, id: '' };
  }

  return {
    async next() {
      place ??= await begin();
      while (true) {
        const { fresh, next } = await readOn(place);
        place = next ?? lookBack();
        const found = fresh.filter(({ type }) => matches(type));
        if (found.length > 0 || next === null) return found;
      }
    },
  };
}

/** Its id carries the time at which it was published, the row the time at which it was put back. */
function isSentAgain({ id, publishedAt }: EventPlace): boolean {
  return publishedAt - (timeOfId('evt', id) ?? publishedAt) > OVERLAP_MS;
}
