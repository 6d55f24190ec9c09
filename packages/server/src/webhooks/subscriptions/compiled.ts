/**
 * The subscriptions of each tenant, compiled for matching. A publish reads the version of its tenant's set in its own
 * transaction and compiles anew only when it has changed: cached, and never stale in any process.
 */
import type { AnySql } from '../../kernel/db/database.ts';
import { BoundedMap } from '../../kernel/memory/bounded-map.ts';
import { createSubscriptionIndex, type SubscriptionIndex } from '../filters/matcher.ts';
import { listSubscriptions, readSet } from '../store/subscriptions.ts';
import type { Subscription } from './subscription.ts';

interface Candidate {
  id: string;
  filters: string[];
  advanced_filters: object[];
}

export interface SubscriptionSets {
  /** The index over the subscriptions of a tenant that events are matched with, as the transaction sees them. */
  indexFor(sql: AnySql, tenantId: string): Promise<SubscriptionIndex<Candidate>>;
}

const MAX_TENANTS = 1000;

export function createSubscriptionSets(): SubscriptionSets {
  const sets = new BoundedMap<string, { version: string | null; index: SubscriptionIndex<Candidate> }>({
    max: MAX_TENANTS,
    whenFull: 'dropOldest',
  });
  return {
    async indexFor(sql, tenantId) {
      const { version } = await readSet(sql, tenantId);
      const known = sets.get(tenantId);
      if (known?.version === version) return known.index;
      const index = indexOf(await listSubscriptions(sql, tenantId));
      sets.renew(tenantId, { version, index });
      return index;
    },
  };
}

function indexOf(subscriptions: Subscription[]): SubscriptionIndex<Candidate> {
  // D21: what the tenant disabled gets no events; what the engine disabled gets them as dead letters.
  const candidates = subscriptions.filter(
    ({ enabled, disabledReason }) => enabled || disabledReason !== null,
  );
  return createSubscriptionIndex(
    candidates.map(({ id, filters, advancedFilters }) => ({
      id,
      filters,
      advanced_filters: advancedFilters,
    })),
  );
}
