/** SQL of the imports: their staged rows, how these become items, and what is known of each import. */
import type postgres from 'postgres';
import type { AnySql } from '../kernel/db/database.ts';
import type { Format } from '../kernel/tables/index.ts';
import type { WholePart } from './feeds/row.ts';
import type { Item } from './item.ts';
import { ALL, addedAt, deleted, isDeleted, type Mode, type Scope } from './store.ts';
import { urlKey } from './url-key.ts';

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
  /** Revision of the catalog when it began. What was said later than that counts more. */
  began: number;
  createdAt: Date;
  finishedAt: Date | null;
}

/** The part of `as_of` that a feed speaks about. */
const partOf = ({ language, country }: Scope): string => language ?? country ?? '';
/** The part of `as_of` (and no tag) that stands for all languages or countries, where a row told them as a whole. */
const wholeOf = ({ language, country }: Scope): WholePart | null =>
  language !== null ? 'languages' : country !== null ? 'countries' : null;
/** Of `known`: nothing that was said since is overruled by a feed that began at a revision. */
const isOlder = (sql: AnySql, { began, ...scope }: { began: number } & Scope) => sql`
  greatest((known.as_of->>${ALL}::text)::bigint, (known.as_of->>${partOf(scope)}::text)::bigint,
    (known.as_of->>${wholeOf(scope)}::text)::bigint, 0) <= ${began}`;
const saidAt = (sql: AnySql, { began, ...scope }: { began: number } & Scope) =>
  sql`jsonb_build_object(${partOf(scope)}::text, ${began}::bigint)`;
/** The languages or countries of `known` with those that are `said`: told as a whole they replace what was said before, but not since. */
const joined = (sql: AnySql, part: WholePart, began: number) => {
  const [known, said] = [sql`known.${sql(part)}`, sql`said.${sql(part)}`];
  return sql`case when said.as_of ? ${part}::text
    then ${said} || (select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(${known})
      where (known.as_of->>key)::bigint > ${began})
    else coalesce(${known}, '{}') || ${said} end`;
};

/** What is left of a country in which an item is no longer offered. Without it, the item might be offered everywhere. */
const NOT_OFFERED = '{"available": false}';
/** Of `known`: whether it has a part that the feed of a language or a country can take out. */
const isInScope = (sql: AnySql, { language, country }: Scope) => sql`
  (${language}::text is null or known.languages ? ${language}::text)
  and (${country}::text is null or known.countries->${country}::text <> ${NOT_OFFERED}::text::jsonb)`;

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

export interface StagedRow {
  item: Item;
  deleted: boolean;
  /** Whether the feed itself told the address of the item. */
  linked?: boolean;
  /** What the row tells as a whole. */
  whole?: WholePart[];
}

/** Left out by most rows, and by all of a table. */
const wholeIn = (whole: WholePart[]) => (whole.length > 0 ? { whole } : {});

/** Adds a batch to the rows of an import; of several rows with one id the last one stays. */
export async function stage(
  sql: AnySql,
  input: { tenantId: string; importId: string; rows: StagedRow[] },
): Promise<void> {
  const rows = new Map(
    input.rows.map(({ item, deleted, linked = true, whole = [] }) => [
      item.itemPid,
      JSON.stringify({ ...item, urlKey: urlKey(item.itemUrl), deleted, linked, ...wholeIn(whole) }),
    ]),
  );
  await sql`
    insert into catalog_staging (tenant_id, import_id, item_pid, item)
    select ${input.tenantId}, ${input.importId}, item_pid, item::jsonb
    from unnest(${[...rows.keys()]}::text[], ${[...rows.values()]}::text[]) as row (item_pid, item)
    on conflict (tenant_id, import_id, item_pid) do update set item = excluded.item`;
}

export interface KnownItem {
  itemPid: string;
  itemUrl: string;
  removed: boolean;
  isDeleted: boolean;
}

/** Items of these ids that are there, or were. */
export async function findKnown(
  sql: AnySql,
  tenantId: string,
  itemPids: readonly string[],
): Promise<Map<string, KnownItem>> {
  const rows = await sql<KnownItem[]>`
    select item_pid as "itemPid", item_url as "itemUrl", removed, ${isDeleted(sql)} as "isDeleted"
    from catalog_items known where tenant_id = ${tenantId} and item_pid = any(${[...itemPids]}::text[])`;
  return new Map(rows.map((row) => [row.itemPid, row]));
}

/**
 * Tells the planner how many rows are staged. The table is empty between imports, and who takes it for that compares every item
 * with every row: three seconds for 5,000 of each, and a hundred times as long for ten times as many.
 */
export async function measureStaging(sql: AnySql): Promise<void> {
  await sql`analyze catalog_staging`;
}

/** Remembers items of which a feed speaks, but nothing that can be taken: they stay as they are. */
export async function stageRefused(
  sql: AnySql,
  input: { tenantId: string; importId: string; itemPids: readonly string[] },
): Promise<void> {
  await sql`
    insert into catalog_staging (tenant_id, import_id, item_pid, item)
    select ${input.tenantId}, ${input.importId}, item_pid, '{}'
    from unnest(${[...new Set(input.itemPids)]}::text[]) as refused (item_pid)
    on conflict (tenant_id, import_id, item_pid) do nothing`;
}

export async function dropStaging(sql: AnySql, tenantId: string, importId: string): Promise<void> {
  await sql`delete from catalog_staging where tenant_id = ${tenantId} and import_id = ${importId}`;
}

/** Items of the scope that are there now, and how many of them the staged feed takes out, as `removeUnstaged` does. */
export async function countDrop(
  sql: AnySql,
  input: { tenantId: string; importId: string; began: number; mode: Mode } & Scope,
): Promise<{ there: number; dropped: number }> {
  const { tenantId, importId, mode } = input;
  const [row] = await sql<{ there: number; dropped: number }[]>`
    select count(*)::int as there,
      (count(*) filter (where ((staged.item->>'deleted')::boolean or (staged.item_pid is null and ${mode === 'full'}))
        and ${isOlder(sql, input)}))::int as dropped
    from catalog_items known
    left join catalog_staging staged on staged.tenant_id = known.tenant_id and staged.import_id = ${importId}
      and staged.item_pid = known.item_pid
    where known.tenant_id = ${tenantId} and not known.removed and ${isInScope(sql, input)}`;
  return row!;
}

/**
 * Makes the staged rows items. A feed of a language or a country changes its own part of an item and leaves the rest; the
 * others replace the default fields, and keep the parts that other feeds gave but for those that a row tells as a whole. Of
 * what was deleted there is nothing that a part could belong to: it stays so until a feed of everything names it. Rows that
 * change nothing keep their revision, and what was said after the feed began stays.
 */
export async function applyStaging(
  sql: AnySql,
  input: { tenantId: string; importId: string; revision: number; began: number; now: Date } & Scope,
): Promise<number> {
  const { tenantId, importId, revision, began, now, language, country } = input;
  // An address that the feed did not tell is the item's, and follows it when it changes.
  const isLinked = sql`(item->>'linked')::boolean is not false`;
  const own = sql`(item->'fields') || case when ${isLinked}
    then jsonb_build_object('item_url', item->>'itemUrl') else '{}'::jsonb end`;
  const languages = language
    ? sql`(item->'languages') || jsonb_build_object(${language}::text, ${own})`
    : sql`item->'languages'`;
  // What a country says goes before what a language does: only a page that is the country's own may do so.
  const countries = country
    ? sql`(item->'countries') || jsonb_build_object(${country}::text,
        (item->'fields') || jsonb_build_object('available', item->'available')
          || case when ${isLinked} and there.item_url <> item->>'itemUrl'
            then jsonb_build_object('item_url', item->>'itemUrl') else '{}'::jsonb end)`
    : sql`item->'countries'`;
  const part = language !== null || country !== null;
  const asOf = part
    ? saidAt(sql, input)
    : sql`${saidAt(sql, input)} || case when item ? 'whole'
        then (select jsonb_object_agg(name, ${began}::bigint) from jsonb_array_elements_text(item->'whole') name)
        else '{}' end`;
  const [allLanguages, allCountries] = [joined(sql, 'languages', began), joined(sql, 'countries', began)];
  const said = sql`
    select staged.tenant_id, staged.item_pid, item->>'itemUrl' as item_url, item->>'urlKey' as url_key,
      ${country === null ? sql`(item->>'available')::boolean` : sql`true`} as available, item->'fields' as fields,
      ${languages} as languages, ${countries} as countries, ${asOf} as as_of
    from catalog_staging staged
    ${country ? sql`left join catalog_items there using (tenant_id, item_pid)` : sql``}
    where staged.tenant_id = ${tenantId} and import_id = ${importId} and not (item->>'deleted')::boolean`;
  const isChanged = sql`known.removed
    or (${allLanguages}) is distinct from known.languages or (${allCountries}) is distinct from known.countries
    ${
      part
        ? sql``
        : sql`or (known.item_url, known.available, known.fields) is distinct from (said.item_url, said.available, said.fields)`
    }`;
  // Compared before the insert: nobody else changes the catalog until the revision is committed, and a distributed PostgreSQL takes no
  // parameters in the conflict clause.
  const { count } = await sql`
    insert into catalog_items as known (tenant_id, item_pid, item_url, url_key, available, fields, languages, countries,
      added_at, updated_at, revision, as_of)
    select said.tenant_id, said.item_pid, said.item_url, said.url_key, said.available, said.fields, ${allLanguages},
      ${allCountries}, ${now}, ${now}, ${revision}, said.as_of
    from (${said}) as said
    left join catalog_items known on known.tenant_id = said.tenant_id and known.item_pid = said.item_pid
    where known.item_pid is null
      or (${isOlder(sql, input)} ${part ? sql`and not ${isDeleted(sql)}` : sql``} and (${isChanged}))
    on conflict (tenant_id, item_pid) do update set
      ${
        part
          ? sql``
          : sql`item_url = excluded.item_url, url_key = excluded.url_key, available = excluded.available,
        fields = excluded.fields,`
      }
      languages = excluded.languages, countries = excluded.countries,
      added_at = ${addedAt(sql)}, updated_at = excluded.updated_at, revision = excluded.revision,
      as_of = known.as_of || excluded.as_of, removed = false`;
  return count;
}

/**
 * Takes out what the feed marks as deleted and, for a full one, what it does not name. An item that loses its last country
 * stays, offered nowhere: the next feed of that country may name it without a link, and no other offers it in its place.
 */
export async function removeUnstaged(
  sql: AnySql,
  input: {
    tenantId: string;
    importId: string;
    revision: number;
    began: number;
    now: Date;
    mode: Mode;
  } & Scope,
): Promise<number> {
  const { tenantId, importId, revision, now, mode, language, country } = input;
  const takeOut = async (change: postgres.Fragment, which: postgres.Fragment) => {
    const { count } = await sql`
      update catalog_items known set ${change}, revision = ${revision}, updated_at = ${now},
        as_of = as_of || ${saidAt(sql, input)}
      where tenant_id = ${tenantId} and not removed and ${isOlder(sql, input)} and ${isInScope(sql, input)} and ${which}`;
    return count;
  };
  const isStagedAs = (how: postgres.Fragment) => sql`exists (select 1 from catalog_staging staged
    where staged.tenant_id = ${tenantId} and staged.import_id = ${importId} and staged.item_pid = known.item_pid ${how})`;
  const isMarked = isStagedAs(sql`and (staged.item->>'deleted')::boolean`);
  if (language !== null || country !== null)
    return takeOut(
      language === null
        ? sql`countries = countries || jsonb_build_object(${country}::text, ${NOT_OFFERED}::text::jsonb)`
        : sql`languages = languages - ${language}::text`,
      mode === 'full'
        ? sql`not ${isStagedAs(sql`and (staged.item->>'deleted')::boolean is not true`)}`
        : isMarked,
    );
  const marked = await takeOut(deleted(sql), isMarked);
  if (mode === 'delta') return marked;
  // What a feed misses today it may have again tomorrow, when the other feeds' parts of it are wanted again.
  return marked + (await takeOut(sql`removed = true`, sql`not ${isStagedAs(sql``)}`));
}

const IMPORT = `tenant_id as "tenantId", id, source, feed_id as "feedId", format, mode, language, country, state, rows,
  accepted, rejected, changed, removed, errors, message, began, created_at as "createdAt", finished_at as "finishedAt"`;

export async function insertImport(sql: AnySql, given: Import): Promise<void> {
  await sql`
    insert into catalog_imports (tenant_id, id, source, feed_id, format, mode, language, country, state, began,
      created_at, touched_at)
    values (${given.tenantId}, ${given.id}, ${given.source}, ${given.feedId}, ${given.format}, ${given.mode},
      ${given.language}, ${given.country}, ${given.state}, ${given.began}, ${given.createdAt}, ${given.createdAt})`;
}

/** Forgets imports of the tenant that have ended, but for the newest ones. */
export async function forgetImports(sql: AnySql, tenantId: string, kept: number): Promise<void> {
  await sql`
    delete from catalog_imports
    where tenant_id = ${tenantId} and state not in ('running', 'held') and id <= (
      select id from catalog_imports where tenant_id = ${tenantId} order by id desc offset ${kept} limit 1)`;
}

/** A full import of the same part that began later and is done: it has said all there is to say. */
export async function findLaterFull(sql: AnySql, given: Import): Promise<{ id: string } | undefined> {
  const [row] = await sql<{ id: string }[]>`
    select id from catalog_imports
    where tenant_id = ${given.tenantId} and state = 'done' and mode = 'full' and began > ${given.began}
      and language is not distinct from ${given.language} and country is not distinct from ${given.country}
    order by began desc limit 1`;
  return row;
}

/** Tells how far an import has come. */
export async function touchImport(sql: AnySql, given: Import, now: Date): Promise<void> {
  await sql`
    update catalog_imports set rows = ${given.rows}, accepted = ${given.accepted}, rejected = ${given.rejected},
      touched_at = ${now}
    where tenant_id = ${given.tenantId} and id = ${given.id} and state = 'running'`;
}

/** Ends the imports of all tenants that have been silent since a time. */
export async function failSilentImports(
  sql: AnySql,
  input: { silentSince: Date; message: string; now: Date },
): Promise<{ tenantId: string; id: string }[]> {
  return sql`
    /* over all */ update catalog_imports set state = 'failed', message = ${input.message}, finished_at = ${input.now}
    where state = 'running' and touched_at < ${input.silentSince}
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

/** The latest imports, newest first (ids tell the time), each with the first ten of its errors: there may be a thousand. */
export async function listImports(sql: AnySql, tenantId: string, take: number): Promise<Import[]> {
  return sql<Import[]>`
    select ${sql.unsafe(IMPORT)}, jsonb_path_query_array(errors, '$[0 to 9]') as errors from catalog_imports where tenant_id = ${tenantId}
    order by id desc limit ${take}`;
}
