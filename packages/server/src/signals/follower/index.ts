/**
 * The follower. Ingestion stores signals and inserts one job per lane, which names them; the follower hands them to the modules that
 * registered. A worker of the queue owns a lane, so the signals of a person are followed by one process at a time.
 *
 * A job that fails alone is split into one job per signal. Such a job is tried every five minutes without end: it never becomes a dead
 * job, and it holds up no other.
 */
import type { Tx } from '../../kernel/db/database.ts';
import type { Lanes, NewJob, Worker } from '../../kernel/lanes/index.ts';
import type { FollowedSignal } from '../../kernel/module.ts';
import type { Log } from '../../kernel/telemetry/log.ts';
import type { Metrics } from '../../kernel/telemetry/metrics.ts';
import { type Clock, MINUTE } from '../../kernel/time/clock.ts';
import { FOLLOW_QUEUE, type Profiles } from '../../profiles/index.ts';
import { type FollowPayload, isMerge, splitJob } from './follow-job.ts';

const TRY_AGAIN_MS = 5 * MINUTE;
/** Following is one transaction for all jobs that were read: a job itself takes no time. */
const CONCURRENCY = 500;

export interface FollowMetrics {
  lag: { observe(seconds: number): void };
  failures: { inc(count: number): void };
}

export function createFollowMetrics(metrics: Metrics): FollowMetrics {
  const lag = metrics
    .histogram({
      name: 'signalbox_follow_lag_seconds',
      help: 'Time from the arrival of a signal until the modules have derived from it',
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 30, 300, 3600],
    })
    .series({});
  const failures = metrics
    .counter({ name: 'signalbox_follow_failures_total', help: 'Jobs of the follower that failed alone' })
    .series({});
  return { lag, failures };
}

export async function startFollower(dependencies: {
  clock: Clock;
  log: Log;
  metrics: FollowMetrics;
  lanes: Lanes;
  profiles: Pick<Profiles, 'moveData'>;
  derive(tx: Tx, payloads: readonly FollowPayload[]): Promise<FollowedSignal[]>;
}): Promise<Worker> {
  const { clock, log, metrics, lanes, profiles, derive } = dependencies;
  const { lag, failures } = metrics;
  const tryAgain = () => ({ kind: 'hold' as const, dueAt: clock.now() + TRY_AGAIN_MS });

  return lanes.work<never>({
    queue: FOLLOW_QUEUE,
    concurrency: CONCURRENCY,
    keyConcurrency: CONCURRENCY,
    async run({ id, payload }) {
      if (!isMerge(payload)) return { outcome: { kind: 'done' } };
      try {
        await profiles.moveData(payload.tenant, payload.merge);
        return { outcome: { kind: 'done' } };
      } catch (err) {
        failures.inc(1);
        log.error({ err, job: id, tenant: payload.tenant }, 'data of a merged profile was not moved yet');
        return { outcome: tryAgain() };
      }
    },
    async settle(tx, settled) {
      const payloads = settled.map(({ job }) => job.payload).filter((payload) => !isMerge(payload));
      const followed = await derive(tx, payloads as FollowPayload[]);
      tx.afterCommit(() => {
        const now = clock.now();
        for (const { receivedAt } of followed) lag.observe(Math.max(now - receivedAt, 0) / 1000);
      });
    },
    whenStuck({ key, payload }, err) {
      failures.inc(1);
      if (isMerge(payload)) return { outcome: tryAgain() };
      const parts = splitJob(payload as FollowPayload);
      const [only] = parts;
      log.error({ err, tenant: only!.tenant, signals: parts.length }, 'signals could not be followed');
      if (parts.length === 1) return { outcome: tryAgain() };
      return { outcome: { kind: 'done' }, jobs: parts.map((part): NewJob => ({ key, payload: part })) };
    },
  });
}
