/**
 * What happened since the base was built: kept in ordinary maps (it is small), read by the same models, dropped when the
 * next base takes over. An interaction counts in the very next prediction.
 */
import type { EngineBase } from './base.ts';
import type { CatalogItem } from './catalog.ts';
import { type Interaction, kindCode } from './interactions.ts';
import { type LiveCatalog, openLiveCatalog } from './live-catalog.ts';
import { type LiveCounters, openLiveCounters } from './live-counters.ts';
import { type LiveVisitors, openLiveSessions } from './live-sessions.ts';
import { createVocabulary, indexOfId } from './vocabulary.ts';

export interface Delta {
  catalog: LiveCatalog;
  visitors: LiveVisitors;
  counters: LiveCounters;
  /** Counts an interaction; an unknown item gets a number. */
  add(interaction: Interaction): void;
  /** Adds or changes an item of the catalog: listed and findable at once. */
  putItem(item: CatalogItem, at?: number): void;
  /** Takes an item out of all answers at once. */
  removeItem(id: string, at?: number): void;
  /** 0 = unknown, otherwise the country's number plus one. */
  countryOf(code: string): number;
  /** Puts what `base` does not contain yet into another delta: the step between a rebuilt base and its first answer. */
  carryInto(next: Delta, base: EngineBase): void;
  readonly size: number;
}

/**
 * @example
 * const delta = createDelta(base);
 * delta.add({ visitor: 'v1', item: 'sku-1', kind: 'view', time: Date.now() });
 */
export function createDelta(base: EngineBase): Delta {
  const catalog = openLiveCatalog(base);
  const visitors = openLiveSessions(base);
  const counters = openLiveCounters(base);
  const countries = createVocabulary();
  const interactions: Interaction[] = [];
  const changes: { at: number; put?: CatalogItem; remove?: string }[] = [];

  /** Requests only look a country up, interactions may bring a new one. */
  const countryNumber = (code: string, lookUp: (name: string) => number): number => {
    const name = code.toUpperCase();
    const known = indexOfId(base.countries, name);
    if (known >= 0) return known + 1;
    const live = lookUp(name);
    return live < 0 ? 0 : base.countries.count + live + 1;
  };

  const delta: Delta = {
    catalog,
    visitors,
    counters,
    get size() {
      return interactions.length;
    },
    add(interaction) {
      interactions.push(interaction);
      const step = {
        item: catalog.intern(interaction.item),
        kind: kindCode(interaction.kind ?? 'view'),
        time: interaction.time,
      };
      const steps = visitors.add(interaction.visitor, step);
      const { country } = interaction;
      counters.count(steps, country === undefined ? 0 : countryNumber(country, countries.intern));
    },
    putItem(item, at = Date.now()) {
      changes.push({ at, put: item });
      catalog.put(item);
    },
    removeItem(id, at = Date.now()) {
      changes.push({ at, remove: id });
      catalog.remove(id);
    },
    countryOf: (code) => countryNumber(code, countries.indexOf),
    carryInto(next, newBase) {
      for (const { at, put, remove } of changes) {
        if (at < newBase.catalogTime) continue;
        if (put !== undefined) next.putItem(put, at);
        if (remove !== undefined) next.removeItem(remove, at);
      }
      for (const interaction of interactions) if (interaction.time > newBase.through) next.add(interaction);
    },
  };
  return delta;
}
