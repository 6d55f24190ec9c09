/** Items since the base was built: their numbers, facts, words, and whether they may be recommended. */
import type { EngineBase } from '../base.ts';
import { type CatalogItem, isDescribed } from '../catalog/catalog.ts';
import type { LiveFacts } from '../catalog/item-facts.ts';
import { vectorOf } from '../catalog/texts.ts';
import type { LiveTexts } from '../models/similarity.ts';
import { addTo, type Bitset, createBitset, removeFrom } from '../structures/bitset.ts';
import { createVocabulary, idAt, indexOfId } from '../structures/vocabulary.ts';

export interface LiveCatalog extends LiveTexts {
  /** Base items and live ones. */
  readonly itemCount: number;
  readonly listed: Bitset;
  numberOf(id: string): number;
  idOf(item: number): string;
  /** The item's number; an unknown id gets one, unlisted unless the engine has no catalog at all. */
  intern(id: string): number;
  put(item: CatalogItem): number;
  remove(id: string): void;
  readonly facts: ReadonlyMap<number, LiveFacts>;
  categoryOf(name: string): number;
  /** Live items, the newest first by the catalog's date; the same list until another comes. */
  newestFirst(): readonly number[];
  /** When an item was added, in epoch milliseconds; NaN when the base does not know. A live item without a date has just come. */
  dateOf(item: number): number;
}

export function openLiveCatalog(base: EngineBase): LiveCatalog {
  const baseCount = base.items.count;
  const ids = createVocabulary();
  const categories = createVocabulary();
  const brands = createVocabulary();
  const words = createVocabulary();
  const facts = new Map<number, LiveFacts>();
  const vectors = new Map<number, { word: number; weight: number }[]>();
  const lists = new Map<number, { item: number; weight: number }[]>();
  /** Live ones, in the order of their coming, and as {@link LiveCatalog.newestFirst} gives them. */
  const added: number[] = [];
  let newestFirst: readonly number[] | null = null;
  const dates = new Map<number, number>();
  let listed: Bitset = createBitset(baseCount + 1024);
  listed.words.set(base.catalog.listed.words);
  listed.count = base.catalog.listed.count;

  const numberOf = (id: string): number => {
    const live = ids.indexOf(id);
    return live >= 0 ? baseCount + live : indexOfId(base.items, id);
  };

  const dateOf = (item: number): number => {
    const inBase = item < baseCount ? base.catalog.addedAt[item]! : Number.POSITIVE_INFINITY;
    return Number.isFinite(inBase) ? inBase : (dates.get(item) ?? inBase);
  };

  const list = (item: number): void => {
    if (item >= listed.words.length * 32) {
      const wider = createBitset(listed.words.length * 64);
      wider.words.set(listed.words);
      wider.count = listed.count;
      listed = wider;
    }
    addTo(listed, item);
  };

  const unlist = (item: number): void => {
    if (item < listed.words.length * 32) removeFrom(listed, item);
  };

  const intern = (id: string): number => {
    const known = numberOf(id);
    if (known >= 0) return known;
    const item = baseCount + ids.intern(id);
    if (base.catalog.open) list(item);
    return item;
  };

  /** A number from the base's vocabulary, or one above it. */
  const extend = (
    vocabulary: EngineBase['items'],
    live: ReturnType<typeof createVocabulary>,
    name: string,
  ): number => {
    const known = indexOfId(vocabulary, name);
    return known >= 0 ? known : vocabulary.count + live.intern(name);
  };

  const index = (item: number, content: CatalogItem): void => {
    const { texts } = base.catalog;
    // a word that no other item has is as rare as can be
    const rarest = Math.log(1 + Math.max(1, base.catalog.listed.count));
    const vector = vectorOf(content, (spelling) => {
      const word = extend(texts.words, words, spelling);
      return { word, idf: word < texts.words.count ? texts.idf[word]! : rarest };
    });
    // only an item that comes again has entries to take out: thousands of new ones must not walk each other's lists
    for (const { word } of vectors.get(item) ?? []) {
      const entries = lists.get(word)!;
      entries.splice(
        entries.findIndex((entry) => entry.item === item),
        1,
      );
    }
    vectors.set(item, vector);
    for (const { word, weight } of vector) {
      const entries = lists.get(word);
      if (entries === undefined) lists.set(word, [{ item, weight }]);
      else entries.push({ item, weight });
    }
  };

  return {
    get itemCount() {
      return baseCount + ids.count;
    },
    get listed() {
      return listed;
    },
    numberOf,
    idOf: (item) => (item < baseCount ? idAt(base.items, item) : ids.ids()[item - baseCount]!),
    intern,
    put(content) {
      const item = intern(content.id);
      if (content.listed ?? true) list(item);
      else unlist(item);
      facts.set(item, {
        categories: (content.categories ?? []).map((name) =>
          extend(base.catalog.categories, categories, name),
        ),
        brand: content.brand === undefined ? -1 : extend(base.catalog.brands, brands, content.brand),
        price: content.price ?? Number.NaN,
      });
      // The base may know it by what visitors did alone.
      if (!isDescribed(base.catalog, item)) {
        if (!vectors.has(item)) added.push(item);
        dates.set(item, content.addedAt ?? Number.POSITIVE_INFINITY);
        newestFirst = null;
        index(item, content);
      }
      return item;
    },
    remove(id) {
      const item = numberOf(id);
      if (item >= 0) unlist(item);
    },
    facts,
    categoryOf: (name) => {
      const known = indexOfId(base.catalog.categories, name);
      const live = categories.indexOf(name);
      return known >= 0 || live < 0 ? known : base.catalog.categories.count + live;
    },
    newestFirst() {
      newestFirst ??= added
        .toReversed()
        .sort((a, b) => (dateOf(a) < dateOf(b) ? 1 : dateOf(a) > dateOf(b) ? -1 : 0));
      return newestFirst;
    },
    dateOf,
    wordsOf: (item) => vectors.get(item) ?? [],
    itemsWith: (word) => lists.get(word),
    items: () => added,
  };
}
