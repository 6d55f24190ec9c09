/** A small seeded generator (xorshift32): models, samples and tests come out the same every time. */
export interface Random {
  /** In [0, 1). */
  next(): number;
  /** In [0, below). */
  below(below: number): number;
  /** Mean 0, deviation 1. */
  normal(): number;
}

/** @example createRandom(7).below(6) */
export function createRandom(seed: number): Random {
  let state = seed | 0 || 1;
  const next = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 4_294_967_296;
  };
  for (let i = 0; i < 8; i++) next();
  return {
    next,
    below: (below) => Math.floor(next() * below),
    normal: () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
  };
}
