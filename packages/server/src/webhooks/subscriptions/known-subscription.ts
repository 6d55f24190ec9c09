/** The subscription that a request names, or the answer that there is none. */
import type { Tenant } from '../../accounts/index.ts';
import type { AnySql } from '../../kernel/db/database.ts';
import { apiError } from '../../kernel/errors.ts';
import { findSubscription } from '../store/subscriptions.ts';
import { isSubscriptionId, type Subscription } from './subscription.ts';

/** @throws 404 also for texts that cannot be an id, which the database is not bothered with */
export async function requireSubscription(sql: AnySql, tenant: Tenant, id: string): Promise<Subscription> {
  const found = isSubscriptionId(id) ? await findSubscription(sql, tenant.id, id) : undefined;
  if (found === undefined) throw apiError('notFound', `There is no subscription ${id}.`);
  return found;
}
