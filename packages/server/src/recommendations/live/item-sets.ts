/**
 * Sets of items that satisfy a condition, as bitsets over the engine's item numbers, and factors for the same. Each is
 * computed once over the whole catalog and then kept up to date item by item, so that no request walks the catalog.
 */
import type { CatalogRecord } from '../../catalog/index.ts';
import { addTo, type Bitset, createBitset, removeFrom } from '../engine/bitset.ts';
import type { Predicate } from '../widgets/condition.ts';

export interface ItemSets {
  /** The items for which the predicate holds; `key` names the predicate. */
  allowed(key: string, predicate: () => Predicate): Bitset;
  /** A factor per item number. */
  factors(key: string, factorOf: () => (item: CatalogRecord) => number): Float32Array;
  /** An item was added or changed; undefined when it is gone. */
  changed(number: number, item: CatalogRecord | undefined): void;
}

interface AllowedEntry {
  kind: 'allowed';
  set: Bitset;
  holds: Predicate;
}
interface FactorEntry {
  kind: 'factors';
  values: Float32Array;
  factorOf: (item: CatalogRecord) => number;
}

/** For a catalog of 1,000,000 items a set has 125 kB. */
const MOST_SETS = 256;
const MOST_FACTORS = 32;
const SPARE = 4096;

/** @example const sets = createItemSets(() => records); sets.allowed('in-stock', () => (item) => item.available) */
export function createItemSets(items: () => readonly (CatalogRecord | undefined)[]): ItemSets {
  const entries = new Map<string, AllowedEntry | FactorEntry>();

  function remember(key: string, entry: AllowedEntry | FactorEntry): void {
    entries.set(key, entry);
    const most = entry.kind === 'allowed' ? MOST_SETS : MOST_FACTORS;
    let count = 0;
    for (const { kind } of entries.values()) if (kind === entry.kind) count++;
    if (count <= most) return;
    for (const [oldest, { kind }] of entries) {
      if (kind !== entry.kind) continue;
      entries.delete(oldest);
      return;
    }
  }

  function apply(entry: AllowedEntry | FactorEntry, number: number, item: CatalogRecord | undefined): void {
    if (entry.kind === 'factors') {
      entry.values = widened(entry.values, number);
      entry.values[number] = item === undefined ? 1 : entry.factorOf(item);
      return;
    }
    if (number >>> 5 >= entry.set.words.length) {
      const wider = createBitset((number + SPARE) * 2);
      wider.words.set(entry.set.words);
      wider.count = entry.set.count;
      entry.set = wider;
    }
    if (item !== undefined && entry.holds(item)) addTo(entry.set, number);
    else removeFrom(entry.set, number);
  }

  return {
    allowed(key, predicate) {
      const known = entries.get(key);
      if (known?.kind === 'allowed') return known.set;
      const all = items();
      const entry: AllowedEntry = {
        kind: 'allowed',
        set: createBitset(all.length + SPARE),
        holds: predicate(),
      };
      for (let number = 0; number < all.length; number++) {
        const item = all[number];
        if (item !== undefined && entry.holds(item)) addTo(entry.set, number);
      }
      remember(key, entry);
      return entry.set;
    },
    factors(key, factorOf) {
      const known = entries.get(key);
      if (known?.kind === 'factors') return known.values;
      const all = items();
      const entry: FactorEntry = {
        kind: 'factors',
        values: new Float32Array(all.length + SPARE).fill(1),
        factorOf: factorOf(),
      };
      for (let number = 0; number < all.length; number++) {
        const item = all[number];
        if (item !== undefined) entry.values[number] = entry.factorOf(item);
      }
      remember(key, entry);
      return entry.values;
    },
    changed(number, item) {
      for (const entry of entries.values()) apply(entry, number, item);
    },
  };
}

function widened(values: Float32Array, number: number): Float32Array {
  if (number < values.length) return values;
  const wider = new Float32Array((number + SPARE) * 2).fill(1);
  wider.set(values);
  return wider;
}
