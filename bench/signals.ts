/**
 * Durable signals per second over HTTP: 64 connections, one signal a request and twenty, each answered after its commit on
 * the embedded PostgreSQL with the settings of production. Beside the limit: a bare Fastify that answers the same requests
 * and stores nothing. Server, database and load (a process of its own, on plain sockets) share this machine's cores. The signals are
 * those of a survey, which feed no other module; cart signals, which also feed the recommendations, are measured beside.
 *
 * Bars: at least 0.4 of the limit with one signal a request, at least 5,000 a second with twenty.
 */
import { undisturbed } from './kit/disturbance.ts';
import { runLoad, startBare, startSignalbox, type Target } from './kit/http-load.ts';
import { type Comparison, compare, median } from './kit/runner.ts';
import { createBenchDatabase, startPostgres, withModules } from './kit/services.ts';
import type { Load, LoadResult } from './signals/load.ts';

const CONNECTIONS = 64;
const SECONDS = 4;
const ROUNDS = 5;

export default async function bench(): Promise<Comparison> {
  const postgres = await startPostgres();
  const url = await createBenchDatabase(postgres.url);
  const key = await createKey(url);
  const [ours, bare] = [await startSignalbox(url), await startBare('signals/bare.ts')];
  const latencies = new Map<string, number[]>();
  const measure =
    (name: string, { port }: Target, load: Pick<Load, 'signal' | 'batch'>) =>
    async () => {
      const whole: Load = { port, key, ...load, connections: CONNECTIONS, seconds: SECONDS };
      const result = await runLoad<LoadResult>('signals/load.ts', whole);
      latencies.set(name, [...(latencies.get(name) ?? []), result.p99]);
      return result.signalsPerSecond;
    };
  const against = (batch: number) =>
    compare({
      name: `signals, ${batch} a request`,
      unit: 'signals/s',
      rounds: ROUNDS,
      contenders: [
        {
          name: `ours ${batch}`,
          role: 'ours',
          measure: measure(`ours ${batch}`, ours, { signal: 'survey/update', batch }),
        },
        {
          name: `bare ${batch}`,
          role: 'limit',
          measure: measure(`bare ${batch}`, bare, { signal: 'survey/update', batch }),
        },
      ],
    });
  const ofCarts = async (batch: number) => {
    const figures: number[] = [];
    for (let round = 0; round < 3; round++) {
      const { result } = await undisturbed(measure(`carts ${batch}`, ours, { signal: 'cart/add', batch }));
      figures.push(result);
    }
    return Math.round(median(figures));
  };
  const p99 = (name: string) => Math.round(median(latencies.get(name)!) * 10) / 10;
  try {
    const one = await against(1);
    const twenty = await against(20);
    return {
      ...one,
      name: 'signals',
      inBatchesOf20: Math.round(twenty.ours),
      limitInBatchesOf20: Math.round(twenty.limit!),
      ratioToLimitInBatchesOf20: twenty.ratioToLimit,
      p99MsInBatchesOf1: p99('ours 1'),
      p99MsInBatchesOf20: p99('ours 20'),
      p99MsOfTheLimit: p99('bare 1'),
      cartSignals: await ofCarts(1),
      cartSignalsInBatchesOf20: await ofCarts(20),
    };
  } finally {
    for (const target of [ours, bare]) await target.stop();
    await postgres.stop();
  }
}

function createKey(url: string): Promise<string> {
  return withModules(url, async ({ accounts }) => {
    const tenant = await accounts.createTenant({ name: 'bench' });
    return (await accounts.createSdkKey(tenant, { name: 'bench' })).key;
  });
}
