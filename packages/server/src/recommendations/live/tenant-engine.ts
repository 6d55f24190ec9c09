/**
 * A tenant's recommendations in this process: the engine, the items it speaks of, and who its visitors are. Everything
 * that a request needs is here, in memory; what happens elsewhere comes in through `putItems`, `add` and `swap`.
 */
import type { EngineBase } from '@signalbox/recommendation-engine/base';
import { buildEngine } from '@signalbox/recommendation-engine/build';
import { type Engine, openEngine } from '@signalbox/recommendation-engine/engine';
import { createInteractionLog } from '@signalbox/recommendation-engine/log/interactions';
import { has } from '@signalbox/recommendation-engine/structures/bitset';
import type { CatalogRecord } from '../../catalog/index.ts';
import { contactOfKey, createPeople, type People, type Person } from '../interactions/people.ts';
import type { StoredInteraction } from '../store/interactions.ts';
import {
  engineInteraction,
  engineItem,
  isRecommendable,
  PLACEHOLDER,
  pageId,
  storedPage,
} from './engine-input.ts';
import { createItemPages } from './item-pages.ts';
import { createItemSets, type ItemSets } from './item-sets.ts';

export interface TenantEngine {
  readonly tenantId: string;
  readonly engine: Engine;
  readonly people: People;
  readonly sets: ItemSets;
  /** Grows when an answer from before must not be given again: items or models have changed. */
  readonly generation: number;
  /** Id of the build that the engine was opened from; null for one without. */
  readonly buildId: string | null;
  itemAt(number: number): CatalogRecord | undefined;
  find(itemPid: string): CatalogRecord | undefined;
  /** The item whose page this is (D13). */
  findByPage(key: string): CatalogRecord | undefined;
  /** All items of a page that has several; undefined for any other. */
  itemsOnPage(key: string): Iterable<CatalogRecord> | undefined;
  /** Number of a page that is no item; -1 when nobody was there. */
  pageNumber(key: string): number;
  /** How much is known of a person: when it is the same as before, so is the person. */
  activityCount(person: Person): number;
  putItems(records: readonly CatalogRecord[]): void;
  /** Counts interactions; what was counted before is left out. */
  add(rows: readonly StoredInteraction[]): void;
  /** Forgets everything that the visitors with these keys did up to a time, and who they were. */
  forget(keys: readonly string[], at: number): void;
  /** Puts a newly built base in the place of the old one, with everything that it does not contain yet. */
  replaceBase(input: { base: EngineBase; buildId: string; cut: number; catalogRevision: number }): void;
  /** More new items have come than the live part of an engine should hold: it wants to be built anew. */
  readonly needsRebuild: boolean;
  /** Whether any item is for certain countries only. */
  readonly hasCountries: boolean;
  /** Whether any item says something of its own in the country. */
  hasCountryData(country: string): boolean;
}

/** Items that are put into a running engine, beside those of its base. */
const MAX_LIVE = 5000;
/**
 * Of what no model has yet, this much is counted: after days without a model, or with the first start of another release, there
 * may be more than memory holds. The next model has it all.
 */
export const MAX_NEWS = 200_000;

const emptyBase = (): EngineBase =>
  buildEngine({ catalog: [PLACEHOLDER], log: createInteractionLog().finish() });

/** Decay counts from the newest interaction. Without any it would count from 1970, and the first one would be infinite. */
function anchored(base: EngineBase): EngineBase {
  return base.interactions > 0 ? base : { ...base, popularity: { ...base.popularity, origin: Date.now() } };
}

export function createTenantEngine(tenantId: string, { mostNews = MAX_NEWS } = {}): TenantEngine {
  const records = new Map<string, CatalogRecord>();
  const pages = createItemPages();
  const people = createPeople();
  /** What came since the cut of the base, for the next engine. */
  let recent: StoredInteraction[] = [];
  let counted = new Set<string>();
  /** Keys of erased persons, with the time: a base from before it still has them. */
  const forgotten = new Map<string, number>();
  let engine: Engine;
  let byNumber: (CatalogRecord | undefined)[];
  let sets: ItemSets;
  let generation = 0;
  let buildId: string | null = null;
  let baseRevision = -1;
  /** What arrived up to here is inside the base. */
  let baseCut = 0;
  /** What arrived up to here was counted once, and let go where it was more than is kept. */
  let droppedUntil = 0;
  let live = 0;
  let overflowing = false;
  const countries = new Set<string>();
  beginWith(openEngine(anchored(emptyBase())));

  /** Puts an engine that knows its base alone in the place of the one in use, and tells it all that is known besides. */
  function beginWith(fresh: Engine): void {
    engine = fresh;
    engine.removeItem(PLACEHOLDER.id);
    live = 0;
    overflowing = false;
    byNumber = new Array(engine.base.items.count);
    sets = createItemSets(() => byNumber);
    for (const record of records.values()) place(record);
    for (const key of forgotten.keys()) engine.delta.visitors.forget(key);
    for (const row of recent) count(row);
    generation++;
  }

  function keep(rows: StoredInteraction[]): void {
    recent = rows;
    counted = new Set(rows.map(({ id }) => id));
  }

  /** The live part has no way to take an interaction back: it is made anew, with the newest. */
  function dropOldest(): void {
    for (const { receivedAt } of recent.slice(0, -mostNews))
      droppedUntil = Math.max(droppedUntil, receivedAt);
    keep(recent.slice(-mostNews));
    beginWith(openEngine(engine.base));
  }

  /** Tells the engine of an item, unless the base has it as it is. */
  function place(record: CatalogRecord): void {
    const offered = isRecommendable(record);
    const known = engine.numberOf(record.itemPid);
    const same =
      record.revision <= baseRevision && known >= 0 && has(engine.base.catalog.listed, known) === offered;
    if (record.removed) engine.removeItem(record.itemPid);
    else if (!same) {
      if (known < 0 && live >= MAX_LIVE) {
        // What is sold out is missed by nobody but the visitors of its page.
        overflowing ||= offered;
        return;
      }
      if (known < 0) live++;
      engine.putItem(engineItem(record));
    }
    const number = engine.numberOf(record.itemPid);
    if (number < 0) return;
    byNumber[number] = record;
    sets.changed(number, offered ? record : undefined);
  }

  function index(record: CatalogRecord): void {
    pages.replace(records.get(record.itemPid), record);
    records.set(record.itemPid, record);
    for (const country in record.countries) countries.add(country);
  }

  function count(row: StoredInteraction): void {
    const interaction = engineInteraction(row, people);
    if (interaction === null || row.receivedAt <= (forgotten.get(interaction.visitor) ?? 0)) return;
    engine.add(interaction);
  }

  return {
    tenantId,
    people,
    get engine() {
      return engine;
    },
    get sets() {
      return sets;
    },
    get generation() {
      return generation;
    },
    get buildId() {
      return buildId;
    },
    get needsRebuild() {
      return overflowing;
    },
    get hasCountries() {
      return countries.size > 0;
    },
    hasCountryData: (country) => countries.has(country),
    itemAt: (number) => byNumber[number],
    find: (itemPid) => records.get(itemPid),
    findByPage: pages.find,
    itemsOnPage: pages.sharersOf,
    pageNumber: (key) => engine.numberOf(pageId(storedPage(key))),
    activityCount(person) {
      let deeds = 0;
      for (const key of people.keysOf(person)) deeds += engine.delta.visitors.countOf(key);
      return deeds;
    },
    putItems(changed) {
      if (changed.length === 0) return;
      for (const record of changed) {
        index(record);
        place(record);
      }
      generation++;
    },
    add(rows) {
      for (const row of rows) {
        if (row.receivedAt <= Math.max(baseCut, droppedUntil) || counted.has(row.id)) continue;
        counted.add(row.id);
        recent.push(row);
        count(row);
      }
      if (recent.length >= 2 * mostNews) dropOldest();
    },
    forget(keys, at) {
      const unknown = keys.filter((key) => at > Math.max(baseCut, forgotten.get(key) ?? 0));
      for (const key of unknown) {
        forgotten.set(key, at);
        engine.delta.visitors.forget(key);
        const contact = contactOfKey(key);
        if (contact !== null) people.unlink(contact);
      }
      if (unknown.length > 0) generation++;
    },
    replaceBase({ base, buildId: newBuild, cut, catalogRevision }) {
      const fresh = openEngine(anchored(base));
      keep(recent.filter((row) => row.receivedAt > cut));
      baseRevision = catalogRevision;
      baseCut = cut;
      for (const [key, at] of forgotten) if (cut >= at) forgotten.delete(key);
      beginWith(fresh);
      buildId = newBuild;
    },
  };
}
