/** The webhook engine as the benches run it, in whatever process. */
import { openDatabase } from '../../packages/server/src/kernel/db/database.ts';
import { createLanes } from '../../packages/server/src/kernel/lanes/index.ts';
import { createMetrics } from '../../packages/server/src/kernel/telemetry/metrics.ts';
import { silentLog } from '../../packages/server/src/kernel/telemetry/no-op.ts';
import { systemClock } from '../../packages/server/src/kernel/time/clock.ts';
import { createWebhooks, type Webhooks } from '../../packages/server/src/webhooks/index.ts';
import { dataOf, SOURCE, TYPE } from './payload.ts';
import type { Pushing, PushingOptions } from './peers.ts';
import { exactTime } from './receiver.ts';

const config = { mode: 'development' as const, publicUrl: 'http://localhost:8400', egressAllow: [] };
/** The same in all processes of a bench: one makes the subscription, others push to it. */
const secret = 'nothing here is a secret';
export const TENANT = {
  id: '00000000-0000-4000-8000-000000000000',
  name: 'bench',
  region: 'eu',
  createdAt: new Date(),
};

const CONNECTIONS = 8;

/**
 * What one process has, with all its connections: they are made when they are first needed, a tenth of a second each on a busy
 * machine, and then used for half an hour or more.
 */
export async function openEngine(url: string) {
  const db = openDatabase({ url, connections: CONNECTIONS });
  await Promise.all(Array.from({ length: CONNECTIONS }, () => db.sql`select 1`));
  const metrics = createMetrics();
  const lanes = createLanes({ db, clock: systemClock, log: silentLog, metrics });
  const webhooks: Webhooks = await createWebhooks({
    db,
    clock: systemClock,
    lanes,
    metrics,
    config,
    secret,
    eventTypes: [],
  });
  return {
    db,
    webhooks,
    async close() {
      await webhooks.close();
      await lanes.close();
      await db.close();
    },
  };
}

/** The engine as a contender. What it pushes to, and how many at a time, is said by a subscription that is there already. */
export async function openSignalbox({ store }: Pick<PushingOptions, 'store'>): Promise<Pushing> {
  const { db, webhooks, close } = await openEngine(store);
  let number = 0;
  const eventOf = (publishedAt: number) => {
    number += 1;
    return { type: TYPE, source: SOURCE, subject: `7_${number}`, data: dataOf(number, publishedAt) };
  };
  return {
    publish(count) {
      const publishedAt = exactTime();
      const events = Array.from({ length: count }, () => eventOf(publishedAt));
      return db.transaction((tx) => webhooks.publish(tx, TENANT, events));
    },
    async start() {
      const stop = await webhooks.work();
      return () => stop(5000);
    },
    close,
  };
}
