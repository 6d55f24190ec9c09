/** SQL of events. */
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

const iso = (time: number) => new Date(time).toISOString();

export async function insertEvents(sql: AnySql, events: StoredEvent[]): Promise<void> {
  if (events.length === 0) return;
  const column = <K extends keyof StoredEvent>(name: K) => events.map((event) => event[name]);
  await sql`
    insert into webhook_events (tenant_id, published_at, id, own_id, type, body)
    select * from unnest(${column('tenantId')}::uuid[], ${column('publishedAt').map(iso)}::timestamptz[],
      ${column('id')}::text[], ${column('ownId')}::text[], ${column('type')}::text[], ${column('body')}::text[])
    on conflict do nothing`;
}

export type EventKey = Pick<StoredEvent, 'tenantId' | 'publishedAt' | 'id'>;

/** Events of one tenant. Those that cannot be seen are left out. */
export async function readEvents(
  sql: AnySql,
  tenantId: string,
  keys: Omit<EventKey, 'tenantId'>[],
): Promise<StoredEvent[]> {
  const times = keys.map(({ publishedAt }) => publishedAt);
  const rows = await sql<(Omit<StoredEvent, 'tenantId' | 'publishedAt'> & { publishedAt: Date })[]>`
    select published_at as "publishedAt", id, own_id as "ownId", type, body from webhook_events
    where tenant_id = ${tenantId} and published_at >= ${new Date(Math.min(...times))}
      and published_at <= ${new Date(Math.max(...times))}
      and (published_at, id) in (
        select * from unnest(${times.map(iso)}::timestamptz[], ${keys.map(({ id }) => id)}::text[]))`;
  return rows.map((row) => ({ ...row, tenantId, publishedAt: row.publishedAt.getTime() }));
}
