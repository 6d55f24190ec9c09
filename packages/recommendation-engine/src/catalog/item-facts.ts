/** One way to ask for an item's categories, brand and price, whether it is in the base or came later. */
import type { CatalogIndex } from './catalog.ts';

/** Facts about items, those that came after the catalog was indexed included. */
export interface ItemFacts {
  categoriesOf(item: number): ArrayLike<number>;
  /** The first category, or -1. */
  mainCategory(item: number): number;
  /** Shared categories over all categories of the two (Jaccard). */
  categoryOverlap(one: number, other: number): number;
  brandOf(item: number): number;
  priceOf(item: number): number;
}

/** What a live item says of itself, in numbers. */
export interface LiveFacts {
  categories: readonly number[];
  brand: number;
  price: number;
}

const NOTHING: LiveFacts = { categories: [], brand: -1, price: Number.NaN };

export function openItemFacts(
  catalog: CatalogIndex,
  live: ReadonlyMap<number, LiveFacts> = new Map(),
): ItemFacts {
  const { offsets, values } = catalog.itemCategories;
  const { itemCount } = catalog;
  const isInBase = (item: number): boolean => item < itemCount && (live.size === 0 || !live.has(item));
  const categoriesOf = (item: number): ArrayLike<number> =>
    live.get(item)?.categories ??
    (item < itemCount ? values.subarray(offsets[item]!, offsets[item + 1]!) : []);

  /** The common case, both items in the base, walks the rows in place. */
  const overlapInBase = (one: number, other: number): number => {
    const fromOne = offsets[one]!;
    const toOne = offsets[one + 1]!;
    const fromOther = offsets[other]!;
    const toOther = offsets[other + 1]!;
    let shared = 0;
    for (let i = fromOne; i < toOne; i++) {
      for (let j = fromOther; j < toOther; j++) if (values[i] === values[j]) shared++;
    }
    return shared === 0 ? 0 : shared / (toOne - fromOne + toOther - fromOther - shared);
  };

  return {
    categoriesOf,
    mainCategory: (item) => categoriesOf(item)[0] ?? -1,
    categoryOverlap(one, other) {
      if (isInBase(one) && isInBase(other)) {
        return overlapInBase(one, other);
      }
      const a = categoriesOf(one);
      const b = Array.from(categoriesOf(other));
      const shared = Array.from(a).filter((category) => b.includes(category)).length;
      return shared === 0 ? 0 : shared / (a.length + b.length - shared);
    },
    brandOf: (item) => live.get(item)?.brand ?? (item < itemCount ? catalog.brand[item]! : NOTHING.brand),
    priceOf: (item) => live.get(item)?.price ?? (item < itemCount ? catalog.price[item]! : NOTHING.price),
  };
}
