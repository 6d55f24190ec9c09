/** SQL of events. */

import { documents, list, texts, times } from '../../kernel/db/columns.ts';
import type { AnySql } from '../../kernel/db/database.ts';

export interface StoredEvent {
  tenantId: string;
  publishedAt: number;
  /** Ours, the `webhook-id` of every push. */
  id: string;
  /** The id that the tenant gave to the event, when it is one of its own. */
  ownId: string | null;
  type: string;
  /** The envelope, serialised once: the very bytes that are signed and sent. */
  body: string;
}

export async function insertEvents(sql: AnySql, events: StoredEvent[]): Promise<void> {
  if (events.length === 0) return;
  const column = <K extends keyof StoredEvent>(name: K) => events.map((event) => event[name]);
  await sql`
    insert into webhook_events (tenant_id, published_at, id, own_id, type, body)
    select tenant_id, published_at, id, own_id, type, body::text
    from rows from (
      unnest(${list(column('tenantId'))}::uuid[]),
      unnest(${times(column('publishedAt'))}::timestamptz[]),
      unnest(${list(column('id'))}::text[]),
      json_array_elements_text(${texts(column('ownId'))}::text::json),
      json_array_elements_text(${texts(column('type'))}::text::json),
      json_array_elements(${documents(column('body'))}::text::json)
    ) as event (tenant_id, published_at, id, own_id, type, body)
    on conflict do nothing`;
}

export type EventKey = Pick<StoredEvent, 'tenantId' | 'publishedAt' | 'id'>;

/** Events of one tenant, one for each key, in the order of the keys; undefined where it cannot be seen. */
export async function readEvents(
  sql: AnySql,
  tenantId: string,
  keys: Omit<EventKey, 'tenantId'>[],
): Promise<(StoredEvent | undefined)[]> {
  const found = await sql<(Pick<StoredEvent, 'ownId' | 'type' | 'body'> & { place: number })[]>`
    select wanted.place::int, event.own_id as "ownId", event.type, event.body
    from unnest(${times(keys.map(({ publishedAt }) => publishedAt))}::timestamptz[],
      ${list(keys.map(({ id }) => id))}::text[]) with ordinality as wanted (published_at, id, place)
    join webhook_events as event on event.tenant_id = ${tenantId}
      and event.published_at = wanted.published_at and event.id = wanted.id`;
  const events = keys.map((): StoredEvent | undefined => undefined);
  for (const { place, ownId, type, body } of found) {
    const { publishedAt, id } = keys[place - 1]!;
    events[place - 1] = { tenantId, publishedAt, id, ownId, type, body };
  }
  return events;
}

/** A place in the line of a tenant's events. */
export type EventPlace = Omit<EventKey, 'tenantId'>;

/** Events of one tenant behind a place, in their order. */
export async function readEventsAfter(
  sql: AnySql,
  input: { tenantId: string; after: EventPlace; limit: number },
): Promise<StoredEvent[]> {
  const { tenantId, after, limit } = input;
  const rows = await sql<(Omit<StoredEvent, 'publishedAt'> & { publishedAt: Date })[]>`
    select tenant_id as "tenantId", published_at as "publishedAt", id, own_id as "ownId", type, body
    from webhook_events
    where tenant_id = ${tenantId} and (published_at, id) > (${new Date(after.publishedAt)}, ${after.id})
    order by published_at, id limit ${limit}`;
  return rows.map((row) => ({ ...row, publishedAt: row.publishedAt.getTime() }));
}

export async function newestEventTime(sql: AnySql, tenantId: string): Promise<number | undefined> {
  const [row] = await sql<{ publishedAt: Date }[]>`
    select published_at as "publishedAt" from webhook_events
    where tenant_id = ${tenantId} order by published_at desc limit 1`;
  return row?.publishedAt.getTime();
}
