/**
 * The webhook engine: tenants subscribe to events and get every one of them, signed, retried, and kept as a dead letter
 * when it cannot be delivered. At least once, in no particular order.
 */
import type { Accounts, Tenant } from '../accounts/index.ts';
import type { KernelConfig } from '../kernel/config/config.ts';
import type { Database } from '../kernel/db/database.ts';
import { egressOnDemand } from '../kernel/egress/on-demand.ts';
import { targetUrlRules } from '../kernel/egress/url-policy.ts';
import type { EventType } from '../kernel/event-type.ts';
import type { Lanes } from '../kernel/lanes/index.ts';
import type { Module, PersonalData } from '../kernel/module.ts';
import { createVault, deriveKey } from '../kernel/security/crypto.ts';
import type { Metrics } from '../kernel/telemetry/metrics.ts';
import type { Clock } from '../kernel/time/clock.ts';
import { createDeadLetters, type DeadLetters } from './dead-letters/admin.ts';
import { startRescheduleWorker } from './dead-letters/reschedule.ts';
import { createPersonalData, startErasureWorker } from './erasure.ts';
import { createEventBodies } from './events/body-cache.ts';
import { createEventTail, type EventTail } from './events/tail.ts';
import { compileTypePattern } from './filters/type-pattern.ts';
import { createPublisher, type Publisher } from './publish.ts';
import { type Attempts, createAttempts } from './push/attempts.ts';
import { createPushLimiter } from './push/limiter.ts';
import { createPushMetrics } from './push/metrics.ts';
import { createVerdicts } from './push/target-findings.ts';
import { startPushWorker } from './push/worker.ts';
import { createSubscriptions, type Subscriptions } from './subscriptions/admin.ts';
import { createSubscriptionSets } from './subscriptions/compiled.ts';
import { startHandshakeWorker } from './subscriptions/handshake.ts';
import { createTargets } from './subscriptions/push-targets.ts';

export type { NewEvent } from './events/envelope.ts';

export interface Webhooks extends Publisher, Module<Accounts> {
  /** The catalogue: the types that all modules publish. */
  eventTypes: readonly EventType[];
  subscriptions: Subscriptions;
  attempts: Attempts;
  deadLetters: DeadLetters;
  /** The published events whose type fits a filter (D19), from a time or from now on. */
  tail(tenant: Tenant, options: { type: string; since?: Date }): EventTail;
  personalData: PersonalData;
  /** Works on deliveries, handshakes, verdicts, reschedules and erasures until the returned function is called. */
  work(): Promise<(deadlineMs: number) => Promise<void>>;
  close(): Promise<void>;
}

/** @example await db.transaction((tx) => webhooks.publish(tx, tenant, [{ type: 'com.shop.paid', source: '/shop', data }])); */
export async function createWebhooks(dependencies: {
  db: Database;
  clock: Clock;
  lanes: Lanes;
  metrics: Metrics;
  config: Pick<KernelConfig, 'mode' | 'publicUrl' | 'egressAllow'>;
  secret: string;
  /** Of all modules. */
  eventTypes: readonly EventType[];
}): Promise<Webhooks> {
  const { db, clock, lanes, metrics, config, secret, eventTypes } = dependencies;
  const vault = createVault(deriveKey(secret, 'webhook-secrets'));
  const guard = targetUrlRules(config);
  // As many connections to a host as there are pushes to it: several subscriptions may share one, and those that hang
  // must not keep the others waiting. The push gates are the limit.
  const egress = egressOnDemand({ ...guard, keepAliveTimeout: 30_000 });
  const origin = new URL(config.publicUrl).hostname;
  const bodies = createEventBodies(db);
  const pushMetrics = createPushMetrics(metrics);
  const targets = await createTargets({ db, clock, vault, requestOrigin: origin });
  const publisher = createPublisher({ clock, lanes, sets: createSubscriptionSets(), bodies });
  const webhooks: Webhooks = {
    async routes(app, accounts) {
      const { registerWebhookRoutes } = await import('./routes.ts');
      await registerWebhookRoutes(app, { accounts, webhooks, db });
    },
    ...publisher,
    eventTypes,
    subscriptions: createSubscriptions({ db, clock, lanes, vault, guard, targets }),
    attempts: createAttempts({ db, clock, targets, egress, eventTypes }),
    deadLetters: createDeadLetters({ db, clock, lanes }),
    tail: (tenant, { type, since }) =>
      createEventTail({
        sql: db.sql,
        tenantId: tenant.id,
        matches: compileTypePattern(type).matches,
        since: since?.getTime(),
      }),
    personalData: createPersonalData({ clock, lanes }),
    async work() {
      const calls = await egress.get();
      const verdicts = createVerdicts({ db, clock, lanes, targets });
      const starts = await Promise.allSettled([
        startPushWorker({
          clock,
          lanes,
          metrics: pushMetrics,
          dispatcher: calls.dispatcher,
          bodies,
          targets,
          gates: createPushLimiter(clock),
          verdicts,
        }),
        verdicts.work(),
        startHandshakeWorker({ db, clock, lanes, egress: calls, targets, origin }),
        startRescheduleWorker({ db, clock, lanes }),
        startErasureWorker({ db, clock, lanes }),
      ]);
      const stop = async (deadlineMs: number) => {
        const started = starts.filter((start) => start.status === 'fulfilled');
        await Promise.all(started.map(({ value }) => value.stop(deadlineMs)));
      };
      const failed = starts.find((start) => start.status === 'rejected');
      if (failed === undefined) return stop;
      // The others give back the lanes that they took.
      await stop(0);
      throw failed.reason;
    },
    async close() {
      await targets.close();
      await egress.close();
    },
  };
  return webhooks;
}
