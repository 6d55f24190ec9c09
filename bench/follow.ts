/**
 * Signals per second until they are stored and followed, beside the same derivation inside ingestion's transaction: both write
 * activity by day and interactions of 2,000 known persons, 64 callers with one signal each. Then the follower's lag at 2,000 signals a
 * second: from the arrival of a signal until the modules have derived from it.
 *
 * Bars: at least 0.8 of the derivation inside the transaction; p99 of the lag below a second.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { readEvents } from '../packages/server/src/ingestion/envelope.ts';
import { createFullPath } from '../packages/server/src/ingestion/full-path.ts';
import { createGroupCommit } from '../packages/server/src/ingestion/group-commit.ts';
import { loadConfig } from '../packages/server/src/kernel/config/config.ts';
import { randomSecret } from '../packages/server/src/kernel/security/crypto.ts';
import { createMetrics } from '../packages/server/src/kernel/telemetry/metrics.ts';
import { silentLog } from '../packages/server/src/kernel/telemetry/no-op.ts';
import { createModules, type Modules } from '../packages/server/src/main.ts';
import { MANIFESTS } from '../packages/server/src/manifests.ts';
import { FOLLOW_QUEUE } from '../packages/server/src/profiles/index.ts';
import { createActivity } from '../packages/server/src/signals/activity/index.ts';
import { createDerivation } from '../packages/server/src/signals/follower/derive.ts';
import type { FollowPayload } from '../packages/server/src/signals/follower/follow-job.ts';
import { SESSION_SETTINGS } from '../packages/server/src/signals/index.ts';
import { progress } from './kit/progress.ts';
import { type Comparison, compare, perSecond, quantile } from './kit/runner.ts';
import { createBenchDatabase, startPostgres } from './kit/services.ts';

const SIGNALS = 10_000;
const CALLERS = 64;
const PERSONS = 2000;
const ROUNDS = 7;
const RATE = 2000;
const PACED_SECONDS = 20;

export default async function bench(): Promise<Comparison> {
  const postgres = await startPostgres();
  const follower = await openModules(await createBenchDatabase(postgres.url));
  const inside = await openModules(await createBenchDatabase(postgres.url));
  try {
    const stop = await follower.signals.work();
    const result = await compare({
      name: 'follow',
      unit: 'signals/s',
      rounds: ROUNDS,
      contenders: [
        { name: 'follower', role: 'ours', measure: () => measure(follower, receiverOf(follower)) },
        {
          name: 'inside the transaction',
          role: 'peer',
          measure: () => measure(inside, deriveInside(inside)),
        },
      ],
    });
    const lags = await lagsAt(follower, RATE);
    await stop(5000);
    const ms = (part: number) => Math.round(quantile(lags, part));
    return { ...result, lagSignals: lags.length, lagP50Ms: ms(0.5), lagP99Ms: ms(0.99) };
  } finally {
    await follower.close();
    await inside.close();
    await postgres.stop();
  }
}

async function openModules(url: string): Promise<Modules> {
  const config = {
    ...loadConfig({ manifests: MANIFESTS, mode: 'development', env: {} }),
    secret: randomSecret(),
  };
  return createModules({ config, log: silentLog, metrics: createMetrics(), url });
}

type Receive = (tenantId: string, event: object) => Promise<unknown>;

const factsOf = (receivedAt: number) => ({
  receivedAt,
  sentAt: undefined,
  marketingId: undefined,
  trackingParam: undefined,
});

/** Ingestion as it is: it stores, and the follower derives. */
function receiverOf({ ingestion, clock }: Modules): Receive {
  return (tenantId, event) => ingestion.receive({ tenantId, events: [event], ...factsOf(clock.now()) });
}

const receivers = new Map<Modules, Receive>();

/** Ingestion that derives in the transaction which stores: what would be the job is derived on the spot. */
function deriveInside(modules: Modules): Receive {
  const known = receivers.get(modules);
  if (known !== undefined) return known;
  const { db, clock, lanes, profiles, recommendations } = modules;
  const pool = db.dedicated({ connections: 2, name: 'bench', settings: SESSION_SETTINGS });
  const activity = createActivity({ db, clock });
  const derive = createDerivation({ clock, lanes, profiles, activity, follows: [recommendations.follows] });
  const commits = createGroupCommit({
    clock,
    flushes: 2,
    weigh: () => 1,
    isolate: () => false,
    commit: createFullPath({
      openPool: async () => pool,
      clock,
      profiles,
      lanes: {
        enqueue: async (tx, _queue, jobs) =>
          void (await derive(
            tx,
            jobs.map(({ payload }) => payload as FollowPayload),
          )),
      },
    }),
  });
  const receive: Receive = (tenantId, event) => {
    const receivedAt = clock.now();
    const events = readEvents([event], factsOf(receivedAt)) as never;
    return commits.submit({ tenantId, receivedAt, origin: 'claimed', events });
  };
  receivers.set(modules, receive);
  return receive;
}

let number = 0;

/** Surveys, views, carts and now and then a purchase. */
function nextEvent(): object {
  number += 1;
  const email = `visitor-${number % PERSONS}@shop.example`;
  const common = { id: randomUUID(), time: Date.now() };
  const item = { sku: `sku-${number % 500}`, quantity: 1, netprice: 19.9 };
  const kind = number % 20;
  if (kind === 0)
    return {
      ...common,
      signal: 'cart/purchase',
      payload: { email, cartId: `c-${email}`, transactionId: `t-${number}`, total: 19.9, items: [item] },
    };
  if (kind < 4)
    return { ...common, signal: 'cart/add', payload: { email, cartId: `c-${email}`, items: [item] } };
  if (kind < 10)
    return {
      ...common,
      signal: 'browse',
      payload: { email, sections: [['shop']], elements: [{ type: 'product', id: item.sku }] },
    };
  return {
    ...common,
    signal: 'survey/update',
    payload: { email, objectId: 's-1', objectName: 'How was it?' },
  };
}

const tenants = new Map<Modules, string>();

async function tenantOf(modules: Modules): Promise<string> {
  const id = tenants.get(modules) ?? (await modules.accounts.createTenant({ name: 'bench' })).id;
  tenants.set(modules, id);
  return id;
}

/** Signals a second until all of them are stored and derived from. */
async function measure(modules: Modules, receive: Receive): Promise<number> {
  const tenantId = await tenantOf(modules);
  const startedAt = performance.now();
  let left = SIGNALS;
  await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      while (left-- > 0) await receive(tenantId, nextEvent());
    }),
  );
  await modules.lanes.idle(FOLLOW_QUEUE);
  return perSecond(SIGNALS, startedAt);
}

/** The lags of all signals that were followed while they arrived at a rate, in milliseconds. */
async function lagsAt(modules: Modules, rate: number): Promise<number[]> {
  const { signals, clock } = modules;
  const receive = receiverOf(modules);
  const tenantId = await tenantOf(modules);
  const lags: number[] = [];
  signals.follow({
    name: 'lag',
    wants: () => true,
    async take(tx, followed) {
      tx.afterCommit(() => {
        const now = clock.now();
        for (const { receivedAt } of followed) lags.push(now - receivedAt);
      });
    },
  });
  progress(`follow: ${rate} signals a second for ${PACED_SECONDS} s`);
  const startedAt = performance.now();
  const waiting = new Set<Promise<unknown>>();
  for (let sent = 0; sent < rate * PACED_SECONDS; ) {
    const due = Math.floor(((performance.now() - startedAt) / 1000) * rate);
    for (; sent < due; sent++) {
      const answer = receive(tenantId, nextEvent()).finally(() => waiting.delete(answer));
      waiting.add(answer);
    }
    await delay(5);
  }
  await Promise.all(waiting);
  await modules.lanes.idle(FOLLOW_QUEUE);
  return lags;
}
