/** SQL of the attempts to push events. */

import { list, texts, times } from '../../kernel/db/columns.ts';
import type { AnySql } from '../../kernel/db/database.ts';

export interface Attempt {
  tenantId: string;
  subscriptionId: string;
  at: number;
  eventId: string;
  ownId: string | null;
  eventType: string;
  /** 1 for the first. */
  attempt: number;
  statusCode: number | null;
  latencyMs: number;
  outcome: 'delivered' | 'retry' | 'dead' | 'test';
  error: string | null;
  response: string | null;
}

export async function insertAttempts(sql: AnySql, attempts: Attempt[]): Promise<void> {
  if (attempts.length === 0) return;
  const column = <K extends keyof Attempt>(name: K) => attempts.map((attempt) => attempt[name]);
  await sql`
    insert into webhook_attempts (tenant_id, subscription_id, at, event_id, own_id, event_type, attempt, status_code,
      latency_ms, outcome, error, response)
    select * from rows from (
      unnest(${list(column('tenantId'))}::uuid[]),
      unnest(${list(column('subscriptionId'))}::text[]),
      unnest(${times(column('at'))}::timestamptz[]),
      unnest(${list(column('eventId'))}::text[]),
      json_array_elements_text(${texts(column('ownId'))}::text::json),
      json_array_elements_text(${texts(column('eventType'))}::text::json),
      unnest(${list(column('attempt'))}::int[]),
      unnest(${list(column('statusCode'))}::int[]),
      unnest(${list(column('latencyMs'))}::int[]),
      unnest(${list(column('outcome'))}::text[]),
      json_array_elements_text(${texts(column('error'))}::text::json),
      json_array_elements_text(${texts(column('response'))}::text::json)
    ) as attempt`;
}

type AttemptRow = Omit<Attempt, 'at'> & { at: Date };

/** Newest first. */
export async function listAttempts(
  sql: AnySql,
  input: { tenantId: string; subscriptionId: string; limit: number },
): Promise<AttemptRow[]> {
  return sql<AttemptRow[]>`
    select tenant_id as "tenantId", subscription_id as "subscriptionId", at, event_id as "eventId",
      own_id as "ownId", event_type as "eventType", attempt, status_code as "statusCode", latency_ms as "latencyMs",
      outcome, error, response
    from webhook_attempts where tenant_id = ${input.tenantId} and subscription_id = ${input.subscriptionId}
    order by at desc limit ${input.limit}`;
}

export interface DeliveryStats {
  attempts: number;
  delivered: number;
  retried: number;
  dead: number;
  latencyP50: number | null;
  latencyP95: number | null;
  latencyP99: number | null;
  lastDeliveredAt: Date | null;
}

/** Figures of the attempts since a time; tests do not count. */
export async function readDeliveryStats(
  sql: AnySql,
  input: { tenantId: string; subscriptionId: string; since: Date },
): Promise<DeliveryStats> {
  const [stats] = await sql<DeliveryStats[]>`
    select count(*) as attempts, count(*) filter (where outcome = 'delivered') as delivered,
      count(*) filter (where outcome = 'retry') as retried, count(*) filter (where outcome = 'dead') as dead,
      percentile_disc(0.5) within group (order by latency_ms) as "latencyP50",
      percentile_disc(0.95) within group (order by latency_ms) as "latencyP95",
      percentile_disc(0.99) within group (order by latency_ms) as "latencyP99",
      max(at) filter (where outcome = 'delivered') as "lastDeliveredAt"
    from webhook_attempts
    where tenant_id = ${input.tenantId} and subscription_id = ${input.subscriptionId} and at >= ${input.since}
      and outcome <> 'test'`;
  return stats!;
}
