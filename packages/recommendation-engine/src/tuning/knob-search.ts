/** Turns one knob at a time and keeps what helps: deterministic, few evaluations, stops when the time is up. */

export interface KnobSearch<K> {
  start: K;
  /** Values to try per knob. */
  grid?: { readonly [P in keyof K]?: readonly K[P][] };
  /** Knobs on a logarithmic scale: multiplied and divided by the factor as long as that helps. */
  climb?: { readonly [P in keyof K]?: number };
  /** Greater is better. */
  value: (knobs: K) => number;
  /** Rounds over all knobs; each takes the square root of the climbing factors. */
  rounds?: number;
  /** Checked before each evaluation. */
  goOn: () => boolean;
}

/** Steps in one direction: with a factor of three, four orders of magnitude. */
const FURTHEST = 8;

/**
 * @example
 * searchKnobs({ start: { x: 0 }, grid: { x: [1, 2, 3] }, value: ({ x }) => -((x - 2) ** 2), goOn: () => true })
 * // { knobs: { x: 2 }, value: 0 }
 */
export function searchKnobs<K extends object>(search: KnobSearch<K>): { knobs: K; value: number } {
  const { grid = {}, climb = {}, rounds = 2, goOn } = search;
  let knobs = search.start;
  let best = search.value(knobs);
  let improved = false;

  /** Whether a setting is better than what there is; then it is what there is. */
  const turn = (name: keyof K, setting: K[keyof K]): boolean => {
    if (setting === knobs[name] || !goOn()) return false;
    const candidate = { ...knobs, [name]: setting };
    const value = search.value(candidate);
    if (value <= best) return false;
    knobs = candidate;
    best = value;
    improved = true;
    return true;
  };
  const climbBy = (name: keyof K, factor: number): boolean => {
    let steps = 0;
    while (steps < FURTHEST && turn(name, ((knobs[name] as number) * factor) as K[keyof K])) steps++;
    return steps > 0;
  };

  for (let round = 0; round < rounds; round++) {
    improved = false;
    for (const name of Object.keys(grid) as (keyof K)[]) {
      for (const setting of (grid as KnobSearch<K>['grid'])?.[name] ?? []) turn(name, setting as K[keyof K]);
    }
    for (const [name, factor] of Object.entries(climb) as [keyof K, number][]) {
      const step = factor ** (1 / 2 ** round);
      if (!climbBy(name, step)) climbBy(name, 1 / step);
    }
    if (!improved && Object.keys(climb).length === 0) break;
  }
  return { knobs, value: best };
}
