/**
 * Sets of items that satisfy conditions, as bitsets over the engine's item numbers, and factors for the same. Each is
 * computed once over the whole catalog and then kept up to date item by item; those that were not asked for the longest
 * make room for others.
 */
import {
  addTo,
  type Bitset,
  createBitset,
  removeFrom,
} from '@signalbox/recommendation-engine/structures/bitset';
import type { CatalogRecord } from '../../catalog/index.ts';
import { BoundedMap } from '../../kernel/memory/bounded-map.ts';
import { type FieldTest, passesAll } from '../widgets/condition.ts';
import { createItemColumns } from './item-columns.ts';

/** Which items are let through. */
export interface Requirement {
  tests: readonly FieldTest[];
  /** What no field tells: whether an item is offered in a country. */
  also?: ((item: CatalogRecord) => boolean) | undefined;
}

/** What passes all tests gets the factor. */
export interface FactorRule {
  tests: readonly FieldTest[];
  factor: number;
}

export interface ItemSets {
  /** The items that satisfy the requirement; `key` names it. */
  allowed(key: string, requirement: () => Requirement): Bitset;
  /** A factor per item number: the product of all rules that apply. The very same array until one of them changes. */
  factors(key: string, rules: () => readonly FactorRule[]): Float32Array;
  /** An item was added or changed; undefined when it is gone. */
  changed(number: number, item: CatalogRecord | undefined): void;
}

interface AllowedEntry extends Requirement {
  set: Bitset;
}
interface FactorEntry {
  rules: readonly FactorRule[];
  values: Float32Array;
  /** Somebody has the values, and does not see them change. */
  given: boolean;
}

/** For a catalog of 1,000,000 items a set has 125 kB. */
const MAX_SETS = 256;
const MAX_FACTORS = 32;
const SPARE = 4096;
/** Fifty boosts of a thousand would be more than a score can hold. */
const MAX_FACTOR = 1e12;

/** @example const sets = createItemSets(() => records); sets.allowed('red', () => ({ tests: testsOf(filters) })) */
export function createItemSets(items: () => readonly (CatalogRecord | undefined)[]): ItemSets {
  const columns = createItemColumns(items);
  const allowed = new BoundedMap<string, AllowedEntry>({ max: MAX_SETS, whenFull: 'dropOldest' });
  const factors = new BoundedMap<string, FactorEntry>({ max: MAX_FACTORS, whenFull: 'dropOldest' });

  /** One for every item number that passes all tests. */
  function marksOf(tests: readonly FieldTest[]): Uint8Array {
    const all = items();
    const marks = new Uint8Array(all.length);
    for (let number = 0; number < all.length; number++) marks[number] = Number(all[number] !== undefined);
    for (const test of tests) columns.keepPassing(marks, test);
    return marks;
  }

  function computeAllowed(requirement: Requirement): AllowedEntry {
    const all = items();
    const marks = marksOf(requirement.tests);
    const set = createBitset(all.length + SPARE);
    const { also } = requirement;
    for (let number = 0; number < marks.length; number++)
      if (marks[number] === 1 && (also === undefined || also(all[number]!))) addTo(set, number);
    return { ...requirement, set };
  }

  function computeFactors(rules: readonly FactorRule[]): FactorEntry {
    const products = new Float64Array(items().length + SPARE).fill(1);
    for (const { tests, factor } of rules) {
      const marks = marksOf(tests);
      for (let number = 0; number < marks.length; number++)
        if (marks[number] === 1) products[number]! *= factor;
    }
    return { rules, values: Float32Array.from(products, bounded), given: false };
  }

  function updateAllowed(entry: AllowedEntry, number: number, item: CatalogRecord | undefined): void {
    if (number >>> 5 >= entry.set.words.length) {
      const wider = createBitset((number + SPARE) * 2);
      wider.words.set(entry.set.words);
      wider.count = entry.set.count;
      entry.set = wider;
    }
    const { tests, also, set } = entry;
    if (item !== undefined && passesAll(item, tests) && (also?.(item) ?? true)) addTo(set, number);
    else removeFrom(set, number);
  }

  function updateFactors(entry: FactorEntry, number: number, item: CatalogRecord | undefined): void {
    let product = 1;
    if (item !== undefined)
      for (const { tests, factor } of entry.rules) if (passesAll(item, tests)) product *= factor;
    const value = Math.fround(bounded(product));
    const { length } = entry.values;
    if (number < length && entry.values[number] === value) return;
    if (number >= length || entry.given) {
      const others = new Float32Array(number < length ? length : (number + SPARE) * 2).fill(1, length);
      others.set(entry.values);
      Object.assign(entry, { values: others, given: false });
    }
    entry.values[number] = value;
  }

  function given(entry: FactorEntry): Float32Array {
    entry.given = true;
    return entry.values;
  }

  return {
    allowed: (key, requirement) => remembered(allowed, key, () => computeAllowed(requirement())).set,
    factors: (key, rules) => given(remembered(factors, key, () => computeFactors(rules()))),
    changed(number, item) {
      if (item !== undefined) columns.changed(number, item);
      for (const entry of allowed.values()) updateAllowed(entry, number, item);
      for (const entry of factors.values()) updateFactors(entry, number, item);
    },
  };
}

const bounded = (factor: number) => Math.min(factor, MAX_FACTOR);

/** Each use renews: what was not asked for the longest is dropped first. */
function remembered<T>(entries: BoundedMap<string, T>, key: string, compute: () => T): T {
  return entries.renew(key, entries.get(key) ?? compute());
}
