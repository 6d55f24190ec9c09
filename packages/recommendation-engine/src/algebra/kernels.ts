/** Dense float32 loops on one linear memory. Addresses and counts are plain numbers; lengths are multiples of 16. */
import {
  add,
  addFloats,
  addVectors,
  assemble,
  type Code,
  int,
  type Local,
  lane,
  loadInt,
  loadSplat,
  loadVector,
  multiplyVectors,
  type Routine,
  splat,
  storeFloat,
  storeVector,
  subtractVectors,
  times,
  whileBelow,
  zeros,
} from './assembler.ts';

/** Vectors per turn of a loop: four accumulators hide the latency of an addition. */
const UNROLL = [0, 16, 32, 48];

const advance = (pointer: Local, bytes: Code): Code => pointer.set(add(pointer.get, bytes));
const bytesOf = (floats: Local): Code => times(floats.get, int(4));

/** `sum` = dot product of the vectors at p and q, p ending at `end`. Uses s0..s3. */
const dot = (l: (name: string) => Local): Code => [
  UNROLL.map((_, i) => l(`s${i}`).set(zeros)),
  whileBelow(l('p').get, l('end').get, [
    UNROLL.map((offset, i) =>
      l(`s${i}`).set(
        addVectors(
          l(`s${i}`).get,
          multiplyVectors(loadVector(l('p').get, offset), loadVector(l('q').get, offset)),
        ),
      ),
    ),
    advance(l('p'), int(64)),
    advance(l('q'), int(64)),
  ]),
  l('s0').set(addVectors(addVectors(l('s0').get, l('s1').get), addVectors(l('s2').get, l('s3').get))),
  l('sum').set(
    addFloats(
      addFloats(lane(l('s0').get, 0), lane(l('s0').get, 1)),
      addFloats(lane(l('s0').get, 2), lane(l('s0').get, 3)),
    ),
  ),
];

/** vector at q += s0 * vector at p, p ending at `end`. */
const accumulate = (l: (name: string) => Local): Code =>
  whileBelow(l('p').get, l('end').get, [
    UNROLL.map((offset) =>
      storeVector(
        l('q').get,
        addVectors(
          loadVector(l('q').get, offset),
          multiplyVectors(l('s0').get, loadVector(l('p').get, offset)),
        ),
        offset,
      ),
    ),
    advance(l('p'), int(64)),
    advance(l('q'), int(64)),
  ]);

const VECTORS = { s0: 'v128', s1: 'v128', s2: 'v128', s3: 'v128', sum: 'f32' } as const;
const POINTERS = { p: 'i32', q: 'i32', end: 'i32', row: 'i32', stop: 'i32' } as const;

/** out[r] = matrix row r . x */
const multiply: Routine = {
  name: 'multiply',
  parameters: ['matrix', 'rows', 'width', 'x', 'out'],
  locals: { ...POINTERS, ...VECTORS },
  body: (l) => [
    l('p').set(l('matrix').get),
    l('stop').set(add(l('out').get, bytesOf(l('rows')))),
    whileBelow(l('out').get, l('stop').get, [
      l('q').set(l('x').get),
      l('end').set(add(l('p').get, bytesOf(l('width')))),
      dot(l),
      storeFloat(l('out').get, l('sum').get),
      advance(l('out'), int(4)),
    ]),
  ],
};

/** out[i] = row list[i] of the matrix . x */
const multiplyRows: Routine = {
  name: 'multiplyRows',
  parameters: ['list', 'count', 'matrix', 'width', 'x', 'out'],
  locals: { ...POINTERS, ...VECTORS },
  body: (l) => [
    l('stop').set(add(l('list').get, bytesOf(l('count')))),
    whileBelow(l('list').get, l('stop').get, [
      l('p').set(add(l('matrix').get, times(loadInt(l('list').get), bytesOf(l('width'))))),
      l('end').set(add(l('p').get, bytesOf(l('width')))),
      l('q').set(l('x').get),
      dot(l),
      storeFloat(l('out').get, l('sum').get),
      advance(l('list'), int(4)),
      advance(l('out'), int(4)),
    ]),
  ],
};

/** out += sum over the listed rows v of (v . x) v */
const multiplyListed: Routine = {
  name: 'multiplyListed',
  parameters: ['list', 'count', 'matrix', 'width', 'x', 'out'],
  locals: { ...POINTERS, ...VECTORS },
  body: (l) => [
    l('stop').set(add(l('list').get, bytesOf(l('count')))),
    whileBelow(l('list').get, l('stop').get, [
      l('row').set(add(l('matrix').get, times(loadInt(l('list').get), bytesOf(l('width'))))),
      l('end').set(add(l('row').get, bytesOf(l('width')))),
      l('p').set(l('row').get),
      l('q').set(l('x').get),
      dot(l),
      l('s0').set(splat(l('sum').get)),
      l('p').set(l('row').get),
      l('q').set(l('out').get),
      accumulate(l),
      advance(l('list'), int(4)),
    ]),
  ],
};

/** out += sum of the listed rows */
const addListed: Routine = {
  name: 'addListed',
  parameters: ['list', 'count', 'matrix', 'width', 'out'],
  locals: { ...POINTERS },
  body: (l) => [
    l('stop').set(add(l('list').get, bytesOf(l('count')))),
    whileBelow(l('list').get, l('stop').get, [
      l('p').set(add(l('matrix').get, times(loadInt(l('list').get), bytesOf(l('width'))))),
      l('end').set(add(l('p').get, bytesOf(l('width')))),
      l('q').set(l('out').get),
      whileBelow(l('p').get, l('end').get, [
        UNROLL.map((offset) =>
          storeVector(
            l('q').get,
            addVectors(loadVector(l('q').get, offset), loadVector(l('p').get, offset)),
            offset,
          ),
        ),
        advance(l('p'), int(64)),
        advance(l('q'), int(64)),
      ]),
      advance(l('list'), int(4)),
    ]),
  ],
};

/** out += sum over rows v of v vT (width x width) */
const gram: Routine = {
  name: 'gram',
  parameters: ['matrix', 'rows', 'width', 'out'],
  locals: { ...POINTERS, cell: 'i32', rowEnd: 'i32', s0: 'v128' },
  body: (l) => [
    l('row').set(l('matrix').get),
    l('stop').set(add(l('matrix').get, times(l('rows').get, bytesOf(l('width'))))),
    whileBelow(l('row').get, l('stop').get, [
      l('q').set(l('out').get),
      l('cell').set(l('row').get),
      l('rowEnd').set(add(l('row').get, bytesOf(l('width')))),
      l('end').set(l('rowEnd').get),
      whileBelow(l('cell').get, l('rowEnd').get, [
        l('s0').set(loadSplat(l('cell').get)),
        l('p').set(l('row').get),
        accumulate(l),
        advance(l('cell'), int(4)),
      ]),
      l('row').set(l('rowEnd').get),
    ]),
  ],
};

const TILE_ROWS = [0, 1, 2, 3];
const tile = (r: number, c: number): string => `c${r}${c}`;

/** c -= a b, in tiles of 4 x 8: a is rows x depth (strideA), b depth x columns (stride), c rows x columns (stride). */
const subtractProduct: Routine = {
  name: 'subtractProduct',
  parameters: ['a', 'strideA', 'b', 'c', 'stride', 'rows', 'columns', 'depth'],
  locals: {
    rowEnd: 'i32',
    column: 'i32',
    columnEnd: 'i32',
    p: 'i32',
    pEnd: 'i32',
    q: 'i32',
    a1: 'i32',
    a2: 'i32',
    a3: 'i32',
    c1: 'i32',
    c2: 'i32',
    c3: 'i32',
    b0: 'v128',
    b1: 'v128',
    s: 'v128',
    ...Object.fromEntries(TILE_ROWS.flatMap((r) => [0, 1].map((c) => [tile(r, c), 'v128' as const]))),
  },
  body: (l) => {
    const cRow = (r: number): Code => (r === 0 ? add(l('c').get, l('column').get) : l(`c${r}`).get);
    const aRow = (r: number): Code => (r === 0 ? l('p').get : add(l('p').get, l(`a${r}`).get));
    const eachTile = (make: (r: number, c: number) => Code): Code =>
      TILE_ROWS.map((r) => [0, 1].map((c) => make(r, c)));
    return [
      [1, 2, 3].map((r) => l(`a${r}`).set(times(bytesOf(l('strideA')), int(r)))),
      l('rowEnd').set(add(l('c').get, times(l('rows').get, bytesOf(l('stride'))))),
      l('columnEnd').set(bytesOf(l('columns'))),
      whileBelow(l('c').get, l('rowEnd').get, [
        l('column').set(int(0)),
        whileBelow(l('column').get, l('columnEnd').get, [
          [1, 2, 3].map((r) => l(`c${r}`).set(add(cRow(0), times(bytesOf(l('stride')), int(r))))),
          eachTile((r, c) => l(tile(r, c)).set(loadVector(cRow(r), c * 16))),
          l('p').set(l('a').get),
          l('pEnd').set(add(l('a').get, bytesOf(l('depth')))),
          l('q').set(add(l('b').get, l('column').get)),
          whileBelow(l('p').get, l('pEnd').get, [
            l('b0').set(loadVector(l('q').get)),
            l('b1').set(loadVector(l('q').get, 16)),
            TILE_ROWS.map((r) => [
              l('s').set(loadSplat(aRow(r))),
              [0, 1].map((c) =>
                l(tile(r, c)).set(
                  subtractVectors(l(tile(r, c)).get, multiplyVectors(l('s').get, l(`b${c}`).get)),
                ),
              ),
            ]),
            advance(l('p'), int(4)),
            advance(l('q'), bytesOf(l('stride'))),
          ]),
          eachTile((r, c) => storeVector(cRow(r), l(tile(r, c)).get, c * 16)),
          advance(l('column'), int(32)),
        ]),
        advance(l('a'), times(bytesOf(l('strideA')), int(4))),
        advance(l('c'), times(bytesOf(l('stride')), int(4))),
      ]),
    ];
  },
};

export interface Kernels {
  multiply(matrix: number, rows: number, width: number, x: number, out: number): void;
  multiplyRows(list: number, count: number, matrix: number, width: number, x: number, out: number): void;
  multiplyListed(list: number, count: number, matrix: number, width: number, x: number, out: number): void;
  addListed(list: number, count: number, matrix: number, width: number, out: number): void;
  gram(matrix: number, rows: number, width: number, out: number): void;
  subtractProduct(
    a: number,
    strideA: number,
    b: number,
    c: number,
    stride: number,
    rows: number,
    columns: number,
    depth: number,
  ): void;
}

/** A workspace: memory handed out from the front, never given back singly. */
export interface Workspace {
  kernels: Kernels;
  /** Zeroed; the view's `byteOffset` is its address for the kernels. */
  floats(length: number): Float32Array<ArrayBuffer>;
  ints(length: number): Int32Array<ArrayBuffer>;
}

/** The part of WebAssembly that is used here; the server is checked without the browser's types. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array<ArrayBuffer>) => object;
  Memory: new (limits: { initial: number }) => { buffer: ArrayBuffer };
  Instance: new (module: object, imports: object) => { exports: unknown };
};

const ROUTINES = [multiply, multiplyRows, multiplyListed, addListed, gram, subtractProduct];
let compiled: object | undefined;
const PAGE = 65_536;

/**
 * Opens a workspace of a fixed size; it goes when nobody holds it.
 *
 * @example
 * const { kernels, floats } = openWorkspace(1024);
 * const x = floats(16), out = floats(1), matrix = floats(16);
 * kernels.multiply(matrix.byteOffset, 1, 16, x.byteOffset, out.byteOffset);
 */
export function openWorkspace(bytes: number): Workspace {
  compiled ??= new WebAssembly.Module(assemble(ROUTINES));
  const memory = new WebAssembly.Memory({ initial: Math.ceil(bytes / PAGE) + 1 });
  const instance = new WebAssembly.Instance(compiled, { host: { memory } });
  let next = 0;
  const take = (length: number): number => {
    const at = next;
    next += Math.ceil((length * 4) / 64) * 64;
    if (next > memory.buffer.byteLength) throw new RangeError('the workspace is too small');
    return at;
  };
  return {
    kernels: instance.exports as Kernels,
    floats: (length) => new Float32Array(memory.buffer, take(length), length),
    ints: (length) => new Int32Array(memory.buffer, take(length), length),
  };
}
