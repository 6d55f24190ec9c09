/** Titles and descriptions as sparse vectors (TF-IDF, unit length) with an inverted list per word. */
import { sharedFloat32, sharedInt32, sharedUint32 } from '../structures/shared-array.ts';
import { createVocabulary, type Vocabulary } from '../structures/vocabulary.ts';

/** A title's word says as much as this many of the description's. */
const TITLE_WEIGHT = 3;
/** Words kept per item, the most telling ones. */
const WORDS_PER_ITEM = 24;
/** Items kept per word: a word that more items share tells them apart no longer, and bounds the time of an answer. */
const ITEMS_PER_WORD = 1000;

export interface TextIndex {
  words: Vocabulary;
  idf: Float32Array;
  /** Item -> words. */
  offsets: Uint32Array;
  word: Int32Array;
  weight: Float32Array;
  /** Word -> items, those that may be recommended before the others, heaviest first. */
  listOffsets: Uint32Array;
  listItem: Int32Array;
  listWeight: Float32Array;
}

export interface Text {
  title?: string;
  description?: string;
  listed?: boolean;
}

/**
 * @example wordsOf('Café-Crème, 2 l') // ['cafe', 'creme']
 */
export function wordsOf(text: string): string[] {
  const plain = text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  return (plain.match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => word.length > 1);
}

/** How often each word occurs, a title's words counted more. */
function countWords(text: Text): Map<string, number> {
  const counts = new Map<string, number>();
  const count = (words: string[], weight: number): void => {
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + weight);
  };
  if (text.title !== undefined) count(wordsOf(text.title), TITLE_WEIGHT);
  if (text.description !== undefined) count(wordsOf(text.description), 1);
  return counts;
}

/** A text as a unit vector of its most telling words; `idf` tells a word's rarity, 0 = leave the word out. */
export function vectorOf<W>(
  text: Text,
  lookUp: (word: string) => { word: W; idf: number } | undefined,
): { word: W; weight: number }[] {
  const vector: { word: W; weight: number }[] = [];
  for (const [spelling, count] of countWords(text)) {
    const entry = lookUp(spelling);
    if (entry !== undefined && entry.idf > 0)
      vector.push({ word: entry.word, weight: Math.sqrt(count) * entry.idf });
  }
  vector.sort((a, b) => b.weight - a.weight);
  vector.length = Math.min(vector.length, WORDS_PER_ITEM);
  const norm = Math.hypot(...vector.map((entry) => entry.weight)) || 1;
  for (const entry of vector) entry.weight /= norm;
  return vector;
}

export function buildTexts(items: readonly (Text | undefined)[]): TextIndex {
  const words = createVocabulary();
  const frequency: number[] = [];
  let texts = 0;
  for (const item of items) {
    if (item === undefined) continue;
    texts++;
    for (const spelling of countWords(item).keys()) {
      const word = words.intern(spelling);
      frequency[word] = (frequency[word] ?? 0) + 1;
    }
  }
  const idf = sharedFloat32(words.count);
  for (let w = 0; w < words.count; w++) idf[w] = Math.log((1 + texts) / frequency[w]!);

  const offsets = sharedUint32(items.length + 1);
  const word: number[] = [];
  const weight: number[] = [];
  const lists: { item: number; weight: number }[][] = Array.from({ length: words.count }, () => []);
  for (let item = 0; item < items.length; item++) {
    const text = items[item];
    if (text !== undefined) {
      const lookUp = (spelling: string) => {
        const number = words.indexOf(spelling);
        return { word: number, idf: idf[number]! };
      };
      for (const entry of vectorOf(text, lookUp)) {
        word.push(entry.word);
        weight.push(entry.weight);
        lists[entry.word]!.push({ item, weight: entry.weight });
      }
    }
    offsets[item + 1] = word.length;
  }
  const index: TextIndex = {
    words: words.pack(),
    idf,
    offsets,
    word: sharedInt32(word.length),
    weight: sharedFloat32(word.length),
    ...invert(lists, (item) => items[item]!.listed ?? true),
  };
  index.word.set(word);
  index.weight.set(weight);
  return index;
}

function invert(lists: { item: number; weight: number }[][], isListed: (item: number) => boolean) {
  const listOffsets = sharedUint32(lists.length + 1);
  for (let w = 0; w < lists.length; w++) {
    lists[w]!.sort(
      (a, b) => Number(isListed(b.item)) - Number(isListed(a.item)) || b.weight - a.weight || a.item - b.item,
    );
    listOffsets[w + 1] = listOffsets[w]! + Math.min(lists[w]!.length, ITEMS_PER_WORD);
  }
  const listItem = sharedInt32(listOffsets[lists.length]!);
  const listWeight = sharedFloat32(listItem.length);
  for (let w = 0; w < lists.length; w++) {
    for (let at = listOffsets[w]!, i = 0; at < listOffsets[w + 1]!; at++, i++) {
      listItem[at] = lists[w]![i]!.item;
      listWeight[at] = lists[w]![i]!.weight;
    }
  }
  return { listOffsets, listItem, listWeight };
}
