/** SQL of the interactions: what visitors did, who they are, and the clicks that purchases are attributed to. */
import type { AnySql } from '../../kernel/db/database.ts';
import { isClaimed } from '../../kernel/db/dedupe.ts';
import type { Click, ToldClick } from '../click-pairing.ts';
import type { Kind } from '../engine/log/interactions.ts';
import { contactKey, type PersonKey, visitorKey, visitorOfKey } from '../visitor-key.ts';

/** One thing that somebody did with an item or a page. */
export interface Interaction {
  id: string;
  kind: Kind;
  visitor: string | null;
  contact: number | null;
  itemPid: string | null;
  page: string | null;
  /** Epoch milliseconds. */
  at: number;
  widgetId: string | null;
  country: string | null;
  quantity: number | null;
  value: number | null;
}

/** As it is stored; `receivedAt` orders arrivals. */
export interface StoredInteraction extends Interaction {
  receivedAt: number;
}

export async function insertInteractions(
  sql: AnySql,
  input: { tenantId: string; receivedAt: number; rows: readonly Interaction[] },
): Promise<void> {
  const rows = input.rows.map(({ at, ...row }) => ({ ...row, at: new Date(at).toISOString() }));
  await sql`
    insert into interactions (tenant_id, received_at, id, kind, visitor, contact, item_pid, page, at, widget_id, country,
      quantity, value)
    select ${input.tenantId}, ${new Date(input.receivedAt)}, id, kind, visitor, contact, "itemPid", page, at, "widgetId",
      country, quantity, value
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as row (id uuid, kind text, visitor text, contact int,
      "itemPid" text, page text, at timestamptz, "widgetId" text, country text, quantity float8, value float8)`;
}

const COLUMNS = `id, kind, visitor, contact, item_pid as "itemPid", page,
  (extract(epoch from at) * 1000)::float8 as at, widget_id as "widgetId", country, quantity, value,
  (extract(epoch from received_at) * 1000)::float8 as "receivedAt"`;

/** Arrivals are looked at again this long after, because a slow transaction may show an older one late. */
export const LATE_MS = 5000;

/** What arrived after a time, in order; of more than `most`, the newest. */
export async function readInteractionsAfter(
  sql: AnySql,
  { tenantId, after, most }: { tenantId: string; after: number; most: number },
): Promise<StoredInteraction[]> {
  const newestFirst = await sql<StoredInteraction[]>`
    select ${sql.unsafe(COLUMNS)} from interactions
    where tenant_id = ${tenantId} and received_at > ${new Date(after)}
    order by received_at desc, id desc limit ${most}`;
  return newestFirst.reverse();
}

export async function countInteractionsAfter(sql: AnySql, tenantId: string, after: number): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from interactions
    where tenant_id = ${tenantId} and received_at > ${new Date(after)}`;
  return row!.count;
}

/** Everything up to a time, in batches. */
export function readInteractionsUntil(
  sql: AnySql,
  { tenantId, until }: { tenantId: string; until: number },
): AsyncIterable<StoredInteraction[]> {
  return sql<StoredInteraction[]>`
    select ${sql.unsafe(COLUMNS)} from interactions
    where tenant_id = ${tenantId} and received_at <= ${new Date(until)}`.cursor(5000);
}

/**
 * Takes back the view of an item that a visitor, by one of the names, was recorded with at a time or, as its transaction went on,
 * soon after it. Processes that have counted it go on doing so until the next model.
 */
export async function deleteView(
  sql: AnySql,
  input: { tenantId: string; visitors: string[]; itemPid: string; receivedAt: number },
): Promise<void> {
  const { tenantId, visitors, itemPid, receivedAt } = input;
  // Said of both, so that only the partition of this time is looked at.
  const isThen = sql`tenant_id = ${tenantId} and received_at >= ${new Date(receivedAt)}
    and received_at <= ${new Date(receivedAt + LATE_MS)}`;
  await sql`
    delete from interactions where ${isThen} and id = (
      select id from interactions
      where ${isThen} and kind = 'view' and item_pid = ${itemPid} and visitor = any(${visitors}::text[])
      order by received_at, id limit 1)`;
}

/** Who is known to be a contact: the key of a visitor, or of a contact that was merged (visitor-key.ts). */
export interface Link {
  key: PersonKey;
  contact: number;
}

/** Remembers who visitors are; the newest word counts. */
export async function upsertLinks(
  sql: AnySql,
  input: { tenantId: string; links: readonly Link[]; now: number },
): Promise<void> {
  const links = [...new Map(input.links.map((link) => [link.key, link])).values()];
  await sql`
    insert into interaction_links as known (tenant_id, visitor, contact, linked_at)
    select ${input.tenantId}, visitor, contact, ${new Date(input.now)}
    from unnest(${links.map(({ key }) => key)}::text[], ${links.map(({ contact }) => contact)}::int[])
      as link (visitor, contact) order by visitor
    on conflict (tenant_id, visitor) do update set contact = excluded.contact, linked_at = excluded.linked_at
      where known.contact <> excluded.contact`;
}

export async function readLinks(sql: AnySql, tenantId: string, after: number): Promise<Link[]> {
  return sql<Link[]>`
    select visitor as key, contact from interaction_links
    where tenant_id = ${tenantId} and linked_at > ${new Date(after)} order by linked_at`;
}

/** Those of the keys of which it is known who they are. */
export async function findLinked(
  sql: AnySql,
  { tenantId, keys }: { tenantId: string; keys: readonly PersonKey[] },
): Promise<Set<string>> {
  const rows = await sql<{ key: string }[]>`
    select visitor as key from interaction_links where tenant_id = ${tenantId} and visitor = any(${[...keys]}::text[])`;
  return new Set(rows.map(({ key }) => key));
}

/** Who became known to be one of the contacts after a time. */
export async function readLinksOf(
  sql: AnySql,
  input: { tenantId: string; contacts: number[]; after: number },
): Promise<Link[]> {
  return sql<Link[]>`
    select visitor as key, contact from interaction_links
    where tenant_id = ${input.tenantId} and linked_at > ${new Date(input.after)} and contact = any(${input.contacts})`;
}

/**
 * All links of the people behind keys: from a visitor to the contact, on to the one that it was merged into, and to whoever else is
 * known to be one of these.
 */
export async function readLinksAround(
  sql: AnySql,
  { tenantId, keys }: { tenantId: string; keys: readonly PersonKey[] },
): Promise<Link[]> {
  return sql<Link[]>`
    with recursive reached (key) as (
      select unnest(${keys}::text[])
      union
      select linked.key from reached cross join lateral (
        select 'c' || contact as key from interaction_links where tenant_id = ${tenantId} and visitor = reached.key
        union all
        select visitor from interaction_links where tenant_id = ${tenantId}
          and contact = case when reached.key ~ '^c[0-9]+$' then substr(reached.key, 2)::int end) as linked)
    select visitor as key, contact from interaction_links
    where tenant_id = ${tenantId} and visitor in (select key from reached) order by linked_at`;
}

/** A click of a visitor on an item, which a purchase may be attributed to. */
export interface VisitorClick extends Click {
  /** Key of the visitor (visitor-key.ts). */
  visitor: string;
}

/** Remembers clicks, each once; of two in the same millisecond the one that was told last. */
export async function upsertClicks(
  sql: AnySql,
  input: { tenantId: string; clicks: readonly VisitorClick[] },
): Promise<void> {
  const nameOf = ({ visitor, itemPid, at }: VisitorClick) => `${visitor}\n${itemPid}\n${at}`;
  const clicks = [...new Map(input.clicks.map((click) => [nameOf(click), click])).values()];
  const column = (name: 'visitor' | 'itemPid' | 'widgetId') => clicks.map((click) => click[name]);
  const times = clicks.map(({ at }) => new Date(at).toISOString());
  await sql`
    insert into interaction_clicks (tenant_id, visitor, item_pid, widget_id, clicked_at)
    select ${input.tenantId}, visitor, item_pid, widget_id, clicked_at
    from unnest(${column('visitor')}::text[], ${column('itemPid')}::text[], ${column('widgetId')}::text[],
      ${times}::timestamptz[]) as click (visitor, item_pid, widget_id, clicked_at) order by visitor, item_pid, clicked_at
    on conflict (tenant_id, visitor, item_pid, clicked_at) do update set widget_id = excluded.widget_id`;
}

/** In which widgets the items were clicked, by one of the visitor's keys. */
export async function findClicks(
  sql: AnySql,
  input: { tenantId: string; visitors: string[]; itemPids: string[] },
): Promise<VisitorClick[]> {
  return sql<VisitorClick[]>`
    select visitor, item_pid as "itemPid", widget_id as "widgetId",
      (extract(epoch from clicked_at) * 1000)::float8 as at
    from interaction_clicks
    where tenant_id = ${input.tenantId} and visitor = any(${input.visitors}) and item_pid = any(${input.itemPids})`;
}

/** The kind of the keys (dedupe.ts) of told clicks that a followed tracking address was paired with: their ids. */
export const PAIRED_CLICK = 'click';

/** Clicks in widgets that the site tag told of and that no followed tracking address was paired with yet. */
export async function readToldClicks(
  sql: AnySql,
  input: { tenantId: string; itemPids: string[]; from: number; until: number },
): Promise<ToldClick[]> {
  return sql`
    select id, widget_id as "widgetId", item_pid as "itemPid", (extract(epoch from received_at) * 1000)::float8 as at
    from interactions
    where tenant_id = ${input.tenantId} and kind = 'click' and widget_id is not null and item_pid = any(${input.itemPids})
      and received_at >= ${new Date(input.from)} and received_at <= ${new Date(input.until)}
      and not ${isClaimed(sql, { tenantId: input.tenantId, kind: PAIRED_CLICK, key: sql`interactions.id::text` })}`;
}

/** Of all tenants, in batches that leave room for others. */
export async function deleteOldClicks(
  sql: AnySql,
  { before, batch = 10_000 }: { before: number; batch?: number },
): Promise<void> {
  for (let count = batch; count === batch; ) {
    ({ count } = await sql`
      delete from interaction_clicks where (tenant_id, visitor, item_pid, clicked_at) in (
        select tenant_id, visitor, item_pid, clicked_at from interaction_clicks
        where clicked_at < ${new Date(before)} order by clicked_at limit ${batch})`);
  }
}

/**
 * Removes what is kept of contacts, their anonymous past included, and of visitors who are nobody but them; answers the keys
 * that they were known by.
 */
export async function eraseContacts(
  sql: AnySql,
  { tenantId, contacts, visitors: own }: { tenantId: string; contacts: number[]; visitors: string[] },
): Promise<{ count: number; keys: string[] }> {
  const links = await sql<{ key: string }[]>`
    delete from interaction_links where tenant_id = ${tenantId} and contact = any(${contacts}) returning visitor as key`;
  const keys = [
    ...new Set([...contacts.map(contactKey), ...own.map(visitorKey), ...links.map(({ key }) => key)]),
  ];
  const visitors = keys.map(visitorOfKey).filter((visitor) => visitor !== null);
  await sql`delete from interaction_clicks where tenant_id = ${tenantId} and visitor = any(${keys})`;
  const { count } = await sql`
    delete from interactions where tenant_id = ${tenantId}
      and (contact = any(${contacts}) or visitor = any(${visitors}))`;
  return { count: count + links.length, keys };
}

/** Tenants for whom something arrived after a time. */
export async function tenantsWithNews(sql: AnySql, tenantIds: string[], after: number): Promise<string[]> {
  const rows = await sql<{ tenantId: string }[]>`
    select tenant.id as "tenantId" from unnest(${tenantIds}::uuid[]) as tenant (id)
    where exists (select 1 from interactions where tenant_id = tenant.id and received_at > ${new Date(after)})
      or exists (select 1 from interaction_links where tenant_id = tenant.id and linked_at > ${new Date(after)})
      or exists (select 1 from recommendation_forgotten where tenant_id = tenant.id and forgotten_at > ${new Date(after)})`;
  return rows.map(({ tenantId }) => tenantId);
}
