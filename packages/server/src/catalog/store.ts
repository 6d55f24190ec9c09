/** All SQL of the catalog. */
import type { AnySql } from '../kernel/db/database.ts';
import type { Format } from './feeds/index.ts';
import type { CatalogRecord, Item } from './item.ts';
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

export interface RowError {
  line: number;
  item_pid: string | null;
  reasons: string[];
}

export type ImportState = 'running' | 'held' | 'done' | 'failed' | 'cancelled';

export interface Import extends Scope {
  tenantId: string;
  id: string;
  source: string;
  feedId: string | null;
  format: Format | null;
  mode: Mode;
  state: ImportState;
  rows: number;
  accepted: number;
  rejected: number;
  changed: number;
  removed: number;
  errors: RowError[];
  message: string | null;
  createdAt: Date;
  finishedAt: Date | null;
}

/** The next revision of the tenant's catalog. Held until the caller's transaction ends: changes of a tenant are in order. */
export async function nextRevision(sql: AnySql, tenantId: string): Promise<number> {
  const [row] = await sql<{ revision: number }[]>`
    insert into catalog_revisions as known (tenant_id, revision) values (${tenantId}, 1)
    on conflict (tenant_id) do update set revision = known.revision + 1 returning revision`;
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
    if (rows.length > 0) yield rows;
    if (rows.length < batch) return;
    last = rows.at(-1)!;
  }
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
    select count(*)::int as items, (count(*) filter (where available))::int as available
    from catalog_items where tenant_id = ${tenantId} and not removed`;
  return row!;
}

/** Puts one item in the place of what was there. */
export async function replaceItem(
  sql: AnySql,
  input: { tenantId: string; item: Item; revision: number; now: Date },
): Promise<boolean> {
  const { tenantId, item, revision, now } = input;
  const [row] = await sql<{ created: boolean }[]>`
    insert into catalog_items as known (tenant_id, item_pid, item_url, url_key, available, fields, languages, countries,
      added_at, updated_at, revision)
    values (${tenantId}, ${item.itemPid}, ${item.itemUrl}, ${urlKey(item.itemUrl)!}, ${item.available},
      ${sql.json(item.fields as never)}, ${sql.json(item.languages as never)}, ${sql.json(item.countries as never)},
      ${now}, ${now}, ${revision})
    on conflict (tenant_id, item_pid) do update set item_url = excluded.item_url, url_key = excluded.url_key,
      available = excluded.available, fields = excluded.fields, languages = excluded.languages,
      countries = excluded.countries, updated_at = excluded.updated_at, revision = excluded.revision, removed = false
    returning known.added_at = ${now} as created`;
  return row!.created;
}

export async function removeItem(
  sql: AnySql,
  input: { tenantId: string; itemPid: string; revision: number; now: Date },
): Promise<boolean> {
  const { count } = await sql`
    update catalog_items set removed = true, revision = ${input.revision}, updated_at = ${input.now}
    where tenant_id = ${input.tenantId} and item_pid = ${input.itemPid} and not removed`;
  return count > 0;
}

/** Stands among the rows of an import from the first on: when the table lost them in a crash, it is gone as well. */
const WITNESS = '';

export async function openStaging(sql: AnySql, tenantId: string, importId: string): Promise<void> {
  await sql`
    insert into catalog_staging (tenant_id, import_id, item_pid, item) values (${tenantId}, ${importId}, ${WITNESS}, '{}')`;
}

/** Whether every row that was staged is still there. */
export async function isStaged(sql: AnySql, tenantId: string, importId: string): Promise<boolean> {
  const rows = await sql`
    select from catalog_staging where tenant_id = ${tenantId} and import_id = ${importId} and item_pid = ${WITNESS}`;
  return rows.length > 0;
}

/** The same, of rows that are to be applied: they cannot be applied twice. */
export async function closeStaging(sql: AnySql, tenantId: string, importId: string): Promise<boolean> {
  const { count } = await sql`
    delete from catalog_staging where tenant_id = ${tenantId} and import_id = ${importId} and item_pid = ${WITNESS}`;
  return count > 0;
}

/** Adds a batch to the rows of an import; of several rows with one id the last one stays. */
export async function stage(
  sql: AnySql,
  input: { tenantId: string; importId: string; rows: { item: Item; deleted: boolean }[] },
): Promise<void> {
  const rows = new Map(
    input.rows.map(({ item, deleted }) => [
      item.itemPid,
      JSON.stringify({ ...item, urlKey: urlKey(item.itemUrl), deleted }),
    ]),
  );
  await sql`
    insert into catalog_staging (tenant_id, import_id, item_pid, item)
    select ${input.tenantId}, ${input.importId}, item_pid, item::jsonb
    from unnest(${[...rows.keys()]}::text[], ${[...rows.values()]}::text[]) as row (item_pid, item)
    on conflict (tenant_id, import_id, item_pid) do update set item = excluded.item`;
}

export async function dropStaging(sql: AnySql, tenantId: string, importId: string): Promise<void> {
  await sql`delete from catalog_staging where tenant_id = ${tenantId} and import_id = ${importId}`;
}

/** Items of the scope that are there now, and how many of them the staged feed takes out, as `removeUnstaged` does. */
export async function countDrop(
  sql: AnySql,
  input: { tenantId: string; importId: string; mode: Mode } & Scope,
): Promise<{ there: number; dropped: number }> {
  const { tenantId, importId, mode, language, country } = input;
  const [row] = await sql<{ there: number; dropped: number }[]>`
    select count(*)::int as there,
      (count(*) filter (where coalesce((staged.item->>'deleted')::boolean, ${mode === 'full'})))::int as dropped
    from catalog_items known
    left join catalog_staging staged on staged.tenant_id = known.tenant_id and staged.import_id = ${importId}
      and staged.item_pid = known.item_pid
    where known.tenant_id = ${tenantId} and not known.removed
      and (${language}::text is null or known.languages ? ${language}::text)
      and (${country}::text is null or known.countries ? ${country}::text)`;
  return row!;
}

/**
 * Makes the staged rows items. A feed of a language or a country changes its own part of an item and leaves the rest; the
 * others replace the default fields and keep the parts that other feeds gave. Rows that change nothing keep their revision.
 */
export async function applyStaging(
  sql: AnySql,
  input: { tenantId: string; importId: string; revision: number; now: Date } & Scope,
): Promise<number> {
  const { tenantId, importId, revision, now, language, country } = input;
  const own = sql`(item->'fields') || jsonb_build_object('item_url', item->>'itemUrl')`;
  const languages = language
    ? sql`(item->'languages') || jsonb_build_object(${language}::text, ${own})`
    : sql`item->'languages'`;
  const countries = country
    ? sql`(item->'countries') || jsonb_build_object(${country}::text,
        (item->'fields') || jsonb_build_object('available', item->'available'))`
    : sql`item->'countries'`;
  const part = language !== null || country !== null;
  const { count } = await sql`
    insert into catalog_items as known (tenant_id, item_pid, item_url, url_key, available, fields, languages, countries,
      added_at, updated_at, revision)
    select tenant_id, item_pid, item->>'itemUrl', item->>'urlKey', ${country === null ? sql`(item->>'available')::boolean` : sql`true`},
      item->'fields', ${languages}, ${countries}, ${now}, ${now}, ${revision}
    from catalog_staging
    where tenant_id = ${tenantId} and import_id = ${importId} and not (item->>'deleted')::boolean
    on conflict (tenant_id, item_pid) do update set
      ${
        part
          ? sql``
          : sql`item_url = excluded.item_url, url_key = excluded.url_key, available = excluded.available,
        fields = excluded.fields,`
      }
      languages = known.languages || excluded.languages, countries = known.countries || excluded.countries,
      updated_at = excluded.updated_at, revision = excluded.revision, removed = false
    where known.removed
      or (known.languages || excluded.languages) is distinct from known.languages
      or (known.countries || excluded.countries) is distinct from known.countries
      or (${!part} and (known.item_url, known.available, known.fields)
        is distinct from (excluded.item_url, excluded.available, excluded.fields))`;
  return count;
}

/** Takes out what the feed marks as deleted and, for a full one, what it does not name. */
export async function removeUnstaged(
  sql: AnySql,
  input: { tenantId: string; importId: string; revision: number; now: Date; mode: Mode } & Scope,
): Promise<number> {
  const { tenantId, importId, revision, now, mode, language, country } = input;
  const change = language
    ? sql`languages = languages - ${language}::text`
    : country
      ? sql`countries = countries - ${country}::text, removed = (countries - ${country}::text = '{}'::jsonb)`
      : sql`removed = true`;
  const { count } = await sql`
    update catalog_items known set ${change}, revision = ${revision}, updated_at = ${now}
    where tenant_id = ${tenantId} and not removed
      and (${language}::text is null or languages ? ${language}::text)
      and (${country}::text is null or countries ? ${country}::text)
      and ${
        mode === 'full'
          ? sql`not exists (select 1 from catalog_staging staged where staged.tenant_id = ${tenantId}
              and staged.import_id = ${importId} and staged.item_pid = known.item_pid
              and not (staged.item->>'deleted')::boolean)`
          : sql`exists (select 1 from catalog_staging staged where staged.tenant_id = ${tenantId}
              and staged.import_id = ${importId} and staged.item_pid = known.item_pid
              and (staged.item->>'deleted')::boolean)`
      }`;
  return count;
}

const IMPORT = `tenant_id as "tenantId", id, source, feed_id as "feedId", format, mode, language, country, state, rows,
  accepted, rejected, changed, removed, errors, message, created_at as "createdAt", finished_at as "finishedAt"`;

export async function insertImport(sql: AnySql, given: Import): Promise<void> {
  await sql`
    insert into catalog_imports (tenant_id, id, source, feed_id, format, mode, language, country, state, created_at,
      touched_at)
    values (${given.tenantId}, ${given.id}, ${given.source}, ${given.feedId}, ${given.format}, ${given.mode},
      ${given.language}, ${given.country}, ${given.state}, ${given.createdAt}, ${given.createdAt})`;
}

/** Tells how far an import has come. */
export async function touchImport(sql: AnySql, given: Import, now: Date): Promise<void> {
  await sql`
    update catalog_imports set rows = ${given.rows}, accepted = ${given.accepted}, rejected = ${given.rejected},
      touched_at = ${now}
    where tenant_id = ${given.tenantId} and id = ${given.id} and state = 'running'`;
}

/** Ends imports, of whatever tenant, that have been silent since a time. Those without `touched_at` are of an earlier release. */
export async function failSilentImports(
  sql: AnySql,
  input: { silentSince: Date; message: string; now: Date },
): Promise<{ tenantId: string; id: string }[]> {
  return sql`
    update catalog_imports set state = 'failed', message = ${input.message}, finished_at = ${input.now}
    where state = 'running' and coalesce(touched_at, created_at) < ${input.silentSince}
    returning tenant_id as "tenantId", id`;
}

/** Drops what earlier imports of a feed left to be decided: the later one speaks for the feed. */
export async function cancelHeldImports(
  sql: AnySql,
  input: { tenantId: string; feedId: string; before: string; message: string; now: Date },
): Promise<{ id: string }[]> {
  return sql`
    update catalog_imports set state = 'cancelled', removed = 0, message = ${input.message}, finished_at = ${input.now}
    where tenant_id = ${input.tenantId} and feed_id = ${input.feedId} and state = 'held' and id < ${input.before}
    returning id`;
}

/** Writes the outcome, provided that the import is still in the state that the caller left it in. */
export async function updateImport(sql: AnySql, given: Import, from: ImportState): Promise<boolean> {
  const { count } = await sql`
    update catalog_imports set state = ${given.state}, rows = ${given.rows}, accepted = ${given.accepted},
      rejected = ${given.rejected}, changed = ${given.changed}, removed = ${given.removed},
      errors = ${sql.json(given.errors as never)}, message = ${given.message}, finished_at = ${given.finishedAt}
    where tenant_id = ${given.tenantId} and id = ${given.id} and state = ${from}`;
  return count > 0;
}

export async function findImport(sql: AnySql, tenantId: string, id: string): Promise<Import | undefined> {
  const [row] = await sql<Import[]>`
    select ${sql.unsafe(IMPORT)} from catalog_imports where tenant_id = ${tenantId} and id = ${id}`;
  return row;
}

export async function listImports(sql: AnySql, tenantId: string, take: number): Promise<Import[]> {
  return sql<Import[]>`
    select ${sql.unsafe(IMPORT)} from catalog_imports where tenant_id = ${tenantId}
    order by created_at desc, id desc limit ${take}`;
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

export async function listFeeds(sql: AnySql, tenantId: string): Promise<Feed[]> {
  return sql<Feed[]>`
    select ${sql.unsafe(FEED)} from catalog_feeds where tenant_id = ${tenantId} order by created_at, id`;
}

export async function deleteFeed(sql: AnySql, tenantId: string, id: string): Promise<boolean> {
  const { count } = await sql`delete from catalog_feeds where tenant_id = ${tenantId} and id = ${id}`;
  return count > 0;
}
