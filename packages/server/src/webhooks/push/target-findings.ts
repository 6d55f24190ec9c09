/**
 * What pushes told of a subscription for longer than one event: its target is gone (410), or needs time. It is written down with
 * the outcome of the push, unless the tenant is just changing its subscriptions: then outcomes do not wait, and a job of its own
 * writes it down as soon as the change is over.
 */
import type { Database, Tx } from '../../kernel/db/database.ts';
import type { Lanes, Worker } from '../../kernel/lanes/index.ts';
import type { Clock } from '../../kernel/time/clock.ts';
import * as store from '../store/subscriptions.ts';
import type { Targets } from '../subscriptions/push-targets.ts';

const VERDICT_QUEUE = 'verdict';
/** Changes of a few subscriptions take some milliseconds, of thousands some seconds. */
const CHANGING_MS = 500;

/** With the time until which to wait; without one the target is gone. */
export type PushVerdict = store.TargetFinding & { until?: number };

/** As JSON keeps it. The id is the key of the job. */
type Payload = Omit<PushVerdict, 'id' | 'pushConfigSince'> & { pushConfigSince: number };

export interface Verdicts {
  /** Writes it down in the transaction, or sees to it that it will be. */
  record(tx: Tx, verdict: PushVerdict): Promise<void>;
  /** Writes down what had to wait. */
  work(): Promise<Worker>;
}

export function createVerdicts(dependencies: {
  db: Database;
  clock: Clock;
  lanes: Lanes;
  targets: Targets;
}): Verdicts {
  const { db, clock, lanes, targets } = dependencies;

  /** False while the tenant is changing its subscriptions. */
  async function write(tx: Tx, verdict: PushVerdict): Promise<boolean> {
    const { tenantId, id, until } = verdict;
    if (until === undefined) {
      if (!(await store.renewFreeSet(tx.sql, tenantId))) return false;
      await store.disableSubscription(tx.sql, verdict, new Date(clock.now()));
      await targets.changed(tx, tenantId, [id]);
      return true;
    }
    const { isFree, isWritten } = await store.holdSubscription(tx.sql, verdict, new Date(until));
    // Whoever hears of a change looks whether deliveries still have to wait.
    if (isWritten) await targets.changed(tx, tenantId, [id]);
    return isFree;
  }

  return {
    async record(tx, verdict) {
      if (await write(tx, verdict)) return;
      const { id, pushConfigSince, ...rest } = verdict;
      const payload: Payload = { ...rest, pushConfigSince: pushConfigSince.getTime() };
      await lanes.enqueue(tx, VERDICT_QUEUE, [{ key: id, payload, dueAt: clock.now() + CHANGING_MS }]);
    },
    work: () =>
      lanes.work({
        queue: VERDICT_QUEUE,
        concurrency: 8,
        async run({ key: id, payload }) {
          const { pushConfigSince, ...rest } = payload as Payload;
          const now = clock.now();
          if (rest.until !== undefined && rest.until <= now) return { outcome: { kind: 'done' } };
          const verdict = { ...rest, id, pushConfigSince: new Date(pushConfigSince) };
          const isWritten = await db.transaction((tx) => write(tx, verdict));
          return { outcome: isWritten ? { kind: 'done' } : { kind: 'hold', dueAt: now + CHANGING_MS } };
        },
      }),
  };
}
