/**
 * A base as one buffer and back: magic, header (JSON with a table of the arrays), the arrays, each on a 64-byte boundary.
 * Reading makes views on the buffer, it copies nothing that is in shared memory already: a fresh process serves at once.
 */
import { crc32 } from 'node:zlib';
import type { EngineBase } from './base.ts';

const MAGIC = 'SBXENGN1';
/** What snapshots of all formats begin with. */
const FAMILY = MAGIC.slice(0, -1);
/** Magic, header length, checksum of all that follows. */
const PREAMBLE = 16;
const ALIGNMENT = 64;

const TYPES = { Int32Array, Uint32Array, Uint16Array, Uint8Array, Float32Array, Float64Array } as const;
type TypeName = keyof typeof TYPES;
type Column = InstanceType<(typeof TYPES)[TypeName]>;

type ColumnType = new (buffer: ArrayBufferLike, offset: number, length: number) => Column;

interface ColumnPlace {
  type: TypeName;
  offset: number;
  length: number;
}

interface Header {
  root: unknown;
  columns: ColumnPlace[];
  bytes: number;
}

export class SnapshotError extends Error {
  constructor(reason: string) {
    super(`not a usable engine snapshot: ${reason}`);
    this.name = 'SnapshotError';
  }
}

/** The snapshot was written by another release: it is whole, but of another format. */
export class SnapshotVersionError extends SnapshotError {}

const align = (offset: number): number => Math.ceil(offset / ALIGNMENT) * ALIGNMENT;

/**
 * @example await writeFile('engine.snapshot', writeSnapshot(base))
 */
export function writeSnapshot(base: EngineBase): Uint8Array {
  const columns: Column[] = [];
  const root = mapColumns(base, (column) => ({ $column: columns.push(column) - 1 }));
  const places: ColumnPlace[] = [];
  let offset = 0;
  for (const column of columns) {
    places.push({ type: column.constructor.name as TypeName, offset, length: column.length });
    offset = align(offset + column.byteLength);
  }
  const header = new TextEncoder().encode(
    JSON.stringify({ root, columns: places, bytes: offset } satisfies Header),
  );
  const start = align(PREAMBLE + header.length);
  const out = new Uint8Array(new SharedArrayBuffer(start + offset));
  out.set(new TextEncoder().encode(MAGIC));
  new DataView(out.buffer).setUint32(8, header.length, true);
  out.set(header, PREAMBLE);
  for (const [i, column] of columns.entries()) {
    const bytes = new Uint8Array(column.buffer, column.byteOffset, column.byteLength);
    out.set(bytes, start + places[i]!.offset);
  }
  new DataView(out.buffer).setUint32(12, crc32(out.subarray(PREAMBLE)), true);
  return out;
}

/**
 * @example const base = readSnapshot(await readFile('engine.snapshot'))
 * @throws SnapshotError when the buffer is cut off, damaged or of another version
 */
export function readSnapshot(snapshot: Uint8Array): EngineBase {
  const bytes = shared(snapshot);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = (from: number, to: number): string => new TextDecoder().decode(bytes.slice(from, to));
  if (bytes.length < PREAMBLE || text(0, FAMILY.length) !== FAMILY) throw new SnapshotError('unknown format');
  if (text(0, MAGIC.length) !== MAGIC) throw new SnapshotVersionError(`format ${text(0, MAGIC.length)}`);
  const headerLength = view.getUint32(8, true);
  if (PREAMBLE + headerLength > bytes.length) throw new SnapshotError('cut off');
  if (crc32(bytes.subarray(PREAMBLE)) !== view.getUint32(12, true)) throw new SnapshotError('damaged');
  const header = JSON.parse(text(PREAMBLE, PREAMBLE + headerLength)) as Header;
  const start = bytes.byteOffset + align(PREAMBLE + headerLength);
  const columns = header.columns.map(
    ({ type, offset, length }) => new (TYPES[type] as ColumnType)(bytes.buffer, start + offset, length),
  );
  const base = restore(header.root, columns) as EngineBase;
  if (base.format !== 4) throw new SnapshotVersionError(`version ${base.format}`);
  return base;
}

/** The same bytes in shared memory at an aligned place. */
function shared(bytes: Uint8Array): Uint8Array {
  if (bytes.buffer instanceof SharedArrayBuffer && bytes.byteOffset % ALIGNMENT === 0) return bytes;
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}

/** A copy of plain data in which every typed array is replaced. */
function mapColumns(value: unknown, replace: (column: Column) => unknown): unknown {
  if (ArrayBuffer.isView(value)) return replace(value as Column);
  if (Array.isArray(value)) return value.map((entry) => mapColumns(entry, replace));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, mapColumns(entry, replace)]));
}

function restore(value: unknown, columns: readonly Column[]): unknown {
  if (Array.isArray(value)) return value.map((entry) => restore(entry, columns));
  if (typeof value !== 'object' || value === null) return value;
  if ('$column' in value) return columns[value.$column as number];
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, restore(entry, columns)]));
}
