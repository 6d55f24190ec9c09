/** SQL of subscriptions. */
import type { AnySql, TransactionSql } from '../../kernel/db/database.ts';
import { guid } from '../../kernel/ids.ts';
import type { Subscription } from '../subscriptions/subscription.ts';

const COLUMNS = `tenant_id as "tenantId", id, name, target_url as "targetUrl", filters,
  advanced_filters as "advancedFilters", headers, enabled, rate_limit as "rateLimit",
  disabled_reason as "disabledReason", held_until as "heldUntil", held_reason as "heldReason",
  sealed_secret as "sealedSecret", replaced_secrets as "replacedSecrets", handshake, allowed_rate as "allowedRate",
  created_at as "createdAt", updated_at as "updatedAt", push_config_since as "pushConfigSince"`;

export async function listSubscriptions(sql: AnySql, tenantId: string): Promise<Subscription[]> {
  return sql<Subscription[]>`
    select ${sql.unsafe(COLUMNS)} from webhook_subscriptions where tenant_id = ${tenantId} order by created_at, id`;
}

export async function findSubscription(
  sql: AnySql,
  tenantId: string,
  id: string,
): Promise<Subscription | undefined> {
  const [found] = await sql<Subscription[]>`
    select ${sql.unsafe(COLUMNS)} from webhook_subscriptions where tenant_id = ${tenantId} and id = ${id}`;
  return found;
}

/** Keeps a subscription from being deleted before the transaction ends; false when it is gone. */
export async function keepSubscription(sql: TransactionSql, tenantId: string, id: string): Promise<boolean> {
  const { count } = await sql`
    select from webhook_subscriptions where tenant_id = ${tenantId} and id = ${id} for key share`;
  return count > 0;
}

export async function countSubscriptions(sql: AnySql, tenantId: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*) as count from webhook_subscriptions where tenant_id = ${tenantId}`;
  return row!.count;
}

export async function insertSubscription(sql: AnySql, subscription: Subscription): Promise<void> {
  const { tenantId, id, name, targetUrl, filters, enabled, rateLimit, sealedSecret } = subscription;
  const { createdAt, updatedAt, pushConfigSince } = subscription;
  await sql`
    insert into webhook_subscriptions (tenant_id, id, name, target_url, filters, advanced_filters, headers, enabled,
      rate_limit, sealed_secret, created_at, updated_at, push_config_since)
    values (${tenantId}, ${id}, ${name}, ${targetUrl}, ${filters}, ${sql.json(subscription.advancedFilters as never)},
      ${sql.json(subscription.headers)}, ${enabled}, ${rateLimit}, ${sealedSecret}, ${createdAt}, ${updatedAt},
      ${pushConfigSince})`;
}

/**
 * Everything that a body can set, and what it makes void. The consent of a target that stays, and a hold that does not end,
 * are left alone: they may have come since the subscription was read.
 */
export async function updateSubscription(
  sql: AnySql,
  subscription: Subscription,
  { resetsHold }: { resetsHold: boolean },
): Promise<void> {
  const { tenantId, id, name, targetUrl, filters, enabled, rateLimit, disabledReason, updatedAt } =
    subscription;
  await sql`
    update webhook_subscriptions set name = ${name}, target_url = ${targetUrl}, filters = ${filters},
      advanced_filters = ${sql.json(subscription.advancedFilters as never)}, headers = ${sql.json(subscription.headers)},
      enabled = ${enabled}, rate_limit = ${rateLimit}, disabled_reason = ${disabledReason},
      held_until = case when ${resetsHold} then null else held_until end,
      held_reason = case when ${resetsHold} then null else held_reason end,
      handshake = case when target_url = ${targetUrl} then handshake else ${subscription.handshake} end,
      allowed_rate = case when target_url = ${targetUrl} then allowed_rate else ${subscription.allowedRate} end,
      updated_at = ${updatedAt}, push_config_since = ${subscription.pushConfigSince}
    where tenant_id = ${tenantId} and id = ${id}`;
}

/** Deletes the given subscriptions, or all of the tenant; answers the ids that are gone. */
export async function deleteSubscriptions(sql: AnySql, tenantId: string, ids?: string[]): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    delete from webhook_subscriptions where tenant_id = ${tenantId}
      ${ids === undefined ? sql`` : sql`and id = any(${ids}::text[])`}
    returning id`;
  return rows.map(({ id }) => id);
}

/**
 * What the engine has to say about a subscription, as long as it is the one that gave cause: what was asked before its headers
 * changed, or before it was enabled again, says nothing about the one that it is now.
 */
export type TargetFinding = Pick<Subscription, 'tenantId' | 'id' | 'targetUrl' | 'pushConfigSince'> & {
  reason: string;
};

/** The caller has the tenant's set. */
export async function disableSubscription(sql: AnySql, verdict: TargetFinding, now: Date): Promise<void> {
  const { tenantId, id, targetUrl, pushConfigSince, reason } = verdict;
  await sql`
    update webhook_subscriptions set enabled = false, disabled_reason = ${reason}, updated_at = ${now}
    where tenant_id = ${tenantId} and id = ${id} and target_url = ${targetUrl}
      and push_config_since = ${pushConfigSince} and enabled`;
}

/**
 * Remembers a hold, which the worker has in mind anyway. Not while the tenant's set is just being changed (`isFree`): outcomes of
 * other deliveries must not wait for someone who replaces thousands of subscriptions. (Whoever else has the row, to write down a
 * handshake, is done in a moment.)
 */
export async function holdSubscription(
  sql: AnySql,
  verdict: TargetFinding,
  until: Date,
): Promise<{ isFree: boolean; isWritten: boolean }> {
  const { tenantId, id, targetUrl, pushConfigSince, reason } = verdict;
  const [row] = await sql<{ isFree: boolean; isWritten: boolean }[]>`
    with unchanging as (select from webhook_sets where tenant_id = ${tenantId} for share skip locked),
    held as (update webhook_subscriptions set held_until = ${until}, held_reason = ${reason}
      where tenant_id = ${tenantId} and id = ${id} and target_url = ${targetUrl} and push_config_since = ${pushConfigSince}
        and (held_until is null or held_until < ${until})
        and exists (select from unchanging)
      returning id)
    select exists (select from unchanging) as "isFree", exists (select from held) as "isWritten"`;
  return row!;
}

/**
 * Forgets the hold of this reason. Not of a subscription that is just being changed: the next success says so again. Answers
 * whether there was one.
 */
export async function endHold(sql: AnySql, verdict: TargetFinding): Promise<boolean> {
  const { tenantId, id, targetUrl, reason } = verdict;
  const { count } = await sql`
    update webhook_subscriptions set held_until = null, held_reason = null
    where tenant_id = ${tenantId} and id in (
      select id from webhook_subscriptions
      where tenant_id = ${tenantId} and id = ${id} and target_url = ${targetUrl} and held_reason = ${reason}
      for no key update skip locked)`;
  return count > 0;
}

export async function writeSecrets(
  sql: AnySql,
  input: Pick<Subscription, 'tenantId' | 'id' | 'sealedSecret' | 'replacedSecrets' | 'updatedAt'>,
): Promise<void> {
  await sql`
    update webhook_subscriptions set sealed_secret = ${input.sealedSecret},
      replaced_secrets = ${sql.json(input.replacedSecrets as never)}, updated_at = ${input.updatedAt}
    where tenant_id = ${input.tenantId} and id = ${input.id}`;
}

/**
 * Writes down what a target answered. Not of a subscription that is just being changed: dozens of handshakes that wait for someone who
 * replaces thousands of subscriptions would leave no connection to anybody else. Answers whether it is written.
 */
export async function recordHandshake(
  sql: AnySql,
  input: Pick<Subscription, 'tenantId' | 'id' | 'targetUrl' | 'handshake' | 'allowedRate'>,
): Promise<boolean> {
  const { tenantId, id, targetUrl, handshake, allowedRate } = input;
  const { count } = await sql`
    update webhook_subscriptions set handshake = ${handshake}, allowed_rate = ${allowedRate}
    where tenant_id = ${tenantId} and id in (
      select id from webhook_subscriptions
      where tenant_id = ${tenantId} and id = ${id} and target_url = ${targetUrl} for no key update skip locked)`;
  return count > 0;
}

export interface SubscriptionSet {
  /** Null before the first change. */
  version: string | null;
  requireHandshake: boolean;
}

/** What holds for all subscriptions of the tenant. */
export async function readSet(sql: AnySql, tenantId: string): Promise<SubscriptionSet> {
  const [row] = await sql<SubscriptionSet[]>`
    select version, require_handshake as "requireHandshake" from webhook_sets where tenant_id = ${tenantId}`;
  return row ?? { version: null, requireHandshake: false };
}

/**
 * Gives the set another version. Also the lock that makes changes of one tenant's set follow each other: taken first
 * in every transaction that changes subscriptions. Versions never come back, not even after a rollback, so whoever saw
 * one inside a transaction may remember it.
 */
export async function renewSet(sql: AnySql, tenantId: string): Promise<SubscriptionSet> {
  const [row] = await sql<SubscriptionSet[]>`
    insert into webhook_sets (tenant_id, version) values (${tenantId}, ${guid()})
    on conflict (tenant_id) do update set version = excluded.version
    returning version, require_handshake as "requireHandshake"`;
  return row!;
}

/** The same, but not while somebody else has it; answers whether that is so. */
export async function renewFreeSet(sql: AnySql, tenantId: string): Promise<boolean> {
  const { count } = await sql`
    update webhook_sets set version = ${guid()} where tenant_id = ${tenantId} and tenant_id in (
      select tenant_id from webhook_sets where tenant_id = ${tenantId} for update skip locked)`;
  return count > 0;
}

export async function writeRequireHandshake(sql: AnySql, tenantId: string, required: boolean): Promise<void> {
  await sql`update webhook_sets set require_handshake = ${required} where tenant_id = ${tenantId}`;
}
