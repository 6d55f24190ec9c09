/**
 * String ids interned to int32. The finished form is plain data in shared memory (UTF-8 bytes, offsets and an open
 * addressing table), so a snapshot or another thread opens a million ids without building a Map of them.
 */
import { sharedInt32, sharedUint8, sharedUint32 } from './shared-array.ts';

export interface Vocabulary {
  count: number;
  bytes: Uint8Array;
  offsets: Uint32Array;
  /** Open addressing, length a power of two, -1 = free. */
  table: Int32Array;
}

const encoder = new TextEncoder();
/** An id that begins with a byte order mark keeps it. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

const hashBytes = (bytes: Uint8Array, from: number, to: number): number => {
  let hash = 0x811c9dc5;
  for (let i = from; i < to; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
};

const tableSize = (count: number): number => {
  let size = 16;
  while (size < count * 2) size *= 2;
  return size;
};

/** Packs ids, in order; the index of an id is its int32. Ids must be distinct. */
export function packVocabulary(ids: readonly string[]): Vocabulary {
  const encoded = ids.map((id) => encoder.encode(id));
  const offsets = sharedUint32(ids.length + 1);
  for (let i = 0; i < encoded.length; i++) offsets[i + 1] = offsets[i]! + encoded[i]!.length;
  const bytes = sharedUint8(offsets[ids.length]!);
  const table = sharedInt32(tableSize(ids.length)).fill(-1);
  const mask = table.length - 1;
  for (let i = 0; i < encoded.length; i++) {
    bytes.set(encoded[i]!, offsets[i]!);
    let slot = hashBytes(bytes, offsets[i]!, offsets[i + 1]!) & mask;
    while (table[slot] !== -1) slot = (slot + 1) & mask;
    table[slot] = i;
  }
  return { count: ids.length, bytes, offsets, table };
}

/** Where a wanted id is written as bytes. Grows with the longest id that was ever asked for. */
let wanted = new Uint8Array(256);

/** Writes an id to `wanted` and tells its length. Nearly all ids are ASCII, whose signs are their bytes. */
function writeWanted(id: string): number {
  // no sign of UTF-16 takes more than three bytes
  if (id.length * 3 > wanted.length) wanted = new Uint8Array(id.length * 6);
  for (let i = 0; i < id.length; i++) {
    const sign = id.charCodeAt(i);
    if (sign > 127) return encoder.encodeInto(id, wanted).written;
    wanted[i] = sign;
  }
  return id.length;
}

/** The int32 of an id, or -1. Allocates nothing. */
export function indexOfId(vocabulary: Vocabulary, id: string): number {
  const { bytes, offsets, table } = vocabulary;
  const length = writeWanted(id);
  const mask = table.length - 1;
  let slot = hashBytes(wanted, 0, length) & mask;
  for (let index = table[slot]!; index !== -1; index = table[slot]!) {
    const start = offsets[index]!;
    if (offsets[index + 1]! - start === length) {
      let i = 0;
      while (i < length && bytes[start + i] === wanted[i]) i++;
      if (i === length) return index;
    }
    slot = (slot + 1) & mask;
  }
  return -1;
}

/** The id of an int32. */
export function idAt(vocabulary: Vocabulary, index: number): string {
  const { bytes, offsets, count } = vocabulary;
  if (index < 0 || index >= count) throw new RangeError(`no id has the number ${index}`);
  // TextDecoder refuses shared memory, hence the copy
  return decoder.decode(bytes.slice(offsets[index]!, offsets[index + 1]!));
}

/** A vocabulary that still grows. */
export interface VocabularyBuilder {
  intern(id: string): number;
  indexOf(id: string): number;
  readonly count: number;
  ids(): readonly string[];
  pack(): Vocabulary;
}

export function createVocabulary(first: Iterable<string> = []): VocabularyBuilder {
  const ids: string[] = [];
  const indexes = new Map<string, number>();
  const intern = (id: string): number => {
    const known = indexes.get(id);
    if (known !== undefined) return known;
    indexes.set(id, ids.length);
    return ids.push(id) - 1;
  };
  for (const id of first) intern(id);
  return {
    intern,
    indexOf: (id) => indexes.get(id) ?? -1,
    get count() {
      return ids.length;
    },
    ids: () => ids,
    pack: () => packVocabulary(ids),
  };
}
