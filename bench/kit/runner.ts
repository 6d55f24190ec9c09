/**
 * The common runner of the benches. Contenders take turns within every round and are compared within it: what slows the machine
 * down for a while slows all of them alike. A claim is the median of the rounds' ratios, never a number from another day.
 */
import { undisturbed } from './disturbance.ts';
import { progress } from './progress.ts';

export interface Contender {
  name: string;
  role: 'ours' | 'limit' | 'peer';
  /** One measurement; the figure in the bench's unit. */
  measure(): Promise<number>;
}

export interface Comparison {
  name: string;
  unit: string;
  ours: number;
  limit: number | null;
  peers: Record<string, number>;
  /**
   * Medians of the ratios within each round, against the limit and the best peer of that round. Above 1 is better than these, also
   * where a smaller figure is the better one.
   */
  ratioToLimit: number | null;
  ratioToBestPeer: number | null;
  /** Smallest and largest figure of each contender. */
  spread: Record<string, [number, number]>;
  rounds: number;
  /** The greatest share of the processors' time that others had during a measurement that counts. */
  stolen: number;
  [more: string]: unknown;
}

/**
 * A server that runs for days has its code compiled. Of three seconds of personalised recommendations the first take 317
 * microseconds of a processor each, those of the next 203, and from then on 155.
 */
const WARM_UPS = 3;

/**
 * Measures contenders against each other.
 *
 * @example
 * await compare({ name: 'lanes', unit: 'jobs/s', contenders: [{ name: 'lanes', role: 'ours', measure }, ...] });
 */
export async function compare(options: {
  name: string;
  unit: string;
  contenders: Contender[];
  rounds?: number;
  /** For latencies and sizes. */
  smallerIsBetter?: boolean;
}): Promise<Comparison> {
  const { name, unit, contenders, rounds = 5, smallerIsBetter = false } = options;
  const figures = new Map<string, number[]>(contenders.map((contender) => [contender.name, []]));
  let mostStolen = 0;
  for (let round = -WARM_UPS; round < rounds; round++) {
    for (const contender of contenders) {
      const { result: figure, stolen } =
        round < 0 ? { result: await contender.measure(), stolen: 0 } : await undisturbed(contender.measure);
      mostStolen = Math.max(mostStolen, stolen);
      const label = round < 0 ? 'warm-up' : `round ${round + 1}/${rounds}`;
      progress(`${name} ${label}: ${contender.name} ${format(figure)} ${unit}`);
      if (round >= 0) figures.get(contender.name)!.push(figure);
    }
  }
  const listsOf = (role: Contender['role']) =>
    contenders.filter((contender) => contender.role === role).map(({ name }) => figures.get(name)!);
  const [own] = listsOf('ours') as [number[]];
  const ratioTo = (role: Contender['role']) => ratioByRound(own, listsOf(role), { smallerIsBetter });
  const [limit] = listsOf('limit').map(median);
  const peers = contenders.filter(({ role }) => role === 'peer');
  return {
    name,
    unit,
    ours: median(own),
    limit: limit ?? null,
    peers: Object.fromEntries(peers.map(({ name }) => [name, median(figures.get(name)!)])),
    ratioToLimit: ratioTo('limit'),
    ratioToBestPeer: ratioTo('peer'),
    spread: Object.fromEntries(
      [...figures].map(([contender, list]) => [contender, [Math.min(...list), Math.max(...list)]]),
    ),
    rounds,
    stolen: round3(mostStolen),
  };
}

/**
 * How many times better our figures are than the best of the others, each taken in the same round; null when there are no others.
 *
 * @example ratioByRound([300, 150], [[150, 75]]) // 2, on a machine that became half as fast
 */
export function ratioByRound(
  own: number[],
  others: number[][],
  { smallerIsBetter = false } = {},
): number | null {
  if (others.length === 0) return null;
  const ratios = own.map((figure, round) => {
    const theirs = others.map((figures) => figures[round]!);
    return smallerIsBetter ? Math.min(...theirs) / figure : figure / Math.max(...theirs);
  });
  return round3(median(ratios));
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The value below which the given part of the values lies. */
export function quantile(values: number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

/** How many per second `count` things in the time since `startedAt` (performance.now()) are. */
export function perSecond(count: number, startedAt: number): number {
  return (count / (performance.now() - startedAt)) * 1000;
}

/**
 * Begins something every `everyMs`, whether what it began before has ended or not, and resolves when all of it has.
 *
 * @example await evenly({ times: 100, everyMs: 10, begin: () => publish(50) })
 */
export async function evenly(options: {
  times: number;
  everyMs: number;
  begin: () => Promise<unknown>;
}): Promise<void> {
  const { times, everyMs, begin } = options;
  const begun: Promise<unknown>[] = [];
  const startedAt = performance.now();
  for (let count = 0; count < times; count++) {
    const wait = startedAt + count * everyMs - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    begun.push(begin());
  }
  await Promise.all(begun);
}

const round3 = (value: number) => Math.round(value * 1000) / 1000;

export const format = (figure: number) =>
  figure >= 100 ? Math.round(figure).toLocaleString('en') : String(round3(figure));
