/**
 * What happened since the base was built: kept in ordinary maps (it is small), read by the same models, dropped when the
 * next base takes over. An interaction counts in the very next prediction.
 */
import type { EngineBase } from '../base.ts';
import type { CatalogItem } from '../catalog/catalog.ts';
import { type Interaction, kindCode } from '../log/interactions.ts';
import { createVocabulary, indexOfId } from '../structures/vocabulary.ts';
import { type LiveCatalog, openLiveCatalog } from './live-catalog.ts';
import { type LiveCounters, openLiveCounters } from './live-counters.ts';
import { type LiveVisitors, openLiveSessions } from './live-sessions.ts';

export interface Delta {
  catalog: LiveCatalog;
  visitors: LiveVisitors;
  counters: LiveCounters;
  /** Counts an interaction; an unknown item gets a number. */
  add(interaction: Interaction): void;
  /** Adds or changes an item of the catalog: listed and findable at once. */
  putItem(item: CatalogItem): void;
  /** Takes an item out of all answers at once. */
  removeItem(id: string): void;
  /** 0 = unknown, otherwise the country's number plus one. */
  countryOf(code: string): number;
  /** How many interactions it has counted. */
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
  let size = 0;

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
      return size;
    },
    add(interaction) {
      size++;
      const step = {
        item: catalog.intern(interaction.item),
        kind: kindCode(interaction.kind ?? 'view'),
        time: interaction.time,
      };
      const session = visitors.add(interaction.visitor, step);
      const { country } = interaction;
      counters.count(session, country === undefined ? 0 : countryNumber(country, countries.intern));
    },
    putItem: catalog.put,
    removeItem: catalog.remove,
    countryOf: (code) => countryNumber(code, countries.indexOf),
  };
  return delta;
}
