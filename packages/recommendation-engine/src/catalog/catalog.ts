/** What is known of the items themselves: the content side of the engine (`similar`, categories, `new`, diversity). */
import { type Bitset, createBitset } from '../structures/bitset.ts';
import {
  packRows,
  type Rows,
  sharedFloat32,
  sharedFloat64,
  sharedInt32,
} from '../structures/shared-array.ts';
import { createVocabulary, type Vocabulary, type VocabularyBuilder } from '../structures/vocabulary.ts';
import { buildTexts, type TextIndex } from './texts.ts';

export interface CatalogItem {
  id: string;
  title?: string;
  description?: string;
  /** All categories that the item is in, ancestors included, the most important first. */
  categories?: readonly string[];
  brand?: string;
  price?: number;
  /** Epoch milliseconds; default: the first interaction with it. */
  addedAt?: number;
  /** Whether it may be recommended; default true. What is sold out still has similar ones, and may come back. */
  listed?: boolean;
}

export interface CatalogIndex {
  itemCount: number;
  /** Whether there is no catalog at all: then everything in the log may be recommended. */
  open: boolean;
  /** Items that may be recommended; the rest (pages, items that left the catalog) only carry behaviour. */
  listed: Bitset;
  categories: Vocabulary;
  itemCategories: Rows;
  brands: Vocabulary;
  /** -1 = none. */
  brand: Int32Array;
  /** NaN = unknown. */
  price: Float32Array;
  /** NaN = unknown. */
  addedAt: Float64Array;
  texts: TextIndex;
}

/**
 * Arranges catalog items along the engine's item numbers. Without items (a bare log) everything counts as listed.
 */
export function buildCatalog(input: {
  items: readonly CatalogItem[] | undefined;
  numbers: VocabularyBuilder;
}): CatalogIndex {
  const { items = [], numbers } = input;
  for (const item of items) numbers.intern(item.id);
  const itemCount = numbers.count;
  const byNumber: (CatalogItem | undefined)[] = new Array(itemCount);
  for (const item of items) byNumber[numbers.indexOf(item.id)] = item;

  const categories = createVocabulary();
  const brands = createVocabulary();
  const index: CatalogIndex = {
    itemCount,
    open: input.items === undefined,
    listed: createBitset(itemCount, input.items === undefined ? everyItem(itemCount) : listedItems(byNumber)),
    itemCategories: packRows(
      Array.from(byNumber, (item) => [...new Set(item?.categories ?? [])].map(categories.intern)),
    ),
    categories: categories.pack(),
    brand: sharedInt32(itemCount).fill(-1),
    brands: brands.pack(),
    price: sharedFloat32(itemCount).fill(Number.NaN),
    addedAt: sharedFloat64(itemCount).fill(Number.NaN),
    texts: buildTexts(byNumber),
  };
  for (let i = 0; i < itemCount; i++) {
    const item = byNumber[i];
    if (item?.brand !== undefined) index.brand[i] = brands.intern(item.brand);
    if (item?.price !== undefined) index.price[i] = item.price;
    if (item?.addedAt !== undefined) index.addedAt[i] = item.addedAt;
  }
  index.brands = brands.pack();
  return index;
}

function* everyItem(count: number): Iterable<number> {
  for (let item = 0; item < count; item++) yield item;
}

function* listedItems(byNumber: readonly (CatalogItem | undefined)[]): Iterable<number> {
  for (let item = 0; item < byNumber.length; item++)
    if (byNumber[item]?.listed ?? byNumber[item] !== undefined) yield item;
}

/** Whether the catalog says anything of an item, rather than visitors alone. */
export function isDescribed(
  { itemCount, texts, itemCategories, addedAt }: CatalogIndex,
  item: number,
): boolean {
  if (item >= itemCount) return false;
  const says = ({ offsets }: { offsets: Uint32Array }): boolean => offsets[item]! < offsets[item + 1]!;
  return says(texts) || says(itemCategories) || !Number.isNaN(addedAt[item]!);
}
