/** What the admin API and the command line do with dead letters. */
import type { Tenant } from '../../accounts/index.ts';
import type { Database } from '../../kernel/db/database.ts';
import { apiError, invalid } from '../../kernel/errors.ts';
import { newId, timeOfId } from '../../kernel/ids.ts';
import type { Lanes } from '../../kernel/lanes/index.ts';
import type { Clock } from '../../kernel/time/clock.ts';
import * as store from '../store/dead-letters.ts';
import {
  advanceReschedule,
  findReschedule,
  insertReschedule,
  type Reschedule,
} from '../store/reschedules.ts';
import { requireSubscription } from '../subscriptions/known-subscription.ts';
import { isSubscriptionId } from '../subscriptions/subscription.ts';
import {
  cursorOf,
  expiredBefore,
  iteratorOf,
  iteratorViolations,
  letterView,
  metadataView,
  timeOfLetter,
} from './dead-letter.ts';
import { RESCHEDULE_QUEUE, type ReschedulePayload } from './reschedule.ts';
import { clampToRetention, type TimeRange } from './time-range.ts';

export interface DeadLetters {
  /** A page of metadata, newest first; `iterator` continues it. */
  list(
    tenant: Tenant,
    input: { iterator?: string; limit: number; subscriptionId?: string },
  ): Promise<{ items: ReturnType<typeof metadataView>[]; iterator: string | null }>;
  get(tenant: Tenant, subscriptionId: string, id: string): Promise<Record<string, unknown>>;
  remove(tenant: Tenant, subscriptionId: string, id: string): Promise<void>;
  /** Counts the letters in the range and, unless it is a dry run, starts to send them again. */
  reschedule(
    tenant: Tenant,
    subscriptionId: string,
    range: TimeRange & { dryRun: boolean },
  ): Promise<{ matched: number; id: string | null }>;
  rescheduleState(tenant: Tenant, id: string): Promise<RescheduleView>;
  /** Stops a reschedule; what is back in the queue already is sent. */
  cancelReschedule(tenant: Tenant, id: string): Promise<void>;
}

export type RescheduleView = Omit<Reschedule, 'tenantId' | 'from' | 'until'>;

export function createDeadLetters(dependencies: { db: Database; clock: Clock; lanes: Lanes }): DeadLetters {
  const { db, clock, lanes } = dependencies;

  function keyOf(tenant: Tenant, subscriptionId: string, id: string): store.DeadLetterKey {
    const deadLetteredAt = timeOfLetter(id);
    const isGone = deadLetteredAt === null || deadLetteredAt <= expiredBefore(clock.now());
    if (isGone || !isSubscriptionId(subscriptionId)) throw unknownLetter(id);
    return { tenantId: tenant.id, subscriptionId, deadLetteredAt, id };
  }

  async function rescheduleState(tenant: Tenant, id: string): Promise<RescheduleView> {
    const found = timeOfId('rsc', id) === null ? undefined : await findReschedule(db.sql, tenant.id, id);
    if (found === undefined) throw apiError('notFound', `There is no reschedule ${id}.`);
    const { tenantId: _tenant, from: _from, until: _until, ...view } = found;
    return view;
  }

  return {
    async list(tenant, { iterator, limit, subscriptionId }) {
      const unknown = iteratorViolations({ iterator });
      if (unknown.length > 0) throw invalid(unknown);
      const after = iterator === undefined ? null : cursorOf(iterator);
      if (subscriptionId !== undefined && !isSubscriptionId(subscriptionId))
        return { items: [], iterator: null };
      const page = {
        tenantId: tenant.id,
        subscriptionId,
        after,
        newerThan: expiredBefore(clock.now()),
        limit: limit + 1,
      };
      const found = await store.listDeadLetters(db.sql, page);
      const letters = found.slice(0, limit);
      return {
        items: letters.map(metadataView),
        iterator: found.length > limit ? iteratorOf(letters.at(-1)!) : null,
      };
    },
    async get(tenant, subscriptionId, id) {
      const letter = await store.findDeadLetter(db.sql, keyOf(tenant, subscriptionId, id));
      if (letter === undefined) throw unknownLetter(id);
      return letterView(letter);
    },
    async remove(tenant, subscriptionId, id) {
      if (!(await store.deleteDeadLetter(db.sql, keyOf(tenant, subscriptionId, id)))) throw unknownLetter(id);
    },
    async reschedule(tenant, subscriptionId, { from, until, dryRun }) {
      await requireSubscription(db.sql, tenant, subscriptionId);
      const now = clock.now();
      const range = { tenantId: tenant.id, subscriptionId, ...clampToRetention({ from, until }, now) };
      return db.transaction(async (tx) => {
        const matched = await store.countDeadLetters(tx.sql, range);
        if (dryRun || matched === 0) return { matched, id: null };
        const id = newId('rsc');
        const progress = { matched, rescheduled: 0, state: 'running' as const, createdAt: new Date(now) };
        await insertReschedule(tx.sql, { ...range, id, ...progress }, new Date(expiredBefore(now)));
        const payload: ReschedulePayload = { tenantId: tenant.id, rescheduleId: id };
        await lanes.enqueue(tx, RESCHEDULE_QUEUE, [{ key: subscriptionId, payload }]);
        return { matched, id };
      });
    },
    rescheduleState,
    async cancelReschedule(tenant, id) {
      const { state } = await rescheduleState(tenant, id);
      if (state === 'running') {
        await advanceReschedule(db.sql, { tenantId: tenant.id, id, rescheduled: 0, state: 'cancelled' });
      }
    },
  };
}

const unknownLetter = (id: string) => apiError('notFound', `There is no dead letter ${id}.`);
