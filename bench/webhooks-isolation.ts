/**
 * What targets that hang cost the others: the time from publication to receipt at 90 subscriptions that answer, beside 10
 * that never do and have a backlog of thousands of events each, and without those 10. The 90 get the same load in both
 * runs, which take short turns, so that noise of the machine hits both alike. Each run has a database and an engine of
 * its own, and works in its turns alone: nothing of the 10 touches the run without them. Then the same once more after
 * the 10 have been worked on for so long that their pushes time out (30 s) and are tried again.
 *
 * Bar: p99 with the 10 at most 1.5 times p99 without them.
 */
import { progress } from './kit/progress.ts';
import { type Comparison, compare, evenly, quantile } from './kit/runner.ts';
import { createBenchDatabase, startPostgres } from './kit/services.ts';
import { openEngine, TENANT } from './webhooks/engine.ts';
import { dataOf, SOURCE } from './webhooks/payload.ts';
import { exactTime, type Receiver, startReceiver } from './webhooks/receiver.ts';

const HEALTHY = 90;
const HANGING = 10;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const LATE_ROUNDS = Math.ceil(ROUNDS / 2);
const TURN_SECONDS = 2.5;
/** Events before those that are measured, so that connections stand. */
const LEAD_SECONDS = 0.5;
/** Events a second for each subscription, in 50 transactions. */
const RATE = 5;
const TICK_MS = 20;
/** Events that wait for each subscription that hangs before anything is measured. */
const BACKLOG = 3000;
const PER_BATCH = 100;
/** Until the first pushes time out. */
const PATIENCE_SECONDS = 29;

export default async function bench(): Promise<Comparison> {
  const postgres = await startPostgres();
  const receiver = await startReceiver();
  const open = async (hanging: number) =>
    openRun({ database: await createBenchDatabase(postgres.url), receiver, hanging });
  const [beside, alone] = [await open(HANGING), await open(0)];
  const p99Of = async (run: Run) => quantile(await run.measure(), 0.99);
  const inTurns = (name: string, rounds: number, ours: () => Promise<number>) =>
    compare({
      name,
      unit: 'ms p99',
      rounds,
      smallerIsBetter: true,
      contenders: [
        { name: `${HEALTHY} beside ${HANGING} that hang`, role: 'ours', measure: ours },
        { name: `${HEALTHY} alone`, role: 'limit', measure: () => working(alone, () => p99Of(alone)) },
      ],
    });
  try {
    const early = await inTurns('webhooks-isolation', ROUNDS, () => working(beside, () => p99Of(beside)));
    const late = await working(beside, async () => {
      progress(`webhooks-isolation: ${PATIENCE_SECONDS} s until the first pushes time out`);
      await new Promise((resolve) => setTimeout(resolve, PATIENCE_SECONDS * 1000));
      return inTurns('webhooks-isolation, timing out', LATE_ROUNDS, () => p99Of(beside));
    });
    return { ...early, timesOfAlone: timesOfAlone(early), timesOfAloneWhileTimingOut: timesOfAlone(late) };
  } finally {
    await beside.close();
    await alone.close();
    receiver.stop();
    await postgres.stop();
  }
}

const timesOfAlone = ({ ours, limit }: Comparison) => Math.round((ours / limit!) * 100) / 100;

interface Run {
  /** Pushes until the returned function is called. */
  start(): Promise<() => Promise<void>>;
  /** Publishes for a turn, and answers the latencies at the subscriptions that answer. */
  measure(): Promise<number[]>;
  close(): Promise<void>;
}

async function working<T>(run: Run, measure: () => Promise<T>): Promise<T> {
  const stop = await run.start();
  return measure().finally(stop);
}

const healthyType = (number: number) => `com.bench.healthy.s${number % HEALTHY}`;
const hangingType = (number: number) => `com.bench.hanging.s${number % HANGING}`;

async function openRun(options: { database: string; receiver: Receiver; hanging: number }): Promise<Run> {
  const { database, receiver, hanging } = options;
  const [pusher, publisher] = [await openEngine(database), await openEngine(database)];
  const subscribe = (target_url: string, type: string) =>
    pusher.webhooks.subscriptions.create(TENANT, { target_url, filters: [type] });
  for (let number = 0; number < HEALTHY; number++)
    await subscribe(`${receiver.origin}/hook/${number}`, healthyType(number));
  for (let number = 0; number < hanging; number++)
    await subscribe(`${receiver.origin}/hang/${number}`, hangingType(number));

  const published = { healthy: 0, hanging: 0 };
  function publish(count: { healthy: number; hanging: number }): Promise<void> {
    const publishedAt = exactTime();
    const types = [
      ...Array.from({ length: count.healthy }, () => healthyType(published.healthy++)),
      ...Array.from({ length: count.hanging }, () => hangingType(published.hanging++)),
    ];
    const events = types.map((type, index) => ({ type, source: SOURCE, data: dataOf(index, publishedAt) }));
    return publisher.db.transaction((tx) => publisher.webhooks.publish(tx, TENANT, events));
  }

  for (let left = BACKLOG * hanging; left > 0; left -= PER_BATCH)
    await publish({ healthy: 0, hanging: PER_BATCH });

  /** Publishes evenly, and resolves when all that can arrive has. */
  async function publishFor(seconds: number): Promise<void> {
    const perTick = (subscriptions: number) => (subscriptions * RATE * TICK_MS) / 1000;
    const ticks = (seconds * 1000) / TICK_MS;
    await receiver.reset();
    const begin = () => publish({ healthy: perTick(HEALTHY), hanging: perTick(hanging) });
    await evenly({ times: ticks, everyMs: TICK_MS, begin });
    await receiver.received(perTick(HEALTHY) * ticks);
  }

  return {
    async start() {
      const stop = await pusher.webhooks.work();
      // Long enough for the acknowledgement of what arrived; what hangs is cut off.
      return () => stop(200);
    },
    async measure() {
      await publishFor(LEAD_SECONDS);
      await publishFor(TURN_SECONDS);
      return receiver.latencies();
    },
    async close() {
      await pusher.close();
      await publisher.close();
    },
  };
}
