/** Dead letters: how they are made, shown and paged (D24). Pure. */
import type { Violation } from '../../kernel/errors.ts';
import { newId, newIdAt, timeOfId } from '../../kernel/ids.ts';
import { DAY } from '../../kernel/time/clock.ts';
import type { LastAttempt } from '../push/push-job.ts';
import type { DeadLetterReason } from '../push/retry-policy.ts';
import type { LivingEvent, StoredEvent } from '../store/events.ts';

/** Two weeks; past it a letter is gone from every answer, and its partition is dropped. */
const LETTER_LIFE_MS = 14 * DAY;

export interface DeadLetterMetadata {
  tenantId: string;
  deadLetteredAt: number;
  id: string;
  subscriptionId: string;
  /** Ours, the `webhook-id` of every push. */
  eventId: string;
  /** The id that the tenant gave to the event, when it is one of its own. */
  tenantEventId: string | null;
  eventType: string;
  reason: DeadLetterReason;
  attempts: number;
  responseCode: number | null;
  responseBody: string | null;
  lastAttemptAt: number | null;
}

export interface DeadLetter extends DeadLetterMetadata {
  /** System id of the person that the event is about; 0 for none. */
  profile: number;
  body: string;
}

/** The letter of an event that cannot be delivered to a subscription. */
export function deadLetterOf(input: {
  event: StoredEvent | LivingEvent;
  subscriptionId: string;
  reason: DeadLetterReason;
  last?: LastAttempt | undefined;
  now: number;
}): DeadLetter {
  const { event, subscriptionId, reason, last, now } = input;
  return {
    tenantId: event.tenantId,
    deadLetteredAt: now,
    id: newIdAt('dl', now),
    subscriptionId,
    eventId: event.id,
    tenantEventId: event.tenantEventId,
    eventType: event.type,
    profile: event.profile,
    reason,
    attempts: last?.attempts ?? 0,
    responseCode: last?.code ?? null,
    responseBody: last?.body ?? null,
    lastAttemptAt: last?.at ?? null,
    body: event.body.toString(),
  };
}

/** Letters of this time and before are gone. */
export const expiredBefore = (now: number): number => now - LETTER_LIFE_MS;

/** When the letter with this id was written, which finds its place in the store; null for a text that is no such id. */
export const timeOfLetter = (id: string): number | null => timeOfId('dl', id);

export function metadataView(letter: DeadLetterMetadata) {
  return {
    deadLetterId: letter.id,
    subscriptionId: letter.subscriptionId,
    eventId: letter.tenantEventId ?? letter.eventId,
    eventType: letter.eventType,
    reason: letter.reason,
    totalRetries: Math.max(letter.attempts - 1, 0),
    finalResponse: { code: letter.responseCode, body: letter.responseBody },
    deadLetteredAt: new Date(letter.deadLetteredAt).toISOString(),
    expiresAt: new Date(letter.deadLetteredAt + LETTER_LIFE_MS).toISOString(),
  };
}

/** The event as it was, with CloudEvents extension attributes that tell its end. */
export function letterView(letter: DeadLetter): Record<string, unknown> {
  return {
    ...JSON.parse(letter.body),
    deadletterid: letter.id,
    deadletterreason: letter.reason,
    deliveryattempts: letter.attempts,
    lasthttpstatuscode: letter.responseCode,
    lastdeliveryattempttime:
      letter.lastAttemptAt === null ? null : new Date(letter.lastAttemptAt).toISOString(),
  };
}

/** Where a letter stands among those of its tenant. */
export interface Cursor {
  deadLetteredAt: number;
  id: string;
}

/** An opaque text that continues a listing behind a letter, whatever came or went meanwhile. */
export function iteratorOf({ id }: Cursor): string {
  return Buffer.from(id).toString('base64url');
}

/** Iterators are all of one length, so that the schema tells most of what is none. */
export const ITERATOR_LENGTH = iteratorOf({ id: newId('dl'), deadLetteredAt: 0 }).length;

/** The place that an iterator names, or null when the text is none. */
export function cursorOf(iterator: string): Cursor | null {
  const id = Buffer.from(iterator, 'base64url').toString();
  const deadLetteredAt = timeOfLetter(id);
  return deadLetteredAt === null ? null : { deadLetteredAt, id };
}

/** What the schema cannot say of a query: an iterator is one that was answered. */
export function iteratorViolations(query: unknown): Violation[] {
  const { iterator } = query as { iterator?: unknown };
  if (typeof iterator !== 'string' || cursorOf(iterator) !== null) return [];
  return [{ member: 'iterator', message: 'must come from an earlier listing' }];
}
