/** SQL of the interactions: what visitors did, who they are, and the clicks that purchases are attributed to. */
import type { Kind } from '@signalbox/recommendation-engine/log/interactions';
import { arrayLiteral, timestampArray } from '../../kernel/db/columns.ts';
import type { AnySql } from '../../kernel/db/database.ts';
import { readClaimed } from '../../kernel/db/dedupe.ts';
import { laneOfId } from '../../kernel/ids.ts';
import { laneOfNumber } from '../../kernel/lanes/lane-of.ts';
import type { Click, ToldClick } from '../attribution/click-pairing.ts';
import {
  contactKey,
  contactOfKey,
  laneOfKey,
  type PersonKey,
  visitorKey,
  visitorOfKey,
} from '../interactions/people.ts';

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

/** A person's interactions lie in the person's lane. */
const laneOfInteraction = ({ contact, visitor, id }: Pick<Interaction, 'contact' | 'visitor' | 'id'>) => {
  if (contact !== null) return laneOfNumber(contact);
  return visitor !== null ? laneOfKey(visitorKey(visitor)) : laneOfId(id);
};

/** The lanes of keys, each once, for `lane = any(...::smallint[])`. */
const lanesOf = (keys: readonly string[]) =>
  arrayLiteral([...new Set(keys.map(laneOfKey))].sort((a, b) => a - b));

export async function insertInteractions(
  sql: AnySql,
  { tenantId, receivedAt, rows }: { tenantId: string; receivedAt: number; rows: readonly Interaction[] },
): Promise<void> {
  await insertStored(
    sql,
    tenantId,
    rows.map((row) => ({ ...row, receivedAt })),
  );
}

async function insertStored(
  sql: AnySql,
  tenantId: string,
  stored: readonly StoredInteraction[],
): Promise<void> {
  const rows = stored.map((row) => ({
    ...row,
    at: new Date(row.at).toISOString(),
    receivedAt: new Date(row.receivedAt).toISOString(),
    lane: laneOfInteraction(row),
  }));
  await sql`
    insert into interactions (tenant_id, received_at, id, kind, visitor, contact, item_pid, page, at, widget_id, country,
      quantity, value, lane)
    select ${tenantId}, "receivedAt", id, kind, visitor, contact, "itemPid", page, at, "widgetId", country, quantity, value,
      lane
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as row ("receivedAt" timestamptz, id uuid, kind text,
      visitor text, contact int, "itemPid" text, page text, at timestamptz, "widgetId" text, country text, quantity float8,
      value float8, lane smallint)`;
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
 * Takes back the view of an item that a person, by one of the keys, was recorded with at a time or, as its transaction went on,
 * soon after it. Processes that have counted it go on doing so until the next model.
 */
export async function deleteView(
  sql: AnySql,
  input: { tenantId: string; keys: readonly PersonKey[]; itemPid: string; receivedAt: number },
): Promise<void> {
  const { tenantId, keys, itemPid, receivedAt } = input;
  const visitors = keys.map(visitorOfKey).filter((visitor) => visitor !== null);
  const [view] = await sql<{ receivedAt: Date; id: string; lane: number }[]>`
    select received_at as "receivedAt", id, lane from interactions
    where tenant_id = ${tenantId} and lane = any(${lanesOf(keys)}::smallint[])
      and received_at >= ${new Date(receivedAt)} and received_at <= ${new Date(receivedAt + LATE_MS)}
      and kind = 'view' and item_pid = ${itemPid} and visitor = any(${visitors}::text[])
    order by received_at, id limit 1`;
  if (view === undefined) return;
  await sql`
    delete from interactions where tenant_id = ${tenantId} and received_at = ${view.receivedAt} and id = ${view.id}
      and lane = ${view.lane}`;
}

/** Who is known to be a contact: the key of a visitor, or of a contact that was merged (interactions/people.ts). */
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
  const keys = links.map(({ key }) => key);
  await sql`
    insert into interaction_links as known (tenant_id, visitor, contact, linked_at, lane)
    select ${input.tenantId}, visitor, contact, ${new Date(input.now)}, lane
    from unnest(${keys}::text[], ${arrayLiteral(links.map(({ contact }) => contact))}::int[],
      ${arrayLiteral(keys.map(laneOfKey))}::smallint[]) as link (visitor, contact, lane) order by lane, visitor
    on conflict (tenant_id, visitor, lane) do update set contact = excluded.contact, linked_at = excluded.linked_at
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
    select visitor as key from interaction_links
    where tenant_id = ${tenantId} and lane = any(${lanesOf(keys)}::smallint[]) and visitor = any(${[...keys]}::text[])`;
  return new Set(rows.map(({ key }) => key));
}

/** Who became known to be one of the contacts after a time. Every lane is read, because a key lies in its own. */
export async function readLinksOf(
  sql: AnySql,
  input: { tenantId: string; contacts: number[]; after: number },
): Promise<Link[]> {
  return sql<Link[]>`
    select visitor as key, contact from interaction_links
    where tenant_id = ${input.tenantId} and linked_at > ${new Date(input.after)} and contact = any(${input.contacts})`;
}

/** Steps that are followed from one merged contact to the next, as many as in memory (interactions/people.ts). */
const MAX_ROUNDS = 10;

/**
 * All links of the people behind keys: from a visitor to the contact, from a merged contact to the one that lives on, and from
 * the other visitors and merged contacts of both. Each step is a round of statements, because the keys lie in different lanes.
 */
export async function readLinksAround(
  sql: AnySql,
  { tenantId, keys }: { tenantId: string; keys: readonly PersonKey[] },
): Promise<Link[]> {
  const found = new Map<string, Link & { linkedAt: Date }>();
  const reached = new Set<PersonKey>(keys);
  let fresh = [...reached];
  for (let round = 0; fresh.length > 0 && round < MAX_ROUNDS; round++) {
    const unknown = fresh.filter((key) => !found.has(key));
    const contacts = fresh.map(contactOfKey).filter((contact) => contact !== null);
    const rows = [
      ...(unknown.length === 0 ? [] : await linksFrom(sql, tenantId, unknown)),
      ...(contacts.length === 0 ? [] : await linksTo(sql, tenantId, contacts)),
    ];
    for (const link of rows) found.set(link.key, link);
    const ends = new Set(rows.flatMap(({ key, contact }) => [key, contactKey(contact)]));
    fresh = [...ends].filter((key) => !reached.has(key));
    for (const key of fresh) reached.add(key);
  }
  return [...found.values()].sort((a, b) => a.linkedAt.getTime() - b.linkedAt.getTime());
}

const linksFrom = (sql: AnySql, tenantId: string, keys: PersonKey[]) =>
  sql<(Link & { linkedAt: Date })[]>`
    select visitor as key, contact, linked_at as "linkedAt" from interaction_links
    where tenant_id = ${tenantId} and lane = any(${lanesOf(keys)}::smallint[]) and visitor = any(${keys}::text[])`;
const linksTo = (sql: AnySql, tenantId: string, contacts: number[]) =>
  sql<(Link & { linkedAt: Date })[]>`
    select visitor as key, contact, linked_at as "linkedAt" from interaction_links
    where tenant_id = ${tenantId} and contact = any(${arrayLiteral(contacts)}::int[])`;

/** A click of a visitor on an item, which a purchase may be attributed to. */
export interface VisitorClick extends Click {
  /** Key of the visitor (interactions/people.ts). */
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
  const lanes = clicks.map(({ visitor }) => laneOfKey(visitor));
  await sql`
    insert into interaction_clicks (tenant_id, visitor, item_pid, widget_id, clicked_at, lane)
    select ${input.tenantId}, visitor, item_pid, widget_id, clicked_at, lane
    from unnest(${column('visitor')}::text[], ${column('itemPid')}::text[], ${column('widgetId')}::text[],
      ${timestampArray(clicks.map(({ at }) => at))}::timestamptz[], ${arrayLiteral(lanes)}::smallint[])
      as click (visitor, item_pid, widget_id, clicked_at, lane)
    order by lane, visitor, item_pid, clicked_at
    on conflict (tenant_id, visitor, item_pid, clicked_at, lane) do update set widget_id = excluded.widget_id`;
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
    where tenant_id = ${input.tenantId} and lane = any(${lanesOf(input.visitors)}::smallint[])
      and visitor = any(${input.visitors}) and item_pid = any(${input.itemPids})`;
}

/** The kind of the keys (dedupe.ts) of told clicks that a followed tracking address was paired with: their ids. */
export const PAIRED_CLICK = 'click';

/** Clicks in widgets that the site tag told of and that no followed tracking address was paired with yet. */
export async function readToldClicks(
  sql: AnySql,
  input: { tenantId: string; itemPids: string[]; from: number; until: number },
): Promise<ToldClick[]> {
  const { tenantId } = input;
  const told = await sql<ToldClick[]>`
    select id, widget_id as "widgetId", item_pid as "itemPid", (extract(epoch from received_at) * 1000)::float8 as at
    from interactions
    where tenant_id = ${tenantId} and kind = 'click' and widget_id is not null and item_pid = any(${input.itemPids})
      and received_at >= ${new Date(input.from)} and received_at <= ${new Date(input.until)}`;
  if (told.length === 0) return [];
  const paired = await readClaimed(sql, { tenantId, kind: PAIRED_CLICK, keys: told.map(({ id }) => id) });
  return told.filter(({ id }) => !paired.has(id));
}

/** Of all tenants, in batches that leave room for others. */
export async function deleteOldClicks(
  sql: AnySql,
  { before, batch = 10_000 }: { before: number; batch?: number },
): Promise<void> {
  for (let count = batch; count === batch; ) {
    ({ count } = await sql`
      /* over all */ delete from interaction_clicks where (tenant_id, visitor, item_pid, clicked_at, lane) in (
        select tenant_id, visitor, item_pid, clicked_at, lane from interaction_clicks
        where clicked_at < ${new Date(before)} order by clicked_at limit ${batch})`);
  }
}

/** Contacts, and visitors who are nobody but them. */
interface Persons {
  tenantId: string;
  contacts: number[];
  visitors: string[];
}

/**
 * Removes what is kept of contacts, their anonymous past included, and of visitors who are nobody but them; answers the keys
 * that they were known by.
 */
export async function eraseContacts(
  sql: AnySql,
  { tenantId, contacts, visitors: own }: Persons,
): Promise<{ count: number; keys: string[] }> {
  const links = await sql<{ key: string }[]>`
    delete from interaction_links where tenant_id = ${tenantId} and contact = any(${contacts}) returning visitor as key`;
  const numbers = contacts.map(contactKey);
  const keys = [...new Set([...numbers, ...own.map(visitorKey), ...links.map(({ key }) => key)])];
  const visitors = keys.map(visitorOfKey).filter((visitor) => visitor !== null);
  await sql`
    delete from interaction_clicks
    where tenant_id = ${tenantId} and lane = any(${lanesOf(keys)}::smallint[]) and visitor = any(${keys})`;
  const known = await sql`
    delete from interactions
    where tenant_id = ${tenantId} and lane = any(${lanesOf(numbers)}::smallint[]) and contact = any(${contacts})`;
  // Every lane is searched: a file may name another contact with the visitor, and the row lies in that contact's lane.
  const anonymous = await sql`
    delete from interactions where tenant_id = ${tenantId} and visitor = any(${visitors})`;
  return { count: known.count + anonymous.count + links.length, keys };
}

/** The interactions of persons, with times as dates. */
export async function readInteractionsOf(
  sql: AnySql,
  { tenantId, contacts, visitors }: Persons,
): Promise<readonly object[]> {
  return sql<object[]>`
    select received_at as "receivedAt", at, kind, visitor, contact, item_pid as "itemPid", page, widget_id as "widgetId",
      country, quantity, value
    from interactions where tenant_id = ${tenantId} and (contact = any(${contacts}) or visitor = any(${visitors}))
    order by received_at, id`;
}

/**
 * Moves a page of a merged contact's interactions to the contact that lives on, and answers whether there may be more. Rows are
 * deleted and inserted, because a row cannot change its lane. Only rows that were deleted are inserted, so an erasure that runs
 * at the same time is not undone.
 */
export async function moveInteractions(
  sql: AnySql,
  { tenantId, from, into, page = 1000 }: { tenantId: string; from: number; into: number; page?: number },
): Promise<boolean> {
  const lane = laneOfNumber(from);
  const rows = await sql<(Omit<StoredInteraction, 'at' | 'receivedAt'> & { at: Date; receivedAt: Date })[]>`
    delete from interactions
    where tenant_id = ${tenantId} and lane = ${lane} and contact = ${from} and (received_at, id) in (
      select received_at, id from interactions
      where tenant_id = ${tenantId} and lane = ${lane} and contact = ${from} limit ${page})
    returning id, kind, visitor, item_pid as "itemPid", page, at, widget_id as "widgetId", country, quantity, value,
      received_at as "receivedAt"`;
  const moved = rows.map((row) => ({
    ...row,
    contact: into,
    at: row.at.getTime(),
    receivedAt: row.receivedAt.getTime(),
  }));
  if (moved.length > 0) await insertStored(sql, tenantId, moved);
  return moved.length === page;
}

/** Tenants for whom something arrived after a time. */
export async function tenantsWithNews(sql: AnySql, tenantIds: string[], after: number): Promise<string[]> {
  const rows = await sql<{ tenantId: string }[]>`
    /* over all */
    select tenant_id as "tenantId" from interactions
    where tenant_id = any(${tenantIds}) and received_at > ${new Date(after)} group by tenant_id
    union
    select tenant_id from interaction_links
    where tenant_id = any(${tenantIds}) and linked_at > ${new Date(after)} group by tenant_id`;
  return rows.map(({ tenantId }) => tenantId);
}
