/** SQL of the catalog: items and feeds. What imports stage and leave is in import-store.ts. */
import type { AnySql, TransactionSql } from '../kernel/db/database.ts';
import type { Format } from '../kernel/tables/index.ts';
import { type CatalogRecord, type Item, isOffered } from './item.ts';
import { urlKey } from './url-key.ts';

export type Mode = 'full' | 'delta';

/** Which part of the items a feed speaks about. */
export interface Scope {
  language: string | null;
  country: string | null;
}

export interface Feed extends Scope {
  tenantId: string;
  id: string;
  name: string;
  url: string;
  format: Format | null;
  mode: Mode;
  everyMinutes: number;
  enabled: boolean;
  version: number;
  createdAt: Date;
  updatedAt: Date;
}

/**
 * The next revision of the tenant's catalog. Held until the caller's transaction ends: changes of a tenant are in order. Who
 * cannot have it for so long gives up (`isLockTimeout`).
 */
export async function nextRevision(
  sql: TransactionSql,
  tenantId: string,
  mostWaitMs: number,
): Promise<number> {
  // Sent together: the limit is for this statement alone, and costs no time.
  const [, [row]] = await Promise.all([
    sql.unsafe(`set local lock_timeout = ${mostWaitMs}`),
    sql<{ revision: number }[]>`
      insert into catalog_revisions as known (tenant_id, revision) values (${tenantId}, 1)
      on conflict (tenant_id) do update set revision = known.revision + 1 returning revision`,
    sql`set local lock_timeout to default`,
  ]);
  return row!.revision;
}

export async function listRevisions(
  sql: AnySql,
  tenantIds: string[],
): Promise<{ tenantId: string; revision: number }[]> {
  return sql`select tenant_id as "tenantId", revision from catalog_revisions where tenant_id = any(${tenantIds})`;
}

const RECORD = `item_pid as "itemPid", item_url as "itemUrl", url_key as "urlKey", available, fields, languages,
  countries, (extract(epoch from added_at) * 1000)::float8 as "addedAt", revision, removed`;

/**
 * Items that changed after a revision, removed ones included, in batches. Page by page along the index instead of by one
 * cursor: that would sort a catalog of 1,000,000 items (a minute) before the first row comes, and hold its snapshot. What
 * changes meanwhile has a greater revision, so it comes at the end.
 */
export async function* readChanges(
  sql: AnySql,
  { tenantId, after, batch = 5000 }: { tenantId: string; after: number; batch?: number },
): AsyncIterable<CatalogRecord[]> {
  let last: { revision: number; itemPid: string } | undefined;
  for (;;) {
    const from =
      last === undefined
        ? sql`revision > ${after}`
        : sql`(revision, item_pid) > (${last.revision}, ${last.itemPid})`;
    const rows = await sql<CatalogRecord[]>`
      select ${sql.unsafe(RECORD)} from catalog_items
      where tenant_id = ${tenantId} and ${from} order by revision, item_pid limit ${batch}`;
    // What is offered in none of its countries is no item for anybody, wherever they are.
    for (const row of rows) row.available = isOffered(row);
    if (rows.length > 0) yield rows;
    if (rows.length < batch) return;
    last = rows.at(-1)!;
  }
}

/** How many items `readChanges` would give. */
export async function countChanges(sql: AnySql, tenantId: string, after: number): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from catalog_items where tenant_id = ${tenantId} and revision > ${after}`;
  return row!.count;
}

export async function findItem(
  sql: AnySql,
  tenantId: string,
  itemPid: string,
): Promise<CatalogRecord | undefined> {
  const [row] = await sql<CatalogRecord[]>`
    select ${sql.unsafe(RECORD)} from catalog_items
    where tenant_id = ${tenantId} and item_pid = ${itemPid} and not removed`;
  return row;
}

export async function listItems(
  sql: AnySql,
  input: { tenantId: string; search: string; skip: number; take: number },
): Promise<CatalogRecord[]> {
  const like = `%${input.search.replace(/[\\%_]/g, '\\$&')}%`;
  return sql<CatalogRecord[]>`
    select ${sql.unsafe(RECORD)} from catalog_items
    where tenant_id = ${input.tenantId} and not removed
      and (${input.search} = '' or item_pid ilike ${like} or fields->>'title' ilike ${like})
    order by item_pid offset ${input.skip} limit ${input.take}`;
}

export async function countItems(
  sql: AnySql,
  tenantId: string,
): Promise<{ items: number; available: number }> {
  const [row] = await sql<{ items: number; available: number }[]>`
    select count(*)::int as items, (count(*) filter (where available
      and (countries = '{}' or countries @? '$.* ? (!(@.available == false))')))::int as available
    from catalog_items where tenant_id = ${tenantId} and not removed`;
  return row!;
}

/** The part of `as_of` that stands for the whole item. */
export const ALL = '*';

/** Puts one item in the place of what was there. */
export async function replaceItem(
  sql: AnySql,
  input: { tenantId: string; item: Item; revision: number; now: Date },
): Promise<void> {
  const { tenantId, item, revision, now } = input;
  await sql`
    insert into catalog_items as known (tenant_id, item_pid, item_url, url_key, available, fields, languages, countries,
      added_at, updated_at, revision, as_of)
    values (${tenantId}, ${item.itemPid}, ${item.itemUrl}, ${urlKey(item.itemUrl)!}, ${item.available},
      ${sql.json(item.fields as never)}, ${sql.json(item.languages as never)}, ${sql.json(item.countries as never)},
      ${now}, ${now}, ${revision}, ${sql.json({ [ALL]: revision })})
    on conflict (tenant_id, item_pid) do update set item_url = excluded.item_url, url_key = excluded.url_key,
      available = excluded.available, fields = excluded.fields, languages = excluded.languages,
      countries = excluded.countries, added_at = ${addedAt(sql)}, updated_at = excluded.updated_at,
      revision = excluded.revision, as_of = excluded.as_of, removed = false`;
}

/** What is deleted leaves its address behind, for whoever follows a link to it; what comes under its id later is a new item. */
export const deleted = (sql: AnySql) =>
  sql`removed = true, available = true, fields = '{}', languages = '{}', countries = '{}'`;

/** Of `known`: deleted, and not merely missed by a full feed, which leaves what was said of the item. */
export const isDeleted = (sql: AnySql) =>
  sql`(known.removed and known.fields = '{}' and known.languages = '{}' and known.countries = '{}')`;

/** When an item that comes to be `known` was added. Clocks differ: it was never added earlier than what was deleted. */
export const addedAt = (sql: AnySql) =>
  sql`case when ${isDeleted(sql)} then greatest(known.added_at, excluded.added_at) else known.added_at end`;

export async function removeItem(
  sql: AnySql,
  input: { tenantId: string; itemPid: string; revision: number; now: Date },
): Promise<boolean> {
  const { count } = await sql`
    update catalog_items set ${deleted(sql)}, revision = ${input.revision}, updated_at = ${input.now},
      as_of = ${sql.json({ [ALL]: input.revision })}
    where tenant_id = ${input.tenantId} and item_pid = ${input.itemPid} and not removed`;
  return count > 0;
}

const FEED = `tenant_id as "tenantId", id, name, url, format, mode, language, country, every_minutes as "everyMinutes",
  enabled, version, created_at as "createdAt", updated_at as "updatedAt"`;

export async function upsertFeed(sql: AnySql, feed: Feed): Promise<void> {
  await sql`
    insert into catalog_feeds (tenant_id, id, name, url, format, mode, language, country, every_minutes, enabled, version,
      created_at, updated_at)
    values (${feed.tenantId}, ${feed.id}, ${feed.name}, ${feed.url}, ${feed.format}, ${feed.mode}, ${feed.language},
      ${feed.country}, ${feed.everyMinutes}, ${feed.enabled}, ${feed.version}, ${feed.createdAt}, ${feed.updatedAt})
    on conflict (tenant_id, id) do update set name = excluded.name, url = excluded.url, format = excluded.format,
      mode = excluded.mode, language = excluded.language, country = excluded.country,
      every_minutes = excluded.every_minutes, enabled = excluded.enabled, version = excluded.version,
      updated_at = excluded.updated_at`;
}

export async function findFeed(sql: AnySql, tenantId: string, id: string): Promise<Feed | undefined> {
  const [row] = await sql<Feed[]>`
    select ${sql.unsafe(FEED)} from catalog_feeds where tenant_id = ${tenantId} and id = ${id}`;
  return row;
}

/** The same, and nobody else changes it until the transaction ends. */
export async function lockFeed(sql: AnySql, tenantId: string, id: string): Promise<Feed | undefined> {
  const [row] = await sql<Feed[]>`
    select ${sql.unsafe(FEED)} from catalog_feeds where tenant_id = ${tenantId} and id = ${id} for update`;
  return row;
}

export async function listFeeds(sql: AnySql, tenantId: string): Promise<Feed[]> {
  return sql<Feed[]>`
    select ${sql.unsafe(FEED)} from catalog_feeds where tenant_id = ${tenantId} order by created_at, id`;
}

export async function deleteFeed(sql: AnySql, tenantId: string, id: string): Promise<boolean> {
  const { count } = await sql`delete from catalog_feeds where tenant_id = ${tenantId} and id = ${id}`;
  return count > 0;
}
