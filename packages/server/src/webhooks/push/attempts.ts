/** What became of the pushes to a subscription: the attempt log, figures from it, and a test push on demand (D22). */
import type { Tenant } from '../../accounts/index.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { EgressOnDemand } from '../../kernel/egress/on-demand.ts';
import { invalid, type Violation } from '../../kernel/errors.ts';
import type { EventType } from '../../kernel/event-type.ts';
import { newId } from '../../kernel/ids.ts';
import { type Clock, DAY, HOUR } from '../../kernel/time/clock.ts';
import { envelopeOf } from '../events/envelope.ts';
import { testEvent } from '../events/types.ts';
import { compileSubscription } from '../filters/matcher.ts';
import { type Attempt, insertAttempts, listAttempts, readDeliveryStats } from '../store/attempts.ts';
import { readSet } from '../store/subscriptions.ts';
import { requireSubscription } from '../subscriptions/known-subscription.ts';
import type { Targets } from '../subscriptions/push-targets.ts';
import { missingConsent, type Subscription } from '../subscriptions/subscription.ts';
import { push } from './request.ts';
import { isDelivered } from './retry-policy.ts';

export interface Attempts {
  /** Pushes a sample event now and answers what happened; or why not, where the target's consent is missing (D25). */
  test(tenant: Tenant, subscriptionId: string, type?: string): Promise<TestReport>;
  /** The latest attempts of the last 7 days, newest first. */
  list(tenant: Tenant, subscriptionId: string, limit: number): Promise<AttemptView[]>;
  stats(tenant: Tenant, subscriptionId: string): Promise<StatsView>;
}

export interface TestReport {
  delivered: boolean;
  status: number | null;
  latency_ms: number;
  response: string | null;
  error: string | null;
  event: Record<string, unknown>;
}

export interface AttemptView {
  webhook_id: string;
  event_id: string;
  event_type: string;
  attempt: number;
  time: string;
  status: number | null;
  latency_ms: number;
  outcome: string;
  error: string | null;
  response: string | null;
}

export interface StatsView {
  period_hours: number;
  attempts: number;
  delivered: number;
  retried: number;
  dead_lettered: number;
  latency_ms: { p50: number | null; p95: number | null; p99: number | null };
  last_delivered_at: string | null;
}

const STATS_PERIOD_MS = DAY;
/** Partitions go some time later: what is told must not depend on when. */
const LISTED_MS = 7 * DAY;

export function createAttempts(dependencies: {
  db: Database;
  clock: Clock;
  targets: Targets;
  egress: EgressOnDemand;
  eventTypes: readonly EventType[];
}): Attempts {
  const { db, clock, targets, egress, eventTypes } = dependencies;

  return {
    async test(tenant, subscriptionId, type) {
      const subscription = await requireSubscription(db.sql, tenant, subscriptionId);
      const { requireHandshake } = await readSet(db.sql, tenant.id);
      const sample = sampleFor(subscription, type, eventTypes);
      const eventId = newId('evt');
      const event = envelopeOf(sample.example, { id: eventId, tenant, now: clock.now() });
      const missing = missingConsent(subscription, requireHandshake);
      if (missing !== null) {
        const error = `not pushed: ${missing}`;
        return { delivered: false, status: null, latency_ms: 0, response: null, error, event };
      }
      const target = targets.targetOf(subscription, requireHandshake);
      const { dispatcher } = await egress.get();
      const made = await push(
        { dispatcher, clock },
        { target, eventId, body: Buffer.from(JSON.stringify(event)) },
      );
      const { at, statusCode, latencyMs, error, response } = made;
      const attempt: Attempt = {
        at,
        eventId,
        tenantEventId: null,
        eventType: sample.type,
        profile: 0,
        attempt: 1,
        statusCode,
        latencyMs,
        outcome: 'test',
        error,
        response,
      };
      await insertAttempts(db.sql, [{ tenantId: tenant.id, subscriptionId, attempt }]);
      const delivered = isDelivered(made.result);
      return { delivered, status: statusCode, latency_ms: latencyMs, response, error, event };
    },
    async list(tenant, subscriptionId, limit) {
      await requireSubscription(db.sql, tenant, subscriptionId);
      const since = new Date(clock.now() - LISTED_MS);
      const rows = await listAttempts(db.sql, { tenantId: tenant.id, subscriptionId, since, limit });
      return rows.map((row) => ({
        webhook_id: row.eventId,
        event_id: row.tenantEventId ?? row.eventId,
        event_type: row.eventType,
        attempt: row.attempt,
        time: new Date(row.at).toISOString(),
        status: row.statusCode,
        latency_ms: row.latencyMs,
        outcome: row.outcome,
        error: row.error,
        response: row.response,
      }));
    },
    async stats(tenant, subscriptionId) {
      await requireSubscription(db.sql, tenant, subscriptionId);
      const since = new Date(clock.now() - STATS_PERIOD_MS);
      const stats = await readDeliveryStats(db.sql, { tenantId: tenant.id, subscriptionId, since });
      return {
        period_hours: STATS_PERIOD_MS / HOUR,
        attempts: stats.attempts,
        delivered: stats.delivered,
        retried: stats.retried,
        dead_lettered: stats.dead,
        latency_ms: { p50: stats.latencyP50, p95: stats.latencyP95, p99: stats.latencyP99 },
        last_delivered_at: stats.lastDeliveredAt?.toISOString() ?? null,
      };
    },
  };
}

/** A sample can be pushed of what the catalogue has. */
export function sampleViolations(body: unknown, eventTypes: readonly EventType[]): Violation[] {
  const { type } = (body ?? {}) as { type?: unknown };
  if (typeof type !== 'string' || eventTypes.some((known) => known.type === type)) return [];
  return [{ member: 'type', message: `is not in the catalogue: ${type}` }];
}

/** The event type asked for, or the first that the subscription's own filters match. */
function sampleFor(
  { filters }: Subscription,
  type: string | undefined,
  eventTypes: readonly EventType[],
): EventType {
  if (type !== undefined) {
    const found = eventTypes.find((known) => known.type === type);
    if (found === undefined) throw invalid(sampleViolations({ type }, eventTypes));
    return found;
  }
  const { matches } = compileSubscription({ filters });
  return eventTypes.find((known) => matches({ type: known.type })) ?? testEvent;
}
