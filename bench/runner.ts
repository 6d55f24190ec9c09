/**
 * The common runner of the benches. Contenders take turns within every round, so that noise of the machine hits all of
 * them alike; a claim is a ratio of medians from one run, never a number from another day.
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
  /** Above 1 is better than the limit, or than the best peer, also where a smaller figure is the better one. */
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
  const medianOf = (role: Contender['role']) =>
    contenders
      .filter((contender) => contender.role === role)
      .map((contender) => [contender.name, median(figures.get(contender.name)!)] as const);
  const ours = medianOf('ours')[0]![1];
  const limit = medianOf('limit')[0]?.[1] ?? null;
  const peers = Object.fromEntries(medianOf('peer'));
  const ratio = (other: number) => round3(smallerIsBetter ? other / ours : ours / other);
  const peerFigures = Object.values(peers);
  const bestPeer = smallerIsBetter ? Math.min(...peerFigures) : Math.max(...peerFigures);
  return {
    name,
    unit,
    ours,
    limit,
    peers,
    ratioToLimit: limit === null ? null : ratio(limit),
    ratioToBestPeer: peerFigures.length === 0 ? null : ratio(bestPeer),
    spread: Object.fromEntries(
      [...figures].map(([contender, list]) => [contender, [Math.min(...list), Math.max(...list)]]),
    ),
    rounds,
    stolen: round3(mostStolen),
  };
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
