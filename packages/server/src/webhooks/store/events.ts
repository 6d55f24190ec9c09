/** SQL of events. */
import type postgres from 'postgres';
import { lines, list, times } from '../../kernel/db/columns.ts';
import type { AnySql } from '../../kernel/db/database.ts';
import { majorVersion } from '../../kernel/db/server-version.ts';

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

/** Events of one publication. */
export interface Publication {
  tenantId: string;
  publishedAt: number;
  events: Omit<StoredEvent, 'tenantId' | 'publishedAt'>[];
}

export async function insertEvents(sql: AnySql, publication: Publication): Promise<void> {
  await insert(sql, publication, sql``);
}

/**
 * Puts events back that may be among the living: their letters to several subscriptions may be sent again in the same millisecond.
 * It takes half as long again, since PostgreSQL is prepared for a conflict at each.
 */
export async function restoreEvents(sql: AnySql, publication: Publication): Promise<void> {
  await insert(sql, publication, sql`on conflict do nothing`);
}

/** Nothing here has a line break: JSON escapes them, and ids and types are free of control characters. */
async function insert(
  sql: AnySql,
  { tenantId, publishedAt, events }: Publication,
  conflict: postgres.Fragment,
): Promise<void> {
  if (events.length === 0) return;
  await sql`
    insert into webhook_events (tenant_id, published_at, id, own_id, type, body)
    select ${tenantId}, ${new Date(publishedAt)}, id, own_id, type, body
    from unnest(
      string_to_array(${lines(events.map(({ id }) => id))}, chr(10)),
      string_to_array(${lines(events.map(({ ownId }) => ownId ?? ''))}, chr(10), ''),
      string_to_array(${lines(events.map(({ type }) => type))}, chr(10)),
      string_to_array(${lines(events.map(({ body }) => body))}, chr(10))
    ) as event (id, own_id, type, body)
    ${conflict}`;
}

export type EventKey = Pick<StoredEvent, 'tenantId' | 'publishedAt' | 'id'>;

type EventRow = Pick<StoredEvent, 'id' | 'ownId' | 'type' | 'body'>;

/** Events of one tenant, one for each key, in the order of the keys; undefined where it cannot be seen. */
export async function readEvents(
  sql: AnySql,
  tenantId: string,
  keys: Omit<EventKey, 'tenantId'>[],
): Promise<(StoredEvent | undefined)[]> {
  const rows = await (majorVersion(sql) >= 17 ? readAlongIndex : readOneByOne)(sql, tenantId, keys);
  return inOrder(keys, rows).map((row, place) => {
    const { publishedAt, id } = keys[place]!;
    return row && { tenantId, publishedAt, id, ownId: row.ownId, type: row.type, body: row.body };
  });
}

/**
 * The rows in the order of the keys, with gaps where there is none. As a rule they come in that order, and need not be looked up
 * by their ids (see ARCHITECTURE.md, "Garbage").
 */
function inOrder(keys: { id: string }[], rows: EventRow[]): (EventRow | undefined)[] {
  const isInOrder = rows.length === keys.length && rows.every(({ id }, place) => id === keys[place]!.id);
  if (isInOrder) return rows;
  const found = new Map(rows.map((row) => [row.id, row]));
  return keys.map(({ id }) => found.get(id));
}

/**
 * One walk along the index, from each key to the next: a third of the time where they stand side by side, as in a backlog. Before
 * PostgreSQL 17 every time would be tried with every id.
 */
async function readAlongIndex(
  sql: AnySql,
  tenantId: string,
  keys: Omit<EventKey, 'tenantId'>[],
): Promise<EventRow[]> {
  const moments = [...new Set(keys.map(({ publishedAt }) => publishedAt))];
  return sql<EventRow[]>`
    select id, own_id as "ownId", type, body from webhook_events
    where tenant_id = ${tenantId} and published_at = any(${times(moments)}::timestamptz[])
      and id = any(${list(keys.map(({ id }) => id))}::text[])`;
}

async function readOneByOne(
  sql: AnySql,
  tenantId: string,
  keys: Omit<EventKey, 'tenantId'>[],
): Promise<EventRow[]> {
  return sql<EventRow[]>`
    select event.id, event.own_id as "ownId", event.type, event.body
    from unnest(${times(keys.map(({ publishedAt }) => publishedAt))}::timestamptz[],
      ${list(keys.map(({ id }) => id))}::text[]) as wanted (published_at, id)
    join webhook_events as event on event.tenant_id = ${tenantId}
      and event.published_at = wanted.published_at and event.id = wanted.id`;
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
