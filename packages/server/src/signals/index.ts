/**
 * The stored signals: tables, readers, the follower that hands them to other modules, and activity by day. Ingestion stores them.
 */
import type { Accounts } from '../accounts/index.ts';
import type { Database, Tx } from '../kernel/db/database.ts';
import { invalid } from '../kernel/errors.ts';
import type { Lanes } from '../kernel/lanes/index.ts';
import type { Follow, Module, PersonalData, Stop } from '../kernel/module.ts';
import type { Log } from '../kernel/telemetry/log.ts';
import type { Metrics } from '../kernel/telemetry/metrics.ts';
import type { Clock } from '../kernel/time/clock.ts';
import type { Profiles, Selector } from '../profiles/index.ts';
import { type Activity, createActivity } from './activity/index.ts';
import { deleteActivity, exportActivity } from './activity/store.ts';
import { CART_MS } from './carts.ts';
import { createDerivation, inOrder } from './follower/derive.ts';
import { createFollowMetrics, startFollower } from './follower/index.ts';
import { emptySlotAt } from './id-slots.ts';
import { cursorOf, iteratorViolations, pageOf, type SignalPage } from './listing.ts';
import { emptySlot } from './store/signal-ids.ts';
import { deleteSignals, exportSignals, listSignals, moveSignals, readCartSignals } from './store/signals.ts';

export type { FollowPayload } from './follower/follow-job.ts';
export { type IdSlots, slotsAt, storableId } from './id-slots.ts';
export { type Exception, type PlainRow, type RequestRow, storePlain } from './store/fast-path.ts';
export { byLaneAndKey, type Claim, claimIds, claimIdsIn } from './store/signal-ids.ts';
export { insertSignals, type Origin, SESSION_SETTINGS, type SignalRow } from './store/signals.ts';

export interface Signals extends Module<Accounts> {
  activity: Activity;
  /** The stored signals of a person, newest first, a page at a time; undefined when nobody is found. */
  list(
    tenantId: string,
    selector: Selector,
    page: { take: number; iterator?: string },
  ): Promise<SignalPage | undefined>;
  /** Hands followed signals to a module from now on. */
  follow(follow: Follow): void;
  personalData: PersonalData;
  /** Forgets ids that are old enough. */
  maintain(): Promise<void>;
  /** Follows signals. */
  work(): Promise<Stop>;
}

const MOVED_AT_ONCE = 1000;

/** @example const signals = createSignals({ db, clock, log, metrics, lanes, profiles }); signals.follow(recommendations.follows); */
export function createSignals(dependencies: {
  db: Database;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  lanes: Lanes;
  profiles: Profiles;
}): Signals {
  const { db, clock, log, metrics, lanes, profiles } = dependencies;
  const activity = createActivity({ db, clock });
  const followMetrics = createFollowMetrics(metrics);
  const follows: Follow[] = [];
  const derive = createDerivation({ clock, lanes, profiles, activity, follows });

  /** The cart signals of a person, the oldest first. */
  async function cartsOf({ sql }: Tx, tenantId: string, systemId: number) {
    const since = new Date(clock.now() - CART_MS);
    return (await readCartSignals(sql, { tenantId, profiles: [systemId], since })).sort(inOrder);
  }

  async function maintain(): Promise<void> {
    const slot = emptySlotAt(clock.now());
    if (slot !== null) await emptySlot(db.sql, slot);
  }

  const signals: Signals = {
    async routes(app, accounts) {
      const { registerSignalRoutes } = await import('./routes.ts');
      registerSignalRoutes(app, { accounts, signals });
    },
    activity,
    async list(tenantId, selector, { take, iterator }) {
      const unknown = iteratorViolations({ iterator });
      if (unknown.length > 0) throw invalid(unknown);
      const profile = await profiles.find(tenantId, selector);
      if (profile === undefined) return undefined;
      const after = iterator === undefined ? null : cursorOf(iterator);
      const found = await db.transaction(async (tx) => {
        // Until a merge is complete, signals also stand under the merged numbers.
        const numbers = await profiles.numbersOf(tx, tenantId, [profile.systemId]);
        return listSignals(tx.sql, { tenantId, profiles: [...numbers.keys()], after, limit: take + 1 });
      });
      return pageOf(found, take);
    },
    follow: (follow) => void follows.push(follow),
    personalData: {
      name: 'signals',
      columns: ['signals.profile', 'activity_days.profile', 'person_activity.profile'],
      async erase({ sql }, { tenantId, systemIds }) {
        await deleteActivity(sql, tenantId, systemIds);
        return deleteSignals(sql, tenantId, systemIds);
      },
      async export(sql, { tenantId, systemIds }) {
        return [
          ...(await exportSignals(sql, tenantId, systemIds)),
          ...(await exportActivity(sql, tenantId, systemIds)),
        ];
      },
      async merge(tx, move) {
        const moved = await moveSignals(tx.sql, { ...move, limit: MOVED_AT_ONCE });
        if (moved > 0) return true;
        // Last, so that the state of the carts is folded from all signals of the person.
        await activity.merge(tx, move, await cartsOf(tx, move.tenantId, move.into));
        return false;
      },
    },
    chores: [{ name: 'ids of signals', deletesByAge: true, run: maintain }],
    maintain,
    async work() {
      const worker = await startFollower({ clock, log, metrics: followMetrics, lanes, profiles, derive });
      return (deadlineMs) => worker.stop(deadlineMs);
    },
  };
  return signals;
}
