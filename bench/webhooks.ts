/**
 * Durable webhook deliveries per second to a local receiver in its own process: the engine beside the bare undici loop to
 * the same receiver, which is the limit, and beside graphile-worker and BullMQ with undici, all with the same payload and
 * the same concurrency. First with everything published beforehand, then with publishing and pushing together, and at
 * last the time from publication to receipt at half of that load. The engine also signs, matches filters, logs every
 * attempt and keeps what fails; the others push and no more. Each is a process of its own. What is published beforehand is
 * published by another engine, so that the pusher has nothing of it in memory; together, one engine does both, as
 * `signalbox serve` does. PostgreSQL runs with the settings of production, Redis without persistence.
 *
 * Bars: at least 0.5 of the limit and 1.5 of the best peer, p99 under 100 ms at half load.
 */
import { undisturbed } from './kit/disturbance.ts';
import { progress } from './kit/progress.ts';
import { type Comparison, type Contender, compare, evenly, perSecond, quantile } from './kit/runner.ts';
import { createBenchDatabase, startPostgres, startRedis } from './kit/services.ts';
import { forkLoop, forkPushing } from './webhooks/contender.ts';
import { openEngine, TENANT } from './webhooks/engine.ts';
import type { Pushing } from './webhooks/peers.ts';
import { type Receiver, startReceiver } from './webhooks/receiver.ts';

/** Enough that the start, of which a tenth of a second is slower, does not count. */
const DELIVERIES = Number(process.env.BENCH_DELIVERIES ?? 50_000);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
/** What the engine grants one subscription at most. */
const CONCURRENCY = 64;
/** As requests of several callers would. */
const PUBLISHERS = 4;
const PER_BATCH = 100;
const LATENCY_SECONDS = 10;
const SETTLING_SECONDS = 5;
/** Publications at half load come this often, as many at a time as it takes. */
const TICK_MS = 10;

export default async function bench(): Promise<Comparison> {
  const postgres = await startPostgres();
  const redis = await startRedis();
  if (redis === null) progress('no redis-server on the PATH: BullMQ is left out');
  const receiver = await startReceiver();
  const target = { url: `${receiver.origin}/hook`, concurrency: CONCURRENCY };
  const ours = await openOurs(await createBenchDatabase(postgres.url), target);
  const loop = forkLoop(target);
  const peers: [name: string, Pushing][] = [
    [
      'graphile-worker',
      await forkPushing('graphile-worker', {
        ...target,
        store: await createBenchDatabase(postgres.url, { empty: true }),
      }),
    ],
  ];
  if (redis !== null) peers.push(['bullmq', await forkPushing('bullmq', { ...target, store: redis.url })]);
  const contenders = (own: Pushing, measure: (pushing: Pushing) => Promise<number>): Contender[] => [
    { name: 'signalbox', role: 'ours', measure: () => measure(own) },
    { name: 'bare undici loop', role: 'limit', measure: () => loop.push(DELIVERIES) },
    ...peers.map(([name, peer]): Contender => ({ name, role: 'peer', measure: () => measure(peer) })),
  ];
  try {
    const published = await compare({
      name: 'webhooks, published beforehand',
      unit: 'deliveries/s',
      rounds: ROUNDS,
      contenders: contenders(ours.beforehand, (pushing) => measurePush(receiver, pushing)),
    });
    const together = await compare({
      name: 'webhooks, publish and push together',
      unit: 'deliveries/s',
      rounds: ROUNDS,
      contenders: contenders(ours.together, (pushing) => measureBoth(receiver, pushing)),
    });
    const { result: latency } = await undisturbed(() =>
      measureLatency(receiver, ours.together, together.ours / 2),
    );
    return { ...published, name: 'webhooks', together, latencyAtHalfLoadMs: latency };
  } finally {
    for (const [, peer] of peers) await peer.close();
    await ours.close();
    loop.close();
    receiver.stop();
    await redis?.stop();
    await postgres.stop();
  }
}

async function openOurs(store: string, target: { url: string; concurrency: number }) {
  const { webhooks, close } = await openEngine(store);
  await webhooks.subscriptions.create(TENANT, {
    target_url: target.url,
    filters: ['svc.deliveries.email.*'],
  });
  await close();
  const open = () => forkPushing('signalbox', { ...target, store });
  const [engine, other] = [await open(), await open()];
  return {
    beforehand: { ...engine, publish: other.publish },
    together: engine,
    async close() {
      await engine.close();
      await other.close();
    },
  };
}

/** Everyone publishes so many deliveries at a time, in so many transactions under way. */
async function publishAll(pushing: Pushing, count = DELIVERIES): Promise<void> {
  let left = count;
  const publisher = async () => {
    while (left > 0) {
      left -= PER_BATCH;
      await pushing.publish(PER_BATCH);
    }
  };
  await Promise.all(Array.from({ length: PUBLISHERS }, publisher));
}

/** From the start of the worker to the last receipt. */
async function measurePush(receiver: Receiver, pushing: Pushing): Promise<number> {
  await publishAll(pushing);
  await receiver.reset();
  const startedAt = performance.now();
  const stop = await pushing.start();
  await receiver.received(DELIVERIES);
  const figure = perSecond(DELIVERIES, startedAt);
  await stop();
  return figure;
}

/** From the first publication to the last receipt. */
async function measureBoth(receiver: Receiver, pushing: Pushing): Promise<number> {
  const stop = await pushing.start();
  await receiver.reset();
  const startedAt = performance.now();
  await publishAll(pushing);
  await receiver.received(DELIVERIES);
  const figure = perSecond(DELIVERIES, startedAt);
  await stop();
  return figure;
}

async function measureLatency(receiver: Receiver, ours: Pushing, rate: number) {
  progress(`webhooks: ${LATENCY_SECONDS} s at half load, ${Math.round(rate)} events a second`);
  const stop = await ours.start();
  const size = Math.max(1, Math.round((rate * TICK_MS) / 1000));
  const publishFor = (seconds: number) => {
    const times = Math.round((seconds * 1000) / TICK_MS);
    return evenly({ times, everyMs: TICK_MS, begin: () => ours.publish(size) }).then(() => times * size);
  };
  // What full load left behind, garbage here and dead rows there, is cleared away first.
  await receiver.reset();
  await receiver.received(await publishFor(SETTLING_SECONDS));
  await receiver.reset();
  await receiver.received(await publishFor(LATENCY_SECONDS));
  await stop();
  const latencies = await receiver.latencies();
  const part = (share: number) => Math.round(quantile(latencies, share) * 10) / 10;
  return { rate: Math.round(rate), p50: part(0.5), p99: part(0.99), most: part(1) };
}
