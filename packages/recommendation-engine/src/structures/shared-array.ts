/** Typed arrays on shared memory: a worker builds them, every thread reads them, nobody copies them. */

export const sharedInt32 = (length: number): Int32Array => new Int32Array(new SharedArrayBuffer(length * 4));
export const sharedUint32 = (length: number): Uint32Array =>
  new Uint32Array(new SharedArrayBuffer(length * 4));
export const sharedUint16 = (length: number): Uint16Array =>
  new Uint16Array(new SharedArrayBuffer(length * 2));
export const sharedUint8 = (length: number): Uint8Array => new Uint8Array(new SharedArrayBuffer(length));
export const sharedFloat32 = (length: number): Float32Array =>
  new Float32Array(new SharedArrayBuffer(length * 4));
export const sharedFloat64 = (length: number): Float64Array =>
  new Float64Array(new SharedArrayBuffer(length * 8));

/** A list of lists in two arrays: row `r` is `offsets[r] .. offsets[r + 1]`. */
export interface Rows {
  offsets: Uint32Array;
  values: Int32Array;
}

/**
 * Groups `keys.length` entries by key (counting sort, stable).
 *
 * @example groupBy(Int32Array.of(1, 0, 1), 2) // offsets [0,1,3], values [1, 0,2]
 */
export function groupBy(keys: Int32Array, groups: number): Rows {
  const offsets = sharedUint32(groups + 1);
  for (let i = 0; i < keys.length; i++) offsets[keys[i]! + 1]!++;
  for (let g = 0; g < groups; g++) offsets[g + 1]! += offsets[g]!;
  const cursor = offsets.slice(0, groups);
  const values = sharedInt32(keys.length);
  for (let i = 0; i < keys.length; i++) values[cursor[keys[i]!]!++] = i;
  return { offsets, values };
}

/** Packs a list of lists into {@link Rows}. */
export function packRows(lists: readonly (readonly number[])[]): Rows {
  const offsets = sharedUint32(lists.length + 1);
  for (let r = 0; r < lists.length; r++) offsets[r + 1] = offsets[r]! + lists[r]!.length;
  const values = sharedInt32(offsets[lists.length]!);
  for (let r = 0; r < lists.length; r++) values.set(lists[r]!, offsets[r]!);
  return { offsets, values };
}
