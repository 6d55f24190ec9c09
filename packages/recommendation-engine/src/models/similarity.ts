/** `similar`: alike by what they are: words, categories, brand and price. Needs no visitor, so it serves new items. */
import type { CatalogIndex } from '../catalog/catalog.ts';
import type { ItemFacts } from '../catalog/item-facts.ts';
import type { ScoreBoard } from '../structures/score-board.ts';
import type { Context } from './context.ts';
import type { Model } from './model.ts';

const TEXT = 0.55;
const CATEGORY = 0.25;
const BRAND = 0.1;
const PRICE = 0.1;

/** Items taken from each of the source's categories and its brand when words alone find few, of so many that are looked at. */
const KIN = 1000;
const KIN_LOOKED_AT = 10_000;

export interface CatalogRows {
  /** Category -> items, most popular first. */
  byCategory: { offsets: Uint32Array; values: Int32Array };
  /** Brand -> items, most popular first. */
  byBrand: { offsets: Uint32Array; values: Int32Array };
}

/** Words of items that the catalog knew nothing of when it was indexed. */
export interface LiveTexts {
  wordsOf(item: number): readonly { word: number; weight: number }[];
  itemsWith(word: number): readonly { item: number; weight: number }[] | undefined;
  /** Live items by category, for sources without words. */
  items(): readonly number[];
}

/** Twice the price or half of it is half as close. */
export const priceCloseness = (a: number, b: number): number =>
  a > 0 && b > 0 ? 2 ** -Math.abs(Math.log2(a / b)) : 0;

export function openSimilarity(input: {
  catalog: CatalogIndex;
  rows: CatalogRows;
  facts: ItemFacts;
  live?: LiveTexts;
}): Model {
  const { catalog, rows, facts, live } = input;
  const { texts } = catalog;

  const addWord = (word: number, weight: number, board: ScoreBoard): void => {
    if (word < texts.words.count) {
      for (let i = texts.listOffsets[word]!; i < texts.listOffsets[word + 1]!; i++) {
        board.add(texts.listItem[i]!, TEXT * weight * texts.listWeight[i]!);
      }
    }
    for (const entry of live?.itemsWith(word) ?? []) board.add(entry.item, TEXT * weight * entry.weight);
  };

  /** What may not be answered, as what is sold out, takes nobody's place. */
  const addKin = (
    list: { offsets: Uint32Array; values: Int32Array },
    row: number,
    { context, board }: { context: Context; board: ScoreBoard },
  ): void => {
    if (row < 0 || row + 1 >= list.offsets.length) return;
    const to = Math.min(list.offsets[row + 1]!, list.offsets[row]! + KIN_LOOKED_AT);
    let found = 0;
    for (let i = list.offsets[row]!; i < to && found < KIN; i++) {
      if (!context.accepts(list.values[i]!)) continue;
      board.add(list.values[i]!, 1e-6);
      found++;
    }
  };

  return {
    algorithm: 'similar',
    score(context, board) {
      if (context.recentCount === 0) return;
      const source = context.recent[0]!;
      if (source < catalog.itemCount) {
        for (let i = texts.offsets[source]!; i < texts.offsets[source + 1]!; i++) {
          addWord(texts.word[i]!, texts.weight[i]!, board);
        }
      }
      for (const entry of live?.wordsOf(source) ?? []) addWord(entry.word, entry.weight, board);
      const categories = facts.categoriesOf(source);
      const brand = facts.brandOf(source);
      const price = facts.priceOf(source);
      for (let i = 0; i < categories.length; i++) addKin(rows.byCategory, categories[i]!, { context, board });
      addKin(rows.byBrand, brand, { context, board });
      for (const item of live?.items() ?? []) board.add(item, 1e-9);
      for (let i = 0; i < board.count; i++) {
        const item = board.touched[i]!;
        board.values[item]! +=
          CATEGORY * facts.categoryOverlap(source, item) +
          (brand >= 0 && brand === facts.brandOf(item) ? BRAND : 0) +
          PRICE * priceCloseness(price, facts.priceOf(item));
      }
    },
  };
}
