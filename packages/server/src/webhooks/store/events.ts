/** SQL of events. */
import type postgres from 'postgres';
import { arrayLiteral, newlineText, timestampArray } from '../../kernel/db/columns.ts';
import type { AnySql } from '../../kernel/db/database.ts';
import { laneOfId } from '../../kernel/ids.ts';

export interface StoredEvent {
  tenantId: string;
  publishedAt: number;
  /** Ours, the `webhook-id` of every push. */
  id: string;
  /** The id that the tenant gave to the event, when it is one of its own. */
  tenantEventId: string | null;
  type: string;
  /** System id of the person that it is about; 0 for none. The id names the person's lane. */
  profile: number;
  /** The envelope, serialised once: the very bytes that are signed and sent. */
  body: string;
}

/** An event on its way out, with the bytes that are signed and sent; null when it was erased with its person. */
export type OutgoingEvent = Omit<StoredEvent, 'body'> & { body: Buffer | null };

/** One that was not erased. */
export type LivingEvent = OutgoingEvent & { body: Buffer };

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
    insert into webhook_events (tenant_id, published_at, id, tenant_event_id, type, profile, body, lane)
    select ${tenantId}, ${new Date(publishedAt)}, id, tenant_event_id, type, profile, body, lane
    from unnest(
      string_to_array(${newlineText(events.map(({ id }) => id))}, chr(10)),
      string_to_array(${newlineText(events.map(({ tenantEventId }) => tenantEventId ?? ''))}, chr(10), ''),
      string_to_array(${newlineText(events.map(({ type }) => type))}, chr(10)),
      ${arrayLiteral(events.map(({ profile }) => profile))}::int[],
      string_to_array(${newlineText(events.map(({ body }) => body))}, chr(10)),
      ${arrayLiteral(events.map(({ id }) => laneOfId(id)))}::smallint[]
    ) as event (id, tenant_event_id, type, profile, body, lane)
    ${conflict}`;
}

export type EventKey = Pick<StoredEvent, 'tenantId' | 'publishedAt' | 'id'>;

/** A place in the line of a tenant's events. */
export type EventPlace = Omit<EventKey, 'tenantId'>;

/** Longer bodies have memory of their own: any other keeps all that came with it from being freed. */
const LONG_BODY = 4096;

/** Events of one tenant, one for each key, in the order of the keys; undefined where it cannot be seen. */
export async function readEvents(
  sql: AnySql,
  tenantId: string,
  keys: EventPlace[],
): Promise<(OutgoingEvent | undefined)[]> {
  const rows = await readShort(sql, tenantId, keys);
  const long = keys.filter((_, place) => rows[place]?.body?.length === 0);
  const bodies = await readBodies(sql, tenantId, long);
  return keys.map(({ publishedAt, id }, place) => {
    const row = rows[place];
    const body = row?.body?.length === 0 ? bodies.get(id) : row?.body;
    if (row === undefined || body === undefined) return undefined;
    return {
      tenantId,
      publishedAt,
      id,
      tenantEventId: row.tenantEventId,
      type: row.type,
      profile: row.profile,
      body,
    };
  });
}

type EventRow = Pick<OutgoingEvent, 'tenantEventId' | 'type' | 'profile' | 'body'>;

/** The line of an event without a body. An envelope is an object, so it is never this. */
const ERASED = 'null';

/**
 * What stands for each key, with an empty body where it is long. It is read by the column, a line for each event, and the bodies
 * stay the bytes that came: read by the row, decoded and encoded again they took twice as long.
 */
async function readShort(
  sql: AnySql,
  tenantId: string,
  keys: EventPlace[],
): Promise<(EventRow | undefined)[]> {
  const [columns] = await sql`
    select string_agg(id, chr(10)), string_agg(coalesce(tenant_event_id, ''), chr(10)), string_agg(type, chr(10)),
      string_agg(profile::text, chr(10)),
      string_agg(case when octet_length(body) > ${LONG_BODY} then '' else coalesce(body, ${ERASED}) end, chr(10))
    ${fromEvents(sql, tenantId, keys)}`.raw();
  const [found, tenantEventIds, types, profiles, bodies] = columns as [
    Buffer | null,
    Buffer,
    Buffer,
    Buffer,
    Buffer,
  ];
  if (found === null) return [];
  const [tenantEventIdOf, typeOf] = [String(tenantEventIds).split('\n'), String(types).split('\n')];
  const profileOf = String(profiles).split('\n');
  const rows = linesOf(bodies).map((body, place) => {
    const isErased = body.length === ERASED.length && body.toString() === ERASED;
    return {
      tenantEventId: tenantEventIdOf[place]! || null,
      type: typeOf[place]!,
      profile: Number(profileOf[place]),
      body: isErased ? null : body,
    };
  });
  const ids = String(found);
  // As a rule they come in the order of the keys, and need not be looked up by their ids (see ARCHITECTURE.md, "Garbage").
  if (ids === newlineText(keys.map(({ id }) => id))) return rows;
  const byId = new Map(ids.split('\n').map((id, place) => [id, rows[place]!]));
  return keys.map(({ id }) => byId.get(id));
}

/**
 * Events as they would be read: the short bodies in one piece of memory, outside of the heap, where no collection of garbage
 * carries them from place to place while they wait.
 */
export function outgoing(events: StoredEvent[]): OutgoingEvent[] {
  const isLong = (body: string) => body.length > LONG_BODY;
  const short = linesOf(bytesOf(newlineText(events.map(({ body }) => (isLong(body) ? '' : body)))));
  return events.map((event, place) => {
    return { ...event, body: isLong(event.body) ? bytesOf(event.body) : short[place]! };
  });
}

/** Not in the memory that Node parts among short buffers: one that waits would keep all of it. */
function bytesOf(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

const LINE_BREAK = 0x0a;

function linesOf(bytes: Buffer): Buffer[] {
  const found: Buffer[] = [];
  let start = 0;
  for (let end = bytes.indexOf(LINE_BREAK); end !== -1; end = bytes.indexOf(LINE_BREAK, start)) {
    found.push(bytes.subarray(start, end));
    start = end + 1;
  }
  found.push(bytes.subarray(start));
  return found;
}

async function readBodies(
  sql: AnySql,
  tenantId: string,
  keys: EventPlace[],
): Promise<Map<string, Buffer | null>> {
  if (keys.length === 0) return new Map();
  const rows = await sql<{ id: string; body: string | null }[]>`
    select id, body ${fromEvents(sql, tenantId, keys)}`;
  return new Map(rows.map(({ id, body }) => [id, body === null ? null : Buffer.from(body)]));
}

/**
 * One walk along the index, from each key to the next: a third of the time where they stand side by side, as in a backlog. Before
 * PostgreSQL 17, which would try every time with every id, they are looked up one by one.
 */
function fromEvents(sql: AnySql, tenantId: string, keys: EventPlace[]): postgres.Fragment {
  const ids = arrayLiteral(keys.map(({ id }) => id));
  const moments = keys.map(({ publishedAt }) => publishedAt);
  const lanes = keys.map(({ id }) => laneOfId(id));
  if (majorVersion(sql) >= 17)
    return sql`
      from webhook_events where tenant_id = ${tenantId}
        and published_at = any(${timestampArray([...new Set(moments)])}::timestamptz[]) and id = any(${ids}::text[])
        and lane = any(${arrayLiteral([...new Set(lanes)])}::smallint[])`;
  return sql`
    from unnest(${timestampArray(moments)}::timestamptz[], ${ids}::text[], ${arrayLiteral(lanes)}::smallint[]) as wanted (moment, name, line)
    join webhook_events on tenant_id = ${tenantId} and published_at = moment and id = name and lane = line`;
}

/** Events of one tenant behind a place, in their order, without those that were erased. */
export async function readEventsAfter(
  sql: AnySql,
  input: { tenantId: string; after: EventPlace; limit: number },
): Promise<StoredEvent[]> {
  const { tenantId, after, limit } = input;
  const rows = await sql<(Omit<StoredEvent, 'publishedAt'> & { publishedAt: Date })[]>`
    select tenant_id as "tenantId", published_at as "publishedAt", id, tenant_event_id as "tenantEventId", type,
      profile, body
    from webhook_events
    where tenant_id = ${tenantId} and (published_at, id) > (${new Date(after.publishedAt)}, ${after.id})
      and body is not null
    order by published_at, id limit ${limit}`;
  return rows.map((row) => ({ ...row, publishedAt: row.publishedAt.getTime() }));
}

export async function newestEventTime(sql: AnySql, tenantId: string): Promise<number | undefined> {
  const [row] = await sql<{ publishedAt: Date }[]>`
    select published_at as "publishedAt" from webhook_events
    where tenant_id = ${tenantId} order by published_at desc limit 1`;
  return row?.publishedAt.getTime();
}

/** The server's major version. Before the pool's first connection, and in a transaction, it is 0. */
export function majorVersion(sql: AnySql): number {
  return 'parameters' in sql ? Number.parseInt(String(sql.parameters.server_version ?? 0), 10) : 0;
}
