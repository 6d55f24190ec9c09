/**
 * A WebAssembly module written instruction by instruction: just enough of the binary format for the float32 SIMD loops in
 * kernels.ts. Plain JavaScript has no vector instructions; these loops train the latent models about five times faster,
 * without a compiler in the build or a binary in the repository.
 */

export type Code = readonly (number | Code)[];
export type ValueType = 'i32' | 'f32' | 'v128';

const TYPE: Record<ValueType, number> = { i32: 0x7f, f32: 0x7d, v128: 0x7b };

export interface Routine {
  name: string;
  parameters: readonly string[];
  locals: Readonly<Record<string, ValueType>>;
  body: (local: (name: string) => Local) => Code;
}

export interface Local {
  get: Code;
  set(value: Code): Code;
}

const unsigned = (value: number): number[] => {
  const bytes: number[] = [];
  let rest = value;
  do {
    const low = rest & 0x7f;
    rest >>>= 7;
    bytes.push(rest === 0 ? low : low | 0x80);
  } while (rest !== 0);
  return bytes;
};

const signed = (value: number): number[] => {
  const bytes: number[] = [];
  let rest = value;
  for (;;) {
    const low = rest & 0x7f;
    rest >>= 7;
    if ((rest === 0 && (low & 0x40) === 0) || (rest === -1 && (low & 0x40) !== 0)) return [...bytes, low];
    bytes.push(low | 0x80);
  }
};

const flatten = (code: Code): number[] =>
  code.flatMap((part) => (typeof part === 'number' ? [part] : flatten(part)));
const vector = (parts: readonly Code[]): Code => [unsigned(parts.length), ...parts];
const section = (id: number, content: Code): Code => {
  const bytes = flatten(content);
  return [id, unsigned(bytes.length), bytes];
};
const text = (value: string): Code => [unsigned(value.length), [...value].map((c) => c.charCodeAt(0))];

export const int = (value: number): Code => [0x41, signed(value)];
export const add = (a: Code, b: Code): Code => [a, b, 0x6a];
export const times = (a: Code, b: Code): Code => [a, b, 0x6c];
export const loadInt = (at: Code): Code => [at, 0x28, 2, 0];
export const loadVector = (at: Code, offset = 0): Code => [at, 0xfd, 0x00, 2, unsigned(offset)];
/** One float, in all four lanes. */
export const loadSplat = (at: Code, offset = 0): Code => [at, 0xfd, 0x09, 2, unsigned(offset)];
export const storeVector = (at: Code, value: Code, offset = 0): Code => [
  at,
  value,
  0xfd,
  0x0b,
  2,
  unsigned(offset),
];
export const storeFloat = (at: Code, value: Code): Code => [at, value, 0x38, 2, 0];
export const addVectors = (a: Code, b: Code): Code => [a, b, 0xfd, 0xe4, 0x01];
export const subtractVectors = (a: Code, b: Code): Code => [a, b, 0xfd, 0xe5, 0x01];
export const multiplyVectors = (a: Code, b: Code): Code => [a, b, 0xfd, 0xe6, 0x01];
export const splat = (value: Code): Code => [value, 0xfd, 0x13];
export const lane = (value: Code, index: number): Code => [value, 0xfd, 0x1f, index];
export const addFloats = (a: Code, b: Code): Code => [a, b, 0x92];
export const zeros: Code = [0xfd, 0x0c, new Array<number>(16).fill(0)];

/** Repeats the body while `pointer` is below `end`; nothing happens when it is not below at first. */
export const whileBelow = (pointer: Code, end: Code, body: Code): Code => [
  0x02,
  0x40, // block
  [pointer, end, 0x4f, 0x0d, 0], // pointer >= end: leave
  [0x03, 0x40, body, [pointer, end, 0x49, 0x0d, 0], 0x0b],
  0x0b,
];

/** The module's bytes. Parameters are i32; memory is imported as `host.memory`. */
export function assemble(routines: readonly Routine[]): Uint8Array<ArrayBuffer> {
  const bodies = routines.map((routine) => {
    const numbers = new Map<string, number>();
    for (const name of [...routine.parameters, ...Object.keys(routine.locals)])
      numbers.set(name, numbers.size);
    const local = (name: string): Local => {
      const number = numbers.get(name);
      if (number === undefined) throw new Error(`${routine.name} has no local ${name}`);
      return { get: [0x20, unsigned(number)], set: (value) => [value, 0x21, unsigned(number)] };
    };
    const declared = vector(Object.values(routine.locals).map((type) => [1, TYPE[type]]));
    const bytes = flatten([declared, routine.body(local), 0x0b]);
    return [unsigned(bytes.length), bytes];
  });
  return Uint8Array.from(
    flatten([
      [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
      section(1, vector(routines.map((r) => [0x60, vector(r.parameters.map(() => [TYPE.i32])), 0]))),
      section(2, vector([[text('host'), text('memory'), 0x02, 0x00, unsigned(1)]])),
      section(3, vector(routines.map((_, index) => unsigned(index)))),
      section(7, vector(routines.map((r, index) => [text(r.name), 0x00, unsigned(index)]))),
      section(10, vector(bodies)),
    ]),
  );
}
