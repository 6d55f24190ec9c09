/**
 * The only door for events: writes each event once and one job per matching subscription, in the transaction of whoever
 * caused it. Nothing is ever published but not queued, or queued but not committed.
 */
import { createHash } from 'node:crypto';
import type { Tenant } from '../accounts/index.ts';
import type { Tx } from '../kernel/db/database.ts';
import { claimKeys } from '../kernel/db/dedupe.ts';
import { newId, newIdIn } from '../kernel/ids.ts';
import type { Lanes, NewJob } from '../kernel/lanes/index.ts';
import { laneOfNumber } from '../kernel/lanes/lane-of.ts';
import { type Clock, DAY } from '../kernel/time/clock.ts';
import { type DeadLetter, deadLetterOf } from './dead-letters/dead-letter.ts';
import type { EventBodies } from './events/body-cache.ts';
import { type Envelope, envelopeOf, envelopeOfOwn, type NewEvent } from './events/envelope.ts';
import { PUSH_QUEUE, type PushJob } from './push/push-job.ts';
import { isTooLarge } from './push/retry-policy.ts';
import { insertUntried } from './store/attempts.ts';
import { insertDeadLetters } from './store/dead-letters.ts';
import { insertEvents, type StoredEvent } from './store/events.ts';
import type { SubscriptionSets } from './subscriptions/compiled.ts';

/** How long the same (source, id) of a tenant's own event is recognised. */
const IDEMPOTENCY_MS = 7 * DAY;

export interface Publisher {
  /**
   * Publishes events of the product.
   *
   * @example await publish(tx, tenant, [{ type: 'com.svc.deliveries.email.sent', source: '/deliveries/email', data }])
   */
  publish(tx: Tx, tenant: Tenant, events: NewEvent[]): Promise<void>;
  /** Publishes CloudEvents of the tenant's own, each (source, id) once; answers how many were new. */
  publishOwn(tx: Tx, tenant: Tenant, events: Record<string, unknown>[]): Promise<number>;
}

/** An event before it is stored: `id` is ours, whatever the envelope says. */
interface Draft {
  id: string;
  tenantEventId: string | null;
  profile: number;
  envelope: Envelope;
}

export function createPublisher(dependencies: {
  clock: Clock;
  lanes: Lanes;
  sets: SubscriptionSets;
  bodies: EventBodies;
}): Publisher {
  const { clock, lanes, sets, bodies } = dependencies;

  async function store(tx: Tx, tenant: Tenant, drafts: Draft[], now: number): Promise<void> {
    const index = await sets.indexFor(tx.sql, tenant.id);
    const events: StoredEvent[] = [];
    const jobs: NewJob[] = [];
    const letters: DeadLetter[] = [];
    for (const { id, tenantEventId, profile, envelope } of drafts) {
      const event = {
        tenantId: tenant.id,
        publishedAt: now,
        id,
        tenantEventId,
        type: envelope.type,
        profile,
        body: JSON.stringify(envelope),
      };
      const subscribers = index.match(envelope);
      if (isTooLarge(event.body)) {
        letters.push(
          ...subscribers.map((it) =>
            deadLetterOf({ event, subscriptionId: it.id, reason: 'sizeLimitExceeded', now }),
          ),
        );
        continue;
      }
      events.push(event);
      const payload: PushJob = { tenantId: tenant.id, eventId: id, publishedAt: now };
      for (const subscriber of subscribers) jobs.push({ key: subscriber.id, payload });
    }
    await Promise.all([
      insertEvents(tx.sql, { tenantId: tenant.id, publishedAt: now, events }),
      insertDeadLetters(tx.sql, letters),
      insertUntried(tx.sql, letters),
      lanes.enqueue(tx, PUSH_QUEUE, jobs),
    ]);
    if (jobs.length > 0) tx.afterCommit(() => bodies.remember(events));
  }

  return {
    async publish(tx, tenant, events) {
      const now = clock.now();
      const drafts = events.map((event) => {
        const { profile = 0 } = event;
        const id = profile > 0 ? newIdIn('evt', laneOfNumber(profile)) : newId('evt');
        return { id, tenantEventId: null, profile, envelope: envelopeOf(event, { id, tenant, now }) };
      });
      await store(tx, tenant, drafts, now);
    },
    async publishOwn(tx, tenant, events) {
      const now = clock.now();
      const keyed = new Map<string, Record<string, unknown>>();
      // Of two in one batch the first counts, as it does over several calls.
      for (const event of events) {
        const key = idempotencyKey(event);
        if (!keyed.has(key)) keyed.set(key, event);
      }
      const keys = [...keyed.keys()];
      const fresh = await claimKeys(tx.sql, {
        tenantId: tenant.id,
        kind: 'event',
        keys,
        now,
        expiresAt: now + IDEMPOTENCY_MS,
      });
      const drafts = [...keyed]
        .filter(([key]) => fresh.has(key))
        .map(([, event]) => ({
          id: newId('evt'),
          tenantEventId: String(event.id),
          profile: 0,
          envelope: envelopeOfOwn(event, { tenant, now }),
        }));
      if (drafts.length > 0) await store(tx, tenant, drafts, now);
      return drafts.length;
    },
  };
}

/** A hash, because a source and an id together can be longer than an index takes. Neither contains a line break. */
function idempotencyKey({ source, id }: Record<string, unknown>): string {
  return createHash('sha256').update(`${source}\n${id}`).digest('base64url');
}
