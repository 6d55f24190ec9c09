/**
 * SQL of the attempts to push events: a log that is written by the batch and read by subscription, newest first. A row
 * holds the attempts on one subscription that were settled together, by the column, and the figures that statistics need of
 * them. A row without attempts counts deliveries that ended without one.
 */
import { arrayLiteral, jsonArray, jsonTextArray, timestampArray } from '../../kernel/db/columns.ts';
import type { AnySql } from '../../kernel/db/database.ts';
import { laneOf } from '../../kernel/lanes/index.ts';
import type { DeadLetter } from '../dead-letters/dead-letter.ts';

export interface Attempt {
  at: number;
  eventId: string;
  tenantEventId: string | null;
  eventType: string;
  /** System id of the person that the event is about, by which an erasure finds the answer; 0 for none. */
  profile: number;
  /** 1 for the first. */
  attempt: number;
  statusCode: number | null;
  latencyMs: number;
  /** `erased`: nothing was sent, because the person that the event was about was forgotten. */
  outcome: 'delivered' | 'retry' | 'dead' | 'erased' | 'test';
  error: string | null;
  response: string | null;
}

/** An attempt, and whose it is. */
export interface NewAttempt {
  tenantId: string;
  subscriptionId: string;
  attempt: Attempt;
}

export async function insertAttempts(sql: AnySql, made: NewAttempt[]): Promise<void> {
  if (made.length === 0) return;
  const rows = Array.from(bySubscription(made).values(), rowOf);
  await sql`
    insert into webhook_attempts (tenant_id, subscription_id, at, size, delivered, retried, dead, last_delivered_at,
      latencies, attempts, lane)
    select tenant_id, subscription_id, at, size, delivered, retried, dead, last_delivered_at, latencies::int[],
      attempts, lane
    from rows from (
      unnest(${arrayLiteral(rows.map(({ tenantId }) => tenantId))}::uuid[]),
      unnest(${arrayLiteral(rows.map(({ subscriptionId }) => subscriptionId))}::text[]),
      unnest(${timestampArray(rows.map(({ at }) => at))}::timestamptz[]),
      unnest(${arrayLiteral(rows.map(({ size }) => size))}::int[]),
      unnest(${arrayLiteral(rows.map(({ delivered }) => delivered))}::int[]),
      unnest(${arrayLiteral(rows.map(({ retried }) => retried))}::int[]),
      unnest(${arrayLiteral(rows.map(({ dead }) => dead))}::int[]),
      unnest(${timestampArray(rows.map(({ lastDeliveredAt }) => lastDeliveredAt))}::timestamptz[]),
      json_array_elements_text(${jsonTextArray(rows.map(({ latencies }) => arrayLiteral(latencies)))}::text::json),
      json_array_elements(${jsonArray(rows.map(({ columns }) => JSON.stringify(columns)))}::text::json),
      unnest(${arrayLiteral(rows.map(({ subscriptionId }) => laneOf(subscriptionId)))}::smallint[])
    ) as row (tenant_id, subscription_id, at, size, delivered, retried, dead, last_delivered_at, latencies, attempts,
      lane)`;
}

/** A dead letter whose reason is not the outcome of an attempt: too large, disabled, held for too long. */
export type UntriedLetter = Pick<DeadLetter, 'tenantId' | 'subscriptionId' | 'deadLetteredAt'>;

/** Counts letters that no attempt counts: they may be deleted or sent again, so the figures cannot be read from them. */
export async function insertUntried(sql: AnySql, letters: UntriedLetter[]): Promise<void> {
  if (letters.length === 0) return;
  const rows = Array.from(bySubscription(letters).values(), (own) => {
    return { ...own[0]!, dead: own.length, at: Math.max(...own.map(({ deadLetteredAt }) => deadLetteredAt)) };
  });
  await sql`
    insert into webhook_attempts (tenant_id, subscription_id, at, size, delivered, retried, dead, latencies, attempts, lane)
    select tenant_id, subscription_id, at, 0, 0, 0, dead, '{}', '{}', lane from unnest(
      ${arrayLiteral(rows.map(({ tenantId }) => tenantId))}::uuid[],
      ${arrayLiteral(rows.map(({ subscriptionId }) => subscriptionId))}::text[],
      ${timestampArray(rows.map(({ at }) => at))}::timestamptz[],
      ${arrayLiteral(rows.map(({ dead }) => dead))}::int[],
      ${arrayLiteral(rows.map(({ subscriptionId }) => laneOf(subscriptionId)))}::smallint[]
    ) as row (tenant_id, subscription_id, at, dead, lane)`;
}

/** The id of a subscription is one tenant's alone. */
const bySubscription = <T extends { subscriptionId: string }>(what: T[]) =>
  Map.groupBy(what, ({ subscriptionId }) => subscriptionId);

/** What is kept of the attempts on one subscription. */
function rowOf(made: NewAttempt[]) {
  const { tenantId, subscriptionId } = made[0]!;
  const attempts = made.map(({ attempt }) => attempt);
  const times = (outcome: Attempt['outcome']) =>
    attempts.filter((attempt) => attempt.outcome === outcome).map(({ at }) => at);
  const deliveredAt = times('delivered');
  return {
    tenantId,
    subscriptionId,
    columns: columnsOf(attempts),
    at: Math.max(...attempts.map(({ at }) => at)),
    size: attempts.length,
    delivered: deliveredAt.length,
    retried: times('retry').length,
    dead: times('dead').length,
    lastDeliveredAt: deliveredAt.length > 0 ? Math.max(...deliveredAt) : null,
    latencies: attempts.filter(isCounted).map(({ latencyMs }) => latencyMs),
  };
}

/** Whether the figures count an attempt: nothing was sent of what is erased, and tests say nothing about deliveries. */
const isCounted = ({ outcome }: Attempt) => outcome !== 'test' && outcome !== 'erased';

/** Attempts by the column. A member that is the same in all of them, as most are, stands there once: none of them is a list. */
export type Columns = { [Member in keyof Attempt]: Attempt[Member] | Attempt[Member][] };

export function columnsOf(attempts: Attempt[]): Columns {
  const [first] = attempts as [Attempt];
  // By a function for each: to read a member by a name that changes takes several times as long.
  const column = <Value>(read: (attempt: Attempt) => Value): Value | Value[] => {
    const value = read(first);
    return attempts.every((attempt) => read(attempt) === value) ? value : attempts.map(read);
  };
  return {
    at: column(({ at }) => at),
    eventId: column(({ eventId }) => eventId),
    tenantEventId: column(({ tenantEventId }) => tenantEventId),
    eventType: column(({ eventType }) => eventType),
    profile: column(({ profile }) => profile),
    attempt: column(({ attempt }) => attempt),
    statusCode: column(({ statusCode }) => statusCode),
    latencyMs: column(({ latencyMs }) => latencyMs),
    outcome: column(({ outcome }) => outcome),
    error: column(({ error }) => error),
    response: column(({ response }) => response),
  };
}

export function attemptsOf({ columns, size }: { columns: Columns; size: number }): Attempt[] {
  const members = Object.entries(columns);
  const attemptAt = (place: number) =>
    Object.fromEntries(members.map(([name, value]) => [name, Array.isArray(value) ? value[place] : value]));
  return Array.from({ length: size }, (_, place) => attemptAt(place) as unknown as Attempt);
}

/**
 * Those since a time, newest first, to the batch: a push that took long may stand behind younger ones, or be left out for
 * them.
 */
export async function listAttempts(
  sql: AnySql,
  input: { tenantId: string; subscriptionId: string; since: Date; limit: number },
): Promise<Attempt[]> {
  const { tenantId, subscriptionId, since, limit } = input;
  const rows = await sql<{ columns: Columns; size: number }[]>`
    select columns, size from (
      select attempts as columns, size, sum(size) over (order by at desc rows unbounded preceding) - size as newer
      from webhook_attempts
      where tenant_id = ${tenantId} and lane = ${laneOf(subscriptionId)} and subscription_id = ${subscriptionId}
        and at >= ${since} and size > 0
      order by at desc limit ${limit}) as newest
    where newer < ${limit}`;
  return rows
    .flatMap(attemptsOf)
    .filter(({ at }) => at >= since.getTime())
    .sort((one, other) => other.at - one.at)
    .slice(0, limit);
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

/** Figures since a time, to the batch; tests and what was erased do not count. */
export async function readDeliveryStats(
  sql: AnySql,
  { tenantId, subscriptionId, since }: { tenantId: string; subscriptionId: string; since: Date },
): Promise<DeliveryStats> {
  const [stats] = await sql<DeliveryStats[]>`
    with log as materialized (
      select delivered, retried, dead, last_delivered_at, latencies from webhook_attempts
      where tenant_id = ${tenantId} and lane = ${laneOf(subscriptionId)} and subscription_id = ${subscriptionId}
        and at >= ${since})
    select totals.*, latency.* from (
      select coalesce(sum(cardinality(latencies)), 0) as attempts, coalesce(sum(delivered), 0) as delivered,
        coalesce(sum(retried), 0) as retried, coalesce(sum(dead), 0) as dead,
        max(last_delivered_at) as "lastDeliveredAt" from log) as totals,
      (select percentile_disc(0.5) within group (order by ms) as "latencyP50",
        percentile_disc(0.95) within group (order by ms) as "latencyP95",
        percentile_disc(0.99) within group (order by ms) as "latencyP99"
      from log, unnest(latencies) as ms) as latency`;
  return stats!;
}
