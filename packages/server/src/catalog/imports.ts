/**
 * One import: rows are read, judged and staged in batches, then become items in one transaction. Memory is that of one
 * batch, whatever the size of the feed; a feed that would drop more than half waits for a word (D16).
 */
import type { Database } from '../kernel/db/database.ts';
import { toStorable } from '../kernel/db/storable-text.ts';
import { isUnavailable } from '../kernel/db/unavailable.ts';
import { ApiError, apiError, invalid, type Violation } from '../kernel/errors.ts';
import { newId } from '../kernel/ids.ts';
import type { Format, PromisedFormat } from '../kernel/tables/index.ts';
import type { Log } from '../kernel/telemetry/log.ts';
import { type Clock, HOUR } from '../kernel/time/clock.ts';
import type { Changes } from './changes.ts';
import { readFeed } from './feeds/index.ts';
import { type FeedRow, itemPidIn, type RowResult, toItem } from './feeds/row.ts';
import * as store from './import-store.ts';
import { isCountry, languageKey } from './item.ts';
import type { Revisions } from './revisions.ts';
import type { Mode, Scope } from './store.ts';

export interface ImportInput {
  tenantId: string;
  /** Where it comes from, for people: a file name, `upload`, an address. */
  source: string;
  content: AsyncIterable<Uint8Array>;
  /** Content decides where it is not told, and between JSON and NDJSON where it is promised alone. */
  format?: Format | PromisedFormat | null;
  /** The character set that the sender told, for content that does not tell it itself; asked once content has come. */
  charset?: () => string | null;
  mode: Mode;
  language?: string | null;
  country?: string | null;
  feedId?: string | null;
  /** After each batch that was read, and once more when the rows begin to become items. */
  onProgress?: (progress: { step: 'reading' | 'applying'; rows: number; rejected: number }) => void;
  /** Every refused row, beyond those that the import keeps; reading waits for it, so that refusals do not pile up. */
  onError?: (error: store.RowError) => void | Promise<void>;
  /** Apply even when more than half of the catalog goes. */
  confirmed?: boolean;
}

export interface Imports {
  /** Answers the import as it ended; throws when the database, and not the feed, was in the way. */
  run(input: ImportInput): Promise<store.Import>;
  get(tenantId: string, id: string): Promise<store.Import>;
  list(tenantId: string): Promise<store.Import[]>;
  /** Applies a held import. */
  confirm(tenantId: string, id: string): Promise<store.Import>;
  /** Drops a held import. */
  cancel(tenantId: string, id: string): Promise<store.Import>;
  /** Ends imports whose process is gone. */
  sweep(): Promise<void>;
}

const BATCH = 1000;
const KEPT_ERRORS = 1000;
/** A feed that is fetched every five minutes makes some 300 a day, each with what was wrong with up to 1000 rows. */
const KEPT_IMPORTS = 1000;
const LISTED_IMPORTS = 100;
/** Staging is not logged, so a crash of the database empties it. A full feed without rows would remove everything. */
const LOST = 'The rows of the feed were lost in a crash of the database; import it again.';
/** An import tells of itself with every batch. Making items of a million rows takes minutes. */
const SILENT_MS = HOUR;
const NOT_TAKEN = 'The database could not take the feed; import it again.';
export const INTERRUPTED = 'The import was interrupted.';
const CANCELLED = 'Cancelled instead of confirmed.';
const NOT_THERE = 'link is missing, and the item is not there yet';
const DELETED = 'the item was deleted, which the feed of a language or a country does not undo';

type Accepted = { line: number } & store.StagedRow;
type Refused = Extract<RowResult, { reasons: string[] }>;

export function createImports(dependencies: {
  db: Database;
  clock: Clock;
  log: Log;
  changes: Changes;
  revisions: Revisions;
}): Imports {
  const { db, clock, log, changes, revisions } = dependencies;

  /** Answers the import as it ended: `done`, `failed` when its rows are gone, or `cancelled` when it is out of date. */
  async function apply(given: store.Import, from: 'running' | 'held'): Promise<store.Import> {
    const { tenantId, id: importId, language, country, mode, began } = given;
    const ended = await revisions.change(tenantId, async (sql, revision) => {
      const now = new Date(clock.now());
      const end = async (how: Pick<store.Import, 'state' | 'message' | 'changed' | 'removed'>) => {
        const ended: store.Import = { ...given, ...how, finishedAt: now };
        await store.dropStaging(sql, tenantId, importId);
        // Somebody else was here first; what has become of the rows is their doing.
        if (!(await store.updateImport(sql, ended, from)))
          throw apiError(
            'conflict',
            from === 'held' ? `The import ${importId} is not held any more.` : INTERRUPTED,
          );
        return ended;
      };
      const nothing = { changed: 0, removed: 0 };
      if (!(await store.closeStaging(sql, tenantId, importId)))
        return end({ state: 'failed', message: LOST, ...nothing });
      const later = await store.findLaterFull(sql, given);
      if (later !== undefined)
        return end({ state: 'cancelled', message: `${later.id} began later and is done.`, ...nothing });
      const scope = { tenantId, importId, revision, began, now, language, country };
      const changed = await store.applyStaging(sql, scope);
      const removed = await store.removeUnstaged(sql, { ...scope, mode });
      return end({ state: 'done', message: null, changed, removed });
    });
    if (ended.state === 'done') await changes.announce(tenantId);
    return ended;
  }

  async function stageAll(given: store.Import, input: ImportInput): Promise<void> {
    const { tenantId, id: importId } = given;
    await store.openStaging(db.sql, tenantId, importId);
    const needsLink = given.language === null && given.country === null;
    let batch: Accepted[] = [];
    let refused: string[] = [];
    const refuseRow = async (line: number, verdict: Refused) => {
      given.rejected++;
      const itemPid = toStorable(verdict.itemPid.slice(0, 255));
      if (itemPid !== '') refused.push(itemPid);
      const error = { line, item_pid: itemPid || null, reasons: verdict.reasons };
      if (given.errors.length < KEPT_ERRORS) given.errors.push(error);
      await input.onError?.(error);
    };
    /**
     * A feed that is about something else need not tell the address of an item that is there, and cannot bring back one that
     * was deleted: it would consist of a part.
     */
    const joinKnown = async () => {
      const told = batch.filter(({ deleted }) => !deleted);
      if (needsLink || told.length === 0) return;
      const itemPids = told.map(({ item }) => item.itemPid);
      const known = await store.findKnown(db.sql, tenantId, itemPids);
      const refused = new Set<Accepted>();
      for (const row of told) {
        const { line, item } = row;
        const there = known.get(item.itemPid);
        const lacks = item.itemUrl === '';
        if (there?.isDeleted || (lacks && (there?.removed ?? true))) {
          refused.add(row);
          await refuseRow(line, { reasons: [there?.isDeleted ? DELETED : NOT_THERE], itemPid: item.itemPid });
        } else if (lacks) Object.assign(row, { item: { ...item, itemUrl: there!.itemUrl }, linked: false });
      }
      given.accepted -= refused.size;
      batch = batch.filter((row) => !refused.has(row));
    };
    const flush = async () => {
      await joinKnown();
      if (refused.length > 0) await store.stageRefused(db.sql, { tenantId, importId, itemPids: refused });
      refused = [];
      if (batch.length > 0) await store.stage(db.sql, { tenantId, importId, rows: batch });
      batch = [];
      await store.touchImport(db.sql, given, new Date(clock.now()));
      input.onProgress?.({ step: 'reading', rows: given.rows, rejected: given.rejected });
    };
    const { format, charset } = input;
    for await (const row of readFeed(contentOf(input), { format, charset, mayBeEmpty: false })) {
      given.rows++;
      const verdict = judge(row, needsLink);
      if ('reasons' in verdict) await refuseRow(row.line, verdict);
      else {
        given.accepted++;
        batch.push({ line: row.line, ...verdict });
      }
      if (batch.length + refused.length >= BATCH) await flush();
    }
    await flush();
    if (given.rows > BATCH) await store.measureStaging(db.sql);
  }

  /** Of a feed that is fetched again and again, the last word counts. */
  async function replaceHeld({ tenantId, feedId, id }: store.Import): Promise<void> {
    if (feedId === null) return;
    await db.transaction(async ({ sql }) => {
      const message = `Replaced by ${id}.`;
      const now = new Date(clock.now());
      const replaced = await store.cancelHeldImports(sql, { tenantId, feedId, before: id, message, now });
      for (const { id: earlier } of replaced) await store.dropStaging(sql, tenantId, earlier);
    });
  }

  /** Lets an import wait that would drop more than half of what there is (D16); null when it may be applied. */
  async function heldBack(given: store.Import): Promise<store.Import | null> {
    const { there, dropped } = await store.countDrop(db.sql, { ...given, importId: given.id });
    if (dropped <= there / 2) return null;
    const message = `The feed would drop ${dropped} of ${there} items; it waits to be confirmed.`;
    const held: store.Import = { ...given, state: 'held', removed: dropped, message };
    if (!(await store.updateImport(db.sql, held, 'running'))) throw apiError('conflict', INTERRUPTED);
    await replaceHeld(held);
    return held;
  }

  async function fail(given: store.Import, error: unknown): Promise<store.Import> {
    const message = isDatabaseAway(error) ? NOT_TAKEN : textOf(error);
    const failed: store.Import = { ...given, state: 'failed', message, finishedAt: new Date(clock.now()) };
    await store.dropStaging(db.sql, given.tenantId, given.id);
    await store.updateImport(db.sql, failed, 'running');
    return failed;
  }

  async function get(tenantId: string, id: string): Promise<store.Import> {
    const found = await store.findImport(db.sql, tenantId, id);
    if (found === undefined) throw apiError('notFound', `There is no import ${id}.`);
    return found;
  }

  return {
    async run(input) {
      const scope = scopeOf(input);
      const began = await revisions.change(input.tenantId, async (_, revision) => revision);
      const given = newImport(input, { ...scope, began, createdAt: new Date(clock.now()) });
      await store.insertImport(db.sql, given);
      await store.forgetImports(db.sql, input.tenantId, KEPT_IMPORTS);
      try {
        await stageAll(given, input);
        if (!(await store.isStaged(db.sql, given.tenantId, given.id))) throw apiError('unavailable', LOST);
        const held = input.confirmed === true ? null : await heldBack(given);
        if (held !== null) return held;
        input.onProgress?.({ step: 'applying', rows: given.rows, rejected: given.rejected });
        const ended = await apply(given, 'running');
        if (ended.state === 'done') await replaceHeld(ended);
        return ended;
      } catch (error) {
        const failed = await fail(given, error);
        // Whoever sent a good feed is to send it again, and not to mend it.
        if (isDatabaseAway(error) || (error instanceof ApiError && error.code === 'unavailable')) throw error;
        // Mostly it is the feed's fault. Where it is ours, only this tells where.
        log.warn({ err: error, tenant: given.tenantId, import: given.id }, 'import failed');
        return failed;
      }
    },
    get,
    list: (tenantId) => store.listImports(db.sql, tenantId, LISTED_IMPORTS),
    async confirm(tenantId, id) {
      const found = await get(tenantId, id);
      if (found.state !== 'held') throw apiError('conflict', `The import ${id} is ${found.state}, not held.`);
      const ended = await apply(found, 'held');
      if (ended.state !== 'done') throw apiError('conflict', ended.message ?? undefined);
      return ended;
    },
    async cancel(tenantId, id) {
      const found = await get(tenantId, id);
      const cancelled: store.Import = {
        ...found,
        state: 'cancelled',
        removed: 0,
        message: CANCELLED,
        finishedAt: new Date(clock.now()),
      };
      if (!(await store.updateImport(db.sql, cancelled, 'held')))
        throw apiError('conflict', `The import ${id} is ${found.state}, not held.`);
      await store.dropStaging(db.sql, tenantId, id);
      return cancelled;
    },
    sweep: () =>
      db.transaction(async ({ sql }) => {
        const now = clock.now();
        const silent = { silentSince: new Date(now - SILENT_MS), message: INTERRUPTED, now: new Date(now) };
        for (const { tenantId, id } of await store.failSilentImports(sql, silent))
          await store.dropStaging(sql, tenantId, id);
      }),
  };
}

function newImport(
  input: ImportInput,
  { language, country, began, createdAt }: Scope & Pick<store.Import, 'began' | 'createdAt'>,
): store.Import {
  const { tenantId, source, feedId = null, format = null, mode } = input;
  return {
    tenantId,
    id: newId('imp'),
    source,
    feedId,
    format: typeof format === 'string' ? format : (format?.promised ?? null),
    mode,
    language,
    country,
    state: 'running',
    rows: 0,
    accepted: 0,
    rejected: 0,
    changed: 0,
    removed: 0,
    errors: [],
    message: null,
    began,
    createdAt,
    finishedAt: null,
  };
}

const textOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
const isDatabaseAway = (error: unknown) => isUnavailable((error as { code?: string } | null)?.code ?? '');

/** What the sender of the feed fails with has the codes of a lost database, and is not one. */
async function* contentOf({ content }: ImportInput): AsyncGenerator<Uint8Array> {
  try {
    yield* content;
  } catch (error) {
    throw new Error(textOf(error), { cause: error });
  }
}

function judge(row: FeedRow, needsLink: boolean): RowResult {
  if (row.values !== undefined) return toItem(row.values, { needsLink });
  return { reasons: [row.error], itemPid: row.partial === undefined ? '' : itemPidIn(row.partial) };
}

/**
 * A feed speaks about everything, one language or one country.
 *
 * @example scopeOf({ language: 'nl_BE' }) // { language: 'nl-be', country: null }
 */
export function scopeOf(input: Pick<ImportInput, 'language' | 'country'>): Scope {
  const violations = scopeViolations(input);
  if (violations.length > 0) throw invalid(violations);
  const { language, country } = input;
  return {
    language: language ? languageKey(language) : null,
    country: country ? country.toUpperCase() : null,
  };
}

/** Of whatever a request says there; what is no text is the business of its schema. */
export function scopeViolations({
  language,
  country,
}: {
  language?: unknown;
  country?: unknown;
}): Violation[] {
  const found: Violation[] = [];
  if (language && typeof language === 'string' && languageKey(language) === null)
    found.push({ member: 'language', message: 'must be a BCP 47 tag' });
  if (country && typeof country === 'string' && !isCountry(country))
    found.push({ member: 'country', message: 'must be an ISO 3166-1 alpha-2 code' });
  if (language && country && found.length === 0)
    found.push({
      member: 'country',
      message: 'must not come with language: a feed is for one language or for one country, not both',
    });
  return found;
}
